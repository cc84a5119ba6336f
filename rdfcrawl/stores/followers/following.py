"""Drive a follower along a log, in batches, with retries and a checkpoint."""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.errors import (
    ConfigError,
    RdfcrawlError,
    StoreFault,
    UnusableStore,
    passing_fault,
)
from rdfcrawl.rdf.graphs import SERVICE
from rdfcrawl.stores.followers.protocol import DocumentRefused, Follower, StoreForgot
from rdfcrawl.stores.followers.stored_once import StoredOnce, is_marked
from rdfcrawl.stores.log.documents import LogBatch, LogDocument, tombstone
from rdfcrawl.stores.reading import reading
from rdfcrawl.stores.segment_file import TornMember

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rdfcrawl.stores.crawl_folder import LogIdentity
    from rdfcrawl.stores.log.crawl_log import CrawlLog

logger = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_WAIT_SECS: Final = 0.5
_MAX_WAIT_SECS: Final = 60.0
_DROPPED_BATCH: Final = 1000  # documents
_MAX_REFUSALS: Final = 3  # then a document is set aside
_MAX_SET_ASIDE: Final = 10_000  # documents listed in the status
_USUAL_BYTES: Final = 300.0  # of a document in the log


class StoreAttempts:
    """Attempts at one operation, with growing pauses.

    Args:
        began: time of the first one, by `monotonic`.
        patience_secs: how long to retry when `is_over` is true.
        is_over: whether to stop retrying after `patience_secs`.
        ends_if_unusable: whether to stop at once on an `UnusableStore`.
        report: called with each failure.
    """

    def __init__(
        self,
        *,
        began: float,
        patience_secs: float,
        is_over: Callable[[], bool],
        ends_if_unusable: bool,
        report: Callable[[str, str], None],
    ) -> None:
        self._patience_secs, self._is_over = patience_secs, is_over
        self._ends_if_unusable, self._report = ends_if_unusable, report
        self._began = began
        self._wait_secs = _FIRST_WAIT_SECS

    def wait(self, fault: StoreFault, error: Exception) -> None:
        """Report a failure, and wait before the next attempt.

        Raises:
            StoreFault: no attempt follows: it has failed for too long, or will always
                fail.
        """
        has_waited = time.monotonic() - self._began >= self._patience_secs
        is_unusable = isinstance(fault, UnusableStore)
        if (
            not fault.may_pass
            or (is_unusable and self._ends_if_unusable)
            or (has_waited and self._is_over())
        ):
            raise fault from error
        self._report("unusable" if is_unusable else "waiting", str(fault))
        logger.warning("%s; trying again in %g s", fault, self._wait_secs)
        time.sleep(self._wait_secs)
        self._wait_secs = min(self._wait_secs * 2, _MAX_WAIT_SECS)


def log_fault(root: Path, error: OSError) -> StoreFault:
    """Return the fault of an unreadable log; it may pass if the disk's error may."""
    what = f"the log cannot be read: {error.filename or root}"
    what += f": {error.strerror or error}"
    if passing_fault(error):
        return StoreFault(what, may_pass=True)
    return UnusableStore(what)


def as_fault(error: Exception) -> StoreFault:
    """Return an exception as a fault of the store; a user's class may raise any.

    Raises:
        RdfcrawlError: the exception is one for the operator.
    """
    if isinstance(error, StoreFault):
        return error
    if isinstance(error, RdfcrawlError):
        raise error
    what = f"{type(error).__qualname__}: {error}"
    return passing_fault(error) or StoreFault(what, may_pass=True)


@dataclass(frozen=True, slots=True)
class SetAside:
    """A version of a document that a store has refused.

    Attributes:
        version_ms: start of its fetch, Unix time in ms.
        reason: given by the store.
    """

    version_ms: int
    reason: str


