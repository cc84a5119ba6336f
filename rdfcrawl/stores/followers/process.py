"""The process of one follower: `python -m rdfcrawl.stores.followers.process`.

Its standard input has one line of JSON with the plan, and ends with the crawl. Then the
process ends when the store has caught up, or has failed for too long. Its standard
output has lines for the operator.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, Final

from rdfcrawl.core.errors import ConfigError, RdfcrawlError, StoreFault
from rdfcrawl.core.json_logs import log_to
from rdfcrawl.core.messages import counted
from rdfcrawl.stores.crawl_folder import is_finished, read_identity
from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.followers.options import FollowerPlan
from rdfcrawl.stores.followers.status import (
    FollowerStatus,
    once_path,
    read_status,
    write_status,
)
from rdfcrawl.stores.followers.stored_once import StoredOnce
from rdfcrawl.stores.log.crawl_log import CrawlLog

logger = logging.getLogger(__name__)

_POLL_SECS: Final = 1.0
_MAX_DAMAGES: Final = 100  # listed in the status


class ReportedFollowing:
    """A running follower, with a status file.

    Args:
        root: folder of the crawl.
        plan: of the follower.
        is_over: whether to give up a store that fails for more than a minute.
        ends_if_unusable: whether to give up a store with a wrong setup immediately.
        notify: called with each line for the operator.
    """

    def __init__(
        self,
        root: Path,
        plan: FollowerPlan,
        is_over: Callable[[], bool],
        *,
        ends_if_unusable: bool = False,
        notify: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._root, self._plan = root, plan
        self._notify, self._last_notice = notify, ""
        self.log = CrawlLog(root)
        self._n_unread = 0  # bytes at the last count
        self.summary = ""  # of the follower, after `close`
        self._counts: dict[str, int] = {}
        self.follower = plan.build()
        earlier = read_status(root, plan.name)
        self._damages = dict.fromkeys(earlier.damages if earlier else ())
        self._once: dict[str, int] = dict(earlier.once) if earlier else {}
        once = StoredOnce(once_path(root, plan.name), self.log)
        self.following = LogFollowing(
            self.log,
            self.follower,
            is_over=is_over,
            ends_if_unusable=ends_if_unusable,
            report=self.report,
            set_aside=earlier.set_aside if earlier else None,
            once=once if plan.is_once else None,
        )
        self.following.counts.n_unnamed = earlier.n_unnamed if earlier else 0

    def report(self, state: str = "following", detail: str = "") -> None:
        """Write the status; notify the operator of a wrong setup, once."""
        if state == "following":
            with suppress(StoreFault):  # the store is not open
                detail = detail or self.follower.summary()
                self._counts = dict(self.follower.counts())
        if state == "unusable" and detail != self._last_notice:
            self._last_notice = detail
            self._notify(detail)
        try:
            write_status(self._root, self.status(state, detail))
        except OSError as error:  # not fatal
            logger.warning("status of %s: %s", self._plan.name, error)

    def status(self, state: str = "following", detail: str = "") -> FollowerStatus:
        """Return the status of the follower."""
        following, counts = self.following, self.following.counts
        with suppress(OSError):  # `detail` already has the error
            self._n_unread = self.log.n_unread_bytes(following.checkpoint)
        n_bytes = self._n_unread
        per_document = counts.bytes_per_document
        behind = time.time() - counts.version_ms / 1000 if counts.version_ms else 0.0
        return FollowerStatus(
            name=self._plan.name,
            state=state,
            detail=detail,
            n_documents=counts.n_documents,
            n_behind=-(-n_bytes // max(1, int(per_document))),
            secs_behind=max(0.0, behind) if n_bytes else 0.0,
            set_aside=counts.set_aside,
            n_unnamed=counts.n_unnamed,
            damages=self.damages,
            checkpoint=asdict(following.checkpoint),
            bytes_per_document=per_document,
            counts=self._counts,
            once=self._once,
        )

    @property
    def damages(self) -> list[str]:
        """Parts of the log that could not be read, also by earlier processes."""
        self._damages |= dict.fromkeys(map(str, self.log.damages))
        return list(self._damages)[:_MAX_DAMAGES]

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep the store open; at the end, write the final status.

        Raises:
            RdfcrawlError: the store cannot be used.
        """
        state, detail = "failed", ""
        try:
            self.open()
            yield
            state = "ended"
        except RdfcrawlError as error:
            detail = str(error)
            raise
        finally:
            self.close(state, detail)

    def open(self) -> None:
        """Open the store.

        Raises:
            RdfcrawlError: the store cannot be used.
        """
        self.following.open()
        self.report()

    def end(self) -> None:
        """Publish everything to readers.

        If the crawl has come to its end, drop documents that it has not found again.
        """
        if is_finished(self._root / "quads"):
            n_dropped = self.following.end_generation()
            if n_dropped:
                gone = counted(n_dropped, "document is", "documents are")
                logger.info("%s gone since fresh=1", gone)
        self.following.renew(at_once=True)

    def close(self, state: str = "ended", detail: str = "") -> None:
        """Close the store, and write the last status."""
        try:
            if state == "ended":
                self.summary = detail = self.follower.summary()
                self._counts = dict(self.follower.counts())
            self._once = self.following.once_totals()
            self.following.close()
        except Exception as error:  # a user's class, whose `open` may have failed
            logger.warning("%s: close: %s", self._plan.name, error)
        self.report(state, detail)


def main() -> int:
    """Follow a crawl until it has ended; return the exit code."""
    # Output of libraries goes to standard error, and so to the log file.
    operator = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def notify(line: str) -> None:
        with suppress(OSError):  # the crawl's command may be gone
            operator.write(f"{line}\n")
            operator.flush()

    given = json.loads(sys.stdin.buffer.readline())
    root, plan = Path(given["root"]), FollowerPlan(**given["plan"])
    log_to(given["log_file"], is_json=given["is_json"])
    has_ended = threading.Event()
    threading.Thread(
        target=_wait_for_end, args=(sys.stdin.buffer, has_ended), daemon=True
    ).start()
    try:
        return _follow(root, plan, has_ended, notify)
    except (RdfcrawlError, OSError) as error:
        logger.critical("%s: %s", plan.name, error)
        return 2 if isinstance(error, ConfigError) else 1


def _wait_for_end(stdin: BinaryIO, has_ended: threading.Event) -> None:
    stdin.read()
    has_ended.set()


def _follow(
    root: Path,
    plan: FollowerPlan,
    has_ended: threading.Event,
    notify: Callable[[str], None],
) -> int:
    while read_identity(root / "quads") is None:  # nothing is stored yet
        if has_ended.wait(_POLL_SECS) and read_identity(root / "quads") is None:
            return 0
    run = ReportedFollowing(root, plan, has_ended.is_set, notify=notify)
    with run.opened():
        while True:
            is_last = has_ended.is_set()
            if run.following.catch_up():
                run.report()
            elif is_last:
                run.end()
                break
            else:
                has_ended.wait(_POLL_SECS)
    return 0


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    # The thread that reads standard input must not keep the process alive.
    os._exit(code)
