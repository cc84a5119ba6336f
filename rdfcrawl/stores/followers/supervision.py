"""Run each follower of a crawl in a separate process."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from pprint import pformat
from typing import Final, Self

from rdfcrawl.core.json_logs import json_lines
from rdfcrawl.core.processes import close_input, start_module
from rdfcrawl.stores.followers.options import FollowerPlan, follower_plans
from rdfcrawl.stores.followers.status import read_statuses, status_path
from rdfcrawl.stores.options import StoreOptions

logger = logging.getLogger(__name__)

_MODULE: Final = "rdfcrawl.stores.followers.process"
_RESTART_SECS: Final = 1.0
_MAX_RESTARTS: Final = 1000
_USAGE: Final = 2  # exit code


class FollowerProcesses:
    """The processes of all followers of one crawl.

    Args:
        root: folder of the crawl.
        plans: of the followers.
        dumps: whether to log their statistics at the end.

    Attributes:
        counts: their statistics by name, after `finish`.
    """

    def __init__(
        self, root: Path, plans: Sequence[FollowerPlan], *, dumps: bool = False
    ) -> None:
        self._root, self._dumps = root, dumps
        self.counts: dict[str, int] = {}
        self._watched = [_WatchedProcess(root, plan) for plan in plans]

    @classmethod
    def begin(cls, root: Path, stores: StoreOptions, *, dumps: bool) -> Self:
        """Return the processes of the stores in `STORES`, started.

        Raises:
            ConfigError: one of the stores is wrong.
        """
        processes = cls(root, follower_plans(stores), dumps=dumps)
        for each in processes._watched:
            each.start()
        return processes

    def finish(self) -> bool:
        """Wait until all have caught up with a finished crawl.

        Writes the summary of each to standard error.

        Returns:
            Whether all have caught up.
        """
        for each in self._watched:
            each.end_input()
        codes = [each.wait() for each in self._watched]
        statuses = {status.name: status for status in read_statuses(self._root)}
        for each, code in zip(self._watched, codes, strict=True):
            name = each.plan.name
            line = statuses[name].summary() if name in statuses else f"{name}, empty"
            hint = f"; for details see {each.log_file}" if code else ""
            with suppress(OSError):  # standard error may be closed
                sys.stderr.write(f"store         {line}{hint}\n")
            if name in statuses:
                self.counts |= statuses[name].counts
        if self.counts and self._dumps:
            logger.info("Statistics of stores:\n%s", pformat(self.counts))
        return not any(codes)


class _WatchedProcess:
    """One process, restarted after it was killed or has failed."""

    def __init__(self, root: Path, plan: FollowerPlan) -> None:
        self._root, self.plan = root, plan
        name = status_path(root, plan.name).stem
        self.log_file = root / "logs" / f"follower-{name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._has_ended = threading.Event()
        self._code = 0
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def start(self) -> None:
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        self._thread.start()

    def end_input(self) -> None:
        with self._lock:
            self._has_ended.set()
            self._close_input()

    def wait(self) -> int:
        self._thread.join()
        return self._code

    def _keep(self) -> None:
        wait_secs = _RESTART_SECS
        for _ in range(_MAX_RESTARTS):
            try:
                process = self._begin()
                self._log_notices(process)
                self._code = process.wait()
            except OSError as error:
                logger.warning("follower %s cannot start: %s", self.plan.name, error)
                self._code = 1
            if self._code in {0, _USAGE}:  # a usage error would repeat
                return
            is_killed = self._code < 0
            if self._has_ended.is_set() and not is_killed:
                return
            logger.warning(
                "follower %s ended (%d), restarting it", self.plan.name, self._code
            )
            self._has_ended.wait(wait_secs)
            wait_secs = _RESTART_SECS if is_killed else min(60.0, wait_secs * 2)

    @staticmethod
    def _log_notices(process: subprocess.Popen[bytes]) -> None:
        """Log the lines for the operator, until the process ends."""
        if process.stdout is not None:
            with process.stdout as lines:
                for line in lines:
                    logger.error("%s", line.decode("utf-8", "replace").rstrip())

    def _begin(self) -> subprocess.Popen[bytes]:
        with self.log_file.open("ab") as file, self._lock:
            job = {
                "root": str(self._root),
                "plan": asdict(self.plan),
                "log_file": str(self.log_file),
                "is_json": bool(json_lines()),
            }
            process = start_module(
                _MODULE, job=job, stdout=subprocess.PIPE, stderr=file
            )
            self._process = process
            if self._has_ended.is_set():
                self._close_input()
        return process

    def _close_input(self) -> None:
        if self._process is not None:
            close_input(self._process)
