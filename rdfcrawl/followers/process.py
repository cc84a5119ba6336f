"""The process of one follower: `python -m rdfcrawl.followers.process`.

Its standard input has one line of JSON, what to follow, and ends when the crawl has
ended, for whatever reason. The process ends once the store has caught up then, or has
failed for too long.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import ConfigError, RdfcrawlError
from rdfcrawl.followers.following import LogFollowing
from rdfcrawl.followers.options import FollowerPlan
from rdfcrawl.followers.status import FollowerStatus, write_status
from rdfcrawl.log.crawl_log import CrawlLog
from rdfcrawl.stores.identity import is_finished, read_identity

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

logger = logging.getLogger(__name__)

_POLL_SECS: Final = 1.0
_LAST_PATIENCE_SECS: Final = 60.0  # of a store that fails when the crawl has ended


class ReportedFollowing:
    """A follower on its way, with a file that says how far it is.

    Args:
        root: folder of the crawl.
        plan: of the follower.
        is_over: whether a store that fails is tried no longer than a minute.
    """

    def __init__(
        self, root: Path, plan: FollowerPlan, is_over: Callable[[], bool]
    ) -> None:
        self._root, self._plan = root, plan
        self.log = CrawlLog(root)
        self.follower = plan.build()
        self.following = LogFollowing(
            self.log, self.follower, is_over=is_over, report=self.report
        )

    def report(self, state: str = "following", detail: str = "") -> None:
        """Write the status."""
        following, counts = self.following, self.following.counts
        n_bytes = self.log.n_unread_bytes(following.checkpoint)
        per_document = counts.bytes_per_document
        behind = time.time() - counts.version_ms / 1000 if counts.version_ms else 0.0
        status = FollowerStatus(
            name=self._plan.name,
            state=state,
            detail=detail,
            n_documents=counts.n_documents,
            n_behind=-(-n_bytes // max(1, int(per_document))),
            secs_behind=max(0.0, behind) if n_bytes else 0.0,
            set_aside=counts.set_aside,
            checkpoint=asdict(following.checkpoint),
            bytes_per_document=per_document,
        )
        try:
            write_status(self._root, status)
        except OSError as error:  # the follower goes on
            logger.warning("status of %s: %s", self._plan.name, error)

    def open(self) -> None:
        """Open the store.

        Raises:
            RdfcrawlError: the store cannot be used.
        """
        self.following.open()
        self.report()

    def end(self) -> None:
        """Drop what the crawl has not found again, if it has come to its end."""
        if is_finished(self._root / "quads"):
            n_dropped = self.following.end_generation()
            if n_dropped:
                logger.info("%d documents are gone since fresh=1", n_dropped)

    def close(self, state: str = "ended", detail: str = "") -> None:
        """Close the store, and write the last status."""
        self.follower.close()
        self.report(state, detail)


def main() -> int:
    """Follow a crawl until it has ended; return the exit code."""
    given = json.loads(sys.stdin.buffer.readline())
    root, plan = Path(given["root"]), FollowerPlan(**given["plan"])
    logging.basicConfig(
        filename=given["log_file"],
        format="%(asctime)s [%(name)s] %(levelname)s: %(message)s",
        level=logging.INFO,
    )
    has_ended = threading.Event()
    threading.Thread(
        target=_wait_for_end, args=(sys.stdin.buffer, has_ended), daemon=True
    ).start()
    try:
        return _follow(root, plan, has_ended)
    except RdfcrawlError as error:
        logger.critical("%s: %s", plan.name, error)
        return 2 if isinstance(error, ConfigError) else 1


def _wait_for_end(stdin: BinaryIO, has_ended: threading.Event) -> None:
    stdin.read()
    has_ended.set()


def _follow(root: Path, plan: FollowerPlan, has_ended: threading.Event) -> int:
    while read_identity(root / "quads") is None:  # nothing was stored yet
        if has_ended.wait(_POLL_SECS) and read_identity(root / "quads") is None:
            return 0
    run = ReportedFollowing(root, plan, has_ended.is_set)
    state, detail = "failed", ""
    try:
        run.open()
        while True:
            is_last = has_ended.is_set()
            if run.following.catch_up():
                run.report()
            elif is_last:
                run.end()
                break
            else:
                has_ended.wait(_POLL_SECS)
        state = "ended"
    except RdfcrawlError as error:
        detail = str(error)
        raise
    finally:
        run.close(state, detail)
    return 0


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    # The thread that waits for standard input must not hold the process.
    os._exit(code)
