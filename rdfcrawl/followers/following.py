"""Drive a follower along a log: batch by batch, with retries and a checkpoint."""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from rdfcrawl.errors import RdfcrawlError, StoreFault, passing_fault
from rdfcrawl.followers.protocol import (
    DocumentRefused,
    GenerationFollower,
    ProvenanceFollower,
)
from rdfcrawl.log.documents import LogBatch, tombstone

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.followers.protocol import Follower
    from rdfcrawl.log.crawl_log import CrawlLog
    from rdfcrawl.log.documents import Checkpoint, LogDocument

logger = logging.getLogger(__name__)

T = TypeVar("T")

_DROPPED_AT_ONCE: Final = 1000  # documents
_MAX_REFUSALS: Final = 3  # then a document is set aside
_FIRST_WAIT_SECS: Final = 0.5
_MAX_WAIT_SECS: Final = 60.0


_USUAL_BYTES: Final = 300.0  # of a document in the log


@dataclass(slots=True)
class FollowingCounts:
    """What a follower has done since it began.

    Attributes:
        n_documents: versions read from the log.
        n_faults: failures of the store, each followed by another attempt.
        version_ms: the latest that was read.
        n_bytes: of compressed documents that were read.
        set_aside: documents that the store refused, with the reason.
    """

    n_documents: int = 0
    n_faults: int = 0
    version_ms: int = 0
    n_bytes: int = 0
    set_aside: dict[str, str] = field(default_factory=dict)

    @property
    def bytes_per_document(self) -> float:
        """Mean length in the log, compressed."""
        return (
            max(1.0, self.n_bytes / self.n_documents)
            if self.n_documents
            else _USUAL_BYTES
        )


class LogFollowing:
    """A follower on its way along one log.

    Args:
        log: that is followed.
        follower: not opened yet.
        is_over: whether a store that fails is tried for `patience_secs` only; else it
            is tried forever.
        patience_secs: see `is_over`.
        report: is told what the follower does, after each batch and failure.
    """

    def __init__(
        self,
        log: CrawlLog,
        follower: Follower,
        *,
        is_over: Callable[[], bool] = lambda: True,
        patience_secs: float = 60.0,
        report: Callable[[str, str], None] = lambda _state, _detail: None,
    ) -> None:
        self._log = log
        self._follower = follower
        self._is_over = is_over
        self._patience_secs = patience_secs
        self._report = report
        self._refusals: Counter[str] = Counter()
        self.counts = FollowingCounts()
        self.checkpoint = log.begin()

    def open(self) -> None:
        """Open the store.

        Raises:
            ConfigError: the configuration of the store is wrong.
            StoreFault: the store cannot be used.
        """
        identity = self._log.identity

        def open_store() -> Checkpoint | None:
            return self._follower.open(identity)

        self.checkpoint = self._until_done(open_store) or self._log.begin()
        self._opened = identity

    def catch_up(self) -> int:
        """Apply what is in the log now; return the number of versions read.

        Raises:
            ConfigError: the log can no longer be read.
            StoreFault: the store has failed for too long.
        """
        n_documents = 0
        has_provenance = isinstance(self._follower, ProvenanceFollower)
        for batch in self._log.read(self.checkpoint, has_provenance=has_provenance):
            if self._opened != self._log.identity:  # the crawl was begun anew
                self._follower.close()
                self.open()
            self._until_done(lambda batch=batch: self._take(batch))  # type: ignore[misc]
            self._note(batch)
            n_documents += len(batch.documents)
            self._report("following", "")
        return n_documents

    def end_generation(self) -> int:
        """Drop documents of earlier generations; return their number.

        Call this when the crawl has ended and the store has caught up: what the crawl
        has not found again is gone.

        Raises:
            StoreFault: the store has failed for too long.
        """
        follower, log = self._follower, self._log.identity
        if not isinstance(follower, GenerationFollower):
            return 0
        n_dropped = 0
        earlier = follower.earlier_documents(log)
        while some := list(islice(earlier, _DROPPED_AT_ONCE)):
            gone = tuple(tombstone(graph, version) for graph, version in some)
            batch = LogBatch(gone, (), self.checkpoint)
            self._until_done(lambda batch=batch: self._take(batch))  # type: ignore[misc]
            n_dropped += len(gone)
        return n_dropped

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

    def _note(self, batch: LogBatch) -> None:
        counts = self.counts
        latest = max((each.version_ms for each in batch.documents), default=0)
        counts.version_ms = max(counts.version_ms, latest)
        counts.n_documents += len(batch.documents)
        counts.n_bytes += batch.checkpoint.quads_bytes - self.checkpoint.quads_bytes
        self.checkpoint = batch.checkpoint

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
        began = time.monotonic()
        wait_secs = _FIRST_WAIT_SECS
        while True:
            try:
                return call()
            except DocumentRefused:
                self.counts.n_faults += 1
            except Exception as error:
                fault = _as_fault(error)
                self.counts.n_faults += 1
                has_waited = time.monotonic() - began >= self._patience_secs
                if not fault.may_pass or (has_waited and self._is_over()):
                    raise fault from error
                self._report("waiting", str(fault))
                logger.warning("%s; trying again in %g s", fault, wait_secs)
                time.sleep(wait_secs)
                wait_secs = min(wait_secs * 2, _MAX_WAIT_SECS)


def _as_fault(error: Exception) -> StoreFault:
    """Return an exception as a fault of the store; a user's may raise any.

    Raises:
        RdfcrawlError: the exception, if it is for the operator.
    """
    if isinstance(error, StoreFault):
        return error
    if isinstance(error, RdfcrawlError):
        raise error
    what = f"{type(error).__qualname__}: {error}"
    return passing_fault(error) or StoreFault(what, may_pass=True)