@dataclass(slots=True)
class FollowingCounts:
    """Progress of a follower since it began.

    Attributes:
        n_documents: versions read from the log.
        version_ms: the latest version read.
        n_bytes: compressed length of the documents read.
        set_aside: documents that the store refused, by graph, also in earlier
            processes. A later version that the store takes removes its document.
        n_unnamed: number of further ones, not listed.
    """

    n_documents: int = 0
    version_ms: int = 0
    n_bytes: int = 0
    set_aside: dict[str, SetAside] = field(default_factory=dict)
    n_unnamed: int = 0

    @property
    def bytes_per_document(self) -> float:
        """Mean length in the log, compressed."""
        return (
            max(1.0, self.n_bytes / self.n_documents)
            if self.n_documents
            else _USUAL_BYTES
        )


class LogFollowing:
    """A follower and its position in one log.

    Args:
        log: to follow.
        follower: not open yet.
        is_over: whether to give up a failing store after `patience_secs`; otherwise it
            is retried forever.
        patience_secs: see `is_over`.
        ends_if_unusable: whether to give up an `UnusableStore` immediately.
        report: called with state and detail after each batch and failure.
        set_aside: of an earlier process.
        once: stores identical statements once; None: store all statements.
    """

    def __init__(
        self,
        log: CrawlLog,
        follower: Follower,
        *,
        is_over: Callable[[], bool] = lambda: True,
        patience_secs: float = 60.0,
        ends_if_unusable: bool = False,
        report: Callable[[str, str], None] = lambda _state, _detail: None,
        set_aside: Mapping[str, SetAside] | None = None,
        once: StoredOnce | None = None,
    ) -> None:
        self._log = log
        self._once = once
        self._given: Sequence[LogDocument] = ()  # last passed to the store
        self._follower = follower
        self._is_over = is_over
        self._patience_secs = patience_secs
        self._ends_if_unusable = ends_if_unusable
        self._report = report
        self._refusals: Counter[tuple[str, int]] = Counter()
        self.counts = FollowingCounts(set_aside=dict(set_aside or {}))
        for graph, each in self.counts.set_aside.items():
            self._refusals[graph, each.version_ms] = _MAX_REFUSALS
        self.checkpoint = log.begin()

    def open(self) -> None:
        """Open the store.

        Raises:
            ConfigError: the configuration of the store is wrong.
            StoreFault: the store cannot be used.
        """
        identity = self._log.identity
        found = self._until_done(lambda: self._follower.open(identity))
        self._until_done(self._check_alone)
        if self._once is not None:
            once, noted = self._once, found
            found = self._until_done(lambda: once.open(noted))
        elif found is not None and is_marked(found):
            logger.info("statements that were stored once are stored in full again")
            found = None
        if found is None:  # the store is new: retry all documents
            self._refusals.clear()
            self.counts.set_aside.clear()
        self.checkpoint = found or self._log.begin()
        self._opened = identity

    def _check_alone(self) -> None:
        """Check that no other crawl writes to a store with duplicates removed.

        Raises:
            ConfigError: other crawls fill the store, too.
        """
        follower, log = self._follower, self._log.identity.log
        others = [x for x in follower.checkpoints() if x.log != log]
        if any(self._once is not None or is_marked(x) for x in others):
            raise ConfigError(
                "SAME_STATEMENTS_ONCE: several crawls fill this store, so it needs all"
                " statements; give each crawl a separate store, or set"
                " SAME_STATEMENTS_ONCE=False"
            )

    def once_totals(self) -> dict[str, int]:
        """Return the size of duplicates that are stored once; empty without `once`.

        Raises:
            StoreFault: the store is not open.
        """
        if self._once is None:
            return {}
        totals = self._once.totals()._asdict()
        return {name.removeprefix("n_"): n for name, n in totals.items()}

    def close(self) -> None:
        """Close the store."""
        try:
            self._follower.close()
        finally:
            if self._once is not None:
                self._once.close()

    def catch_up(self, is_enough: Callable[[], bool] = lambda: False) -> int:
        """Apply the current content of the log; return the number of versions read.

        Args:
            is_enough: called after each batch; if true, the rest is left for later.

        Raises:
            ConfigError: the log can no longer be read.
            StoreFault: the store has failed for too long.
        """
        n_documents = self.counts.n_documents
        while not self._is_caught_up(is_enough):
            self._follower.close()
            self.open()
        return self.counts.n_documents - n_documents

    def _is_caught_up(self, is_enough: Callable[[], bool]) -> bool:
        """Apply the content of the log; return False if the store has to be reopened.

        Raises:
            RdfcrawlError: as `catch_up`.
        """
        for batch in self._batches():
            if self._opened != self._log.identity:  # `fresh=1` has replaced the log
                self._follower.close()
                self.open()
            try:
                self._until_done(lambda batch=batch: self._take_kept(batch))  # type: ignore[misc]
            except StoreForgot as fault:
                logger.warning("%s; reading again from the store's checkpoint", fault)
                return False
            self._note(batch)
            self.renew(at_once=False)
            self._report("following", "")
            if is_enough():
                return True
        if self._once is not None and self._once.has_pending:
            batch = LogBatch((), (), self.checkpoint)
            self._until_done(lambda: self._take_kept(batch))
        self.renew(at_once=False)  # a delayed renewal may be due
        return True

    def _batches(self) -> Iterator[LogBatch]:
        """Yield the batches behind the checkpoint; retry if the log cannot be read.

        Raises:
            ConfigError: the log now has the format of a later version of rdfcrawl.
            StoreFault: the log could not be read for too long.
        """
        has_provenance = self._follower.takes_provenance
        attempts: StoreAttempts | None = None
        while True:
            try:
                for batch in self._log.read(
                    self.checkpoint, has_provenance=has_provenance
                ):
                    attempts = None
                    yield batch
            except OSError as error:
                attempts = attempts or self._attempts(time.monotonic())
                attempts.wait(log_fault(self._log.root, error), error)
            else:
                break
        if attempts is not None:  # readable again, without new documents
            self._report("following", "")

    def _take_kept(self, batch: LogBatch) -> None:
        """Apply a batch, unless a segment of it was removed or damaged since.

        Raises:
            StoreForgot: read the batch again.
        """
        try:
            self._take(batch)
        except Exception as error:
            is_lost = batch.is_lost or any(x.is_lost for x in self._given)
            if isinstance(error, TornMember) or is_lost:
                raise StoreForgot(f"{self._log.root}: the log has changed") from error
            raise

    def renew(self, *, at_once: bool) -> None:
        """Publish committed documents to readers, if the store needs it.

        Raises:
            StoreFault: the store has failed for too long.
        """
        self._until_done(lambda: self._follower.renew(at_once=at_once))

    def end_generation(self) -> int:
        """Drop documents of earlier generations; return their number.

        Call this when the crawl has ended and the store has caught up: documents that
        the crawl has not found again no longer exist.

        Raises:
            StoreFault: the store has failed for too long.
        """
        follower, log = self._follower, self._log.identity
        try:
            return self._drop_earlier(log)
        except StoreForgot as fault:
            logger.warning("%s; filling it again", fault)
            follower.close()
            self.open()
            self.catch_up()
            return self._drop_earlier(log)

    def _drop_earlier(self, log: LogIdentity) -> int:
        n_dropped = 0
        found = self._follower.earlier_documents(log)
        if found is None:
            return 0
        if self._once is not None:  # with those that came into the place of others
            found = chain(found, self._once.earlier())
        for some in in_batches(_with_faults(found), _DROPPED_BATCH):
            gone = tuple(tombstone(graph, version) for graph, version in some)
            batch = LogBatch(gone, (), self.checkpoint)
            self._until_done(lambda batch=batch: self._take(batch, is_last=True))  # type: ignore[misc]
            n_dropped += len(gone)
        return n_dropped

    def _take(self, batch: LogBatch, *, is_last: bool = False) -> None:
        """Apply and commit a batch.

        Args:
            batch: to apply.
            is_last: whether it drops documents of earlier generations.
        """
        checkpoint = batch.checkpoint
        if self._once is None:
            self._apply(batch.documents)
        else:
            with reading(self._log.root / "quads"):
                for some in self._once.choose(
                    batch.documents, self._refused(), is_last=is_last
                ):
                    self._apply(some)
            checkpoint = self._once.marked(checkpoint)
        if batch.activities:
            self._follower.add_provenance(batch.provenance())
        self._follower.commit(checkpoint)
        if self._once is not None:
            self._once.settle()

    def _apply(self, documents: Sequence[LogDocument]) -> None:
        self._given = left = [
            each
            for each in documents
            if not each.graph.endswith(SERVICE)
            and self._refusals[each.graph, each.version_ms] < _MAX_REFUSALS
        ]
        try:
            if left:
                self._follower.apply(left)
        except DocumentRefused as refusal:
            for each in (refusal, *refusal.others):
                self._note_refusal(each, left)
            raise
        if self.counts.set_aside:
            self._note_taken(left)

    def _note(self, batch: LogBatch) -> None:
        counts = self.counts
        latest = max((each.version_ms for each in batch.documents), default=0)
        counts.version_ms = max(counts.version_ms, latest)
        counts.n_documents += len(batch.documents)
        counts.n_bytes += batch.checkpoint.quads_bytes - self.checkpoint.quads_bytes
        self.checkpoint = batch.checkpoint

    def _refused(self) -> list[tuple[str, int]]:
        return [x for x, n_times in self._refusals.items() if n_times >= _MAX_REFUSALS]

    def _note_refusal(
        self, refusal: DocumentRefused, documents: Sequence[LogDocument]
    ) -> None:
        """Count a refusal of the last version of a document."""
        versions = [x.version_ms for x in documents if x.graph == refusal.graph]
        version_ms = max(versions, default=0)
        self._refusals[refusal.graph, version_ms] += 1
        if self._refusals[refusal.graph, version_ms] < _MAX_REFUSALS:
            return
        logger.error("set aside, since the store refuses it: %s", refusal)
        counts = self.counts
        if refusal.graph in counts.set_aside or len(counts.set_aside) < _MAX_SET_ASIDE:
            counts.set_aside[refusal.graph] = SetAside(version_ms, refusal.detail)
        else:
            counts.n_unnamed += 1
        # Before the checkpoint moves behind the document.
        self._report("following", "")

    def _note_taken(self, documents: Sequence[LogDocument]) -> None:
        """Remove documents from `set_aside` whose later version was taken."""
        set_aside = self.counts.set_aside
        for document in documents:
            refused = set_aside.get(document.graph)
            if refused is not None and document.version_ms > refused.version_ms:
                del set_aside[document.graph]

    def _until_done(self, call: Callable[[], T]) -> T:
        """Call until it succeeds, with growing pauses.

        Raises:
            StoreFault: it has failed for too long, or will always fail.
        """
        began, attempts = time.monotonic(), None
        while True:
            try:
                return call()
            except DocumentRefused:
                continue
            except Exception as error:
                attempts = attempts or self._attempts(began)
                attempts.wait(as_fault(error), error)

    def _attempts(self, began: float) -> StoreAttempts:
        return StoreAttempts(
            began=began,
            patience_secs=self._patience_secs,
            is_over=self._is_over,
            ends_if_unusable=self._ends_if_unusable,
            report=self._report,
        )


def _with_faults(items: Iterator[T]) -> Iterator[T]:
    """Yield the items of a store; turn its exceptions into a `StoreFault`."""
    try:
        yield from items
    except Exception as error:
        raise as_fault(error) from error
