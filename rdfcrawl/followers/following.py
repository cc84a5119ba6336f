"""Drive a follower along a log: batch by batch, with retries and a checkpoint."""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from rdfcrawl.errors import StoreFault
from rdfcrawl.followers.protocol import DocumentRefused, ProvenanceFollower

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.followers.protocol import Follower
    from rdfcrawl.log.crawl_log import CrawlLog
    from rdfcrawl.log.documents import Checkpoint, LogBatch, LogDocument

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_REFUSALS: Final = 3  # then a document is set aside
_FIRST_WAIT_SECS: Final = 0.5
_MAX_WAIT_SECS: Final = 60.0


@dataclass(slots=True)
class FollowingCounts:
    """What a follower has done since it began.

    Attributes:
        n_documents: versions read from the log.
        n_faults: failures of the store, each followed by another attempt.
        version_ms: the latest that was read.
        set_aside: documents that the store refused, with the reason.
    """

    n_documents: int = 0
    n_faults: int = 0
    version_ms: int = 0
    set_aside: dict[str, str] = field(default_factory=dict)


class LogFollowing:
    """A follower on its way along one log.

    Args:
        log: that is followed.
        follower: not opened yet.
        patience_secs: a store that fails is tried again for so long; None: forever.
    """

    def __init__(
        self, log: CrawlLog, follower: Follower, *, patience_secs: float | None = None
    ) -> None:
        self._log = log
        self._follower = follower
        self._patience_secs = patience_secs
        self._refusals: Counter[str] = Counter()
        self.counts = FollowingCounts()
        self.checkpoint = log.begin()

    def open(self) -> None:
        """Open the store.

        Raises:
            ConfigError: the configuration of the store is wrong.
            StoreFault: the store cannot be used.
        """

        def open_store() -> Checkpoint | None:
            return self._follower.open(self._log.identity)

        self.checkpoint = self._until_done(open_store) or self._log.begin()

    def catch_up(self) -> int:
        """Apply what is in the log now; return the number of versions read.

        Raises:
            ConfigError: the log can no longer be read.
            StoreFault: the store has failed for too long.
        """
        n_documents = 0
        has_provenance = isinstance(self._follower, ProvenanceFollower)
        for batch in self._log.read(self.checkpoint, has_provenance=has_provenance):
            self._until_done(lambda batch=batch: self._take(batch))  # type: ignore[misc]
            self.checkpoint = batch.checkpoint
            n_documents += len(batch.documents)
            self.counts.n_documents += len(batch.documents)
        return n_documents

    def _take(self, batch: LogBatch) -> None:
        """Apply a batch and commit it."""
        left = self._not_refused(batch.documents)
        try:
            if left:
                self._follower.apply(left)
        except DocumentRefused as refusal:
            self._refusals[refusal.graph] += 1
            if self._refusals[refusal.graph] >= _MAX_REFUSALS:
                self._set_aside(refusal)
            raise
        if batch.provenance and isinstance(self._follower, ProvenanceFollower):
            self._follower.add_provenance(batch.provenance)
        self._follower.commit(batch.checkpoint)
        latest = max((each.version_ms for each in batch.documents), default=0)
        self.counts.version_ms = max(self.counts.version_ms, latest)

    def _not_refused(self, documents: tuple[LogDocument, ...]) -> list[LogDocument]:
        return [
            document
            for document in documents
            if self._refusals[document.graph] < _MAX_REFUSALS
        ]

    def _set_aside(self, refusal: DocumentRefused) -> None:
        logger.error("set aside, the store refuses it: %s", refusal)
        self.counts.set_aside[refusal.graph] = refusal.detail

    def _until_done(self, call: Callable[[], T]) -> T:
        """Call until it succeeds, with longer and longer waits.

        Raises:
            StoreFault: it has failed for too long, or will always fail.
        """
        deadline = time.monotonic() + (self._patience_secs or 0)
        wait_secs = _FIRST_WAIT_SECS
        while True:
            try:
                return call()
            except DocumentRefused:
                self.counts.n_faults += 1
            except StoreFault as fault:
                self.counts.n_faults += 1
                is_over = self._patience_secs is not None
                if not fault.may_pass or (is_over and time.monotonic() > deadline):
                    raise
                logger.warning("%s; trying again in %g s", fault, wait_secs)
                time.sleep(wait_secs)
                wait_secs = min(wait_secs * 2, _MAX_WAIT_SECS)
