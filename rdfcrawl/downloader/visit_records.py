"""The outcome of each record of a visit: a document, or another visit."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import MAY_PASS, Fault, Reason
from rdfcrawl.core.records import MAX_RETRIES, Document, Kind
from rdfcrawl.core.visits import UrlDeferral, Visit
from rdfcrawl.downloader.client import FAILING, HttpResponse
from rdfcrawl.downloader.retry_policy import (
    ADAPTING,
    RecordAttempt,
    backoff_secs,
    sibling_path,
)
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.downloader.spool import Spool


@dataclass(slots=True, kw_only=True, eq=False)
class VisitRecords:
    """The attempts at the records of one visit; each is always in one place."""

    visit: Visit
    options: FetchOptions
    spool: Spool
    # to be requested, in this order
    queue: deque[RecordAttempt] = field(init=False)
    # whose origin is unreachable
    set_aside: list[RecordAttempt] = field(default_factory=list)
    # refused, until evidence about their hosts decides
    deferred: list[RecordAttempt] = field(default_factory=list)
    retry_after_secs: float | None = None  # `Retry-After` of an origin that refuses
    responding: set[str] = field(default_factory=set)  # origins that responded
    # unreachable origins, with their faults
    dead: dict[str, list[Fault]] = field(default_factory=dict)
    # subset whose servers respond with refusals
    refusing: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        visit = self.visit
        self.queue = deque(RecordAttempt(n, visit.records[n]) for n in visit.pending)

    def finish(self, attempt: RecordAttempt) -> None:
        """Hand on the document of a record."""
        if attempt.best is None:  # pragma: no cover
            raise AssertionError("finished without a response")
        self.visit.documents.append(attempt.best)
        faults: list[Fault] | None = attempt.best.faults
        if faults and any(fault.reason in MAY_PASS for fault in faults):
            if attempt.record.kind in ADAPTING:
                faults = None  # endpoints repeat such queries with smaller ones
            self.visit.give_up(attempt.index, faults)

    def retry(self, attempt: RecordAttempt) -> None:
        """Request a record once more, after the others, up to the limit."""
        if attempt.n_tried > self.options.retry_times:
            self.finish(attempt)
            return
        if self.visit.is_scheduled and not attempt.record.kind.is_source:
            self.set_aside.append(attempt)  # each try needs its own grant
            return
        wait_secs = self._backoff_secs(max(0, attempt.n_tried - 1))
        attempt.not_before = time.monotonic() + wait_secs
        self.queue.append(attempt)

    def give_up_origin(self, attempt: RecordAttempt) -> None:
        """Set aside all records of an unreachable origin.

        A politeness key may cover many origins (hosts of one registered domain): one
        dead name among them does not end the visit.
        """
        self.set_aside.append(attempt)
        for other in self._unqueue(attempt.dead_origin):
            other.dead_origin = other.origin
            self.set_aside.append(other)

    def defer(self, attempt: RecordAttempt) -> None:
        """Set aside a refused record, and move similar URLs to the end."""
        self.deferred.append(attempt)
        self.move_to_end(attempt.record.url)

    def move_to_end(self, refused: str) -> None:
        """Move the URLs that are similar to a refused one to the end of the queue.

        Among them, those that were refused before come last.
        """
        form = sibling_path(refused)

        def place(attempt: RecordAttempt) -> tuple[bool, bool]:
            return sibling_path(attempt.record.url) == form, attempt.record.retries > 0

        self.queue = deque(sorted(self.queue, key=place))

    def finish_blocked(self, attempt: RecordAttempt) -> None:
        """Finish all records of an origin that the guard refuses.

        Each request would wait for the delay of the host and then be refused.
        """
        self.finish(attempt)
        if len(attempt.requested) > 1 or attempt.best is None:
            return  # reached by a redirect
        for other in self._unqueue(origin_of(attempt.requested[0])):
            other.best = other.document(HttpResponse(), attempt.best.faults)
            self.finish(other)

    def _unqueue(self, origin: str) -> list[RecordAttempt]:
        taken = [each for each in self.queue if each.origin == origin]
        self.queue = deque(each for each in self.queue if each.origin != origin)
        return taken

    def blame(self) -> None:
        """Count an internal error as a try of the record in progress."""
        if self.queue:
            attempt = self.queue[0]
            fault = Fault(Reason.INTERNAL, "the visit failed")
            attempt.best = attempt.best or attempt.document(HttpResponse(), [fault])

    def settle(self, rest_secs: float) -> None:
        """Settle every record: a document, or back to the queue.

        The host then rests for at least `rest_secs`.
        """
        visit = self.visit
        visit.pending.clear()
        visit.not_before_secs = max(visit.not_before_secs, rest_secs)
        is_dead = bool(self.dead) and not self.responding - self.dead.keys()
        if is_dead:
            self._settle_refusal()
        else:
            # The host responds, but this origin does not: each record counts its own
            # tries, so that they do not wait for one another. A record skipped because
            # its server refused others counts none.
            for attempt in self.set_aside:
                deferral = self._deferral(attempt)
                if attempt.dead_origin in self.refusing and attempt.best is None:
                    deferral = UrlDeferral(self._backoff_secs(0), is_by_server=False)
                else:
                    attempt.best = attempt.best or self._unanswered(attempt)
                self._put_back(attempt, deferral=deferral)
        for attempt in self.deferred:
            self._settle_deferred(attempt, is_dead=is_dead)
        for attempt in self.queue:
            self._put_back(attempt, deferral=self._deferral_of_cut(attempt))

    def _settle_refusal(self) -> None:
        """Let the host rest: for a while, or for the remainder of this batch."""
        visit = self.visit
        visit.host_refused = True
        ignores_failures = visit.ignores_failures and not self._is_lasting()
        is_last = self._has_tried and not ignores_failures
        wait_secs = own_secs = self._backoff_secs(0 if is_last else visit.failures)
        if self.retry_after_secs is not None:
            wait_secs = min(self.retry_after_secs, self.options.retry_after_max_secs)
            visit.retry_after_secs = wait_secs
            # its earlier `Retry-After` was too short
            if self._has_tried and not is_last:
                wait_secs = max(wait_secs, own_secs)
        visit.not_before_secs = max(visit.not_before_secs, wait_secs)
        is_by_server = self.retry_after_secs is not None
        for attempt in self.set_aside:
            is_tried = attempt.best is not None
            if is_last and (is_tried or attempt.record.kind not in ADAPTING):
                attempt.best = attempt.best or self._unanswered(attempt)
                self.finish(attempt)
            else:  # others come first in the next visit
                deferral = UrlDeferral(wait_secs, is_by_server) if is_tried else None
                self._put_back(attempt, counts=not ignores_failures, deferral=deferral)

    def _settle_deferred(self, attempt: RecordAttempt, *, is_dead: bool) -> None:
        """Put back a refused record, up to the limit of tries.

        Tries count once another URL has succeeded in between: the refusal concerns this
        URL. Without another URL, the record represents its host.
        """
        visit, refusal, record = self.visit, attempt.refusal, attempt.record
        is_own = record.kind in ADAPTING or (refusal is not None and refusal.is_own)
        if visit.is_only or not (visit.ignores_failures or self.options.retry_times):
            is_last = True
        elif is_dead or not (is_own or record.retries):
            is_last = False
        elif is_own:
            is_last = record.retries >= max(1, self.options.retry_times)
        else:
            visit.host_refused = True
            is_last = self._has_tried and not visit.ignores_failures
        if is_last:
            attempt.best = attempt.best or self._unanswered(attempt)
            self.finish(attempt)
            return
        deferral = self._deferral(attempt)
        if visit.is_scheduled and deferral and not visit.is_answering:
            # A record that waits for a grant has no time.
            visit.not_before_secs = max(visit.not_before_secs, deferral.secs)
        self._put_back(attempt, counts=is_own, deferral=deferral)

    @property
    def _has_tried(self) -> bool:
        return self.visit.failures >= self.options.retry_times

    def _deferral(self, attempt: RecordAttempt) -> UrlDeferral | None:
        """Return the wait of a refused record."""
        if attempt.refusal is None:
            return None
        requested_secs = attempt.refusal.requested_secs
        n_failures = max(self.visit.failures, attempt.record.retries)
        own_secs = self._backoff_secs(n_failures)
        # its earlier `Retry-After` was too short
        if requested_secs is None or (n_failures and requested_secs < own_secs):
            return UrlDeferral(own_secs, is_by_server=False)
        return UrlDeferral(
            min(requested_secs, self.options.retry_after_max_secs), is_by_server=True
        )

    def _deferral_of_cut(self, attempt: RecordAttempt) -> UrlDeferral | None:
        """Return the wait of a record whose request was cut short."""
        if self.visit.is_cut and attempt.requested and attempt.best is None:
            return UrlDeferral(self.options.backoff_base_secs, is_by_server=False)
        return None

    def _is_lasting(self) -> bool:
        """Return whether the host's failure is permanent."""
        refused = (each.record.kind for each in self.set_aside if each.refusal)
        if Kind.SPARQL in refused:
            # Endpoints respond this way to queries that are too large; smaller ones
            # follow.
            return True
        lasting = self.visit.lasting_reasons
        faults = (fault for each in self.dead.values() for fault in each)
        return all(each.reason in lasting for each in faults)

    def _unanswered(self, attempt: RecordAttempt) -> Document:
        """Return the document of a record with the fault of another."""
        faults = self.dead.get(attempt.dead_origin, [])
        return attempt.document(HttpResponse(), faults)

    def _put_back(
        self,
        attempt: RecordAttempt,
        *,
        counts: bool = True,
        deferral: UrlDeferral | None = None,
    ) -> None:
        """Put a record back into the queue; count a retry if it was tried."""
        record, best = attempt.record, attempt.best
        n_retries = record.retries
        if best is not None and counts and not attempt.has_progressed:
            if n_retries >= MAX_RETRIES:
                self.finish(attempt)
                return
            n_retries += 1
        elif best is not None or attempt.claimed:
            # The frontier considers its target seen: only a record that was put back
            # may still fetch it.
            n_retries = max(1, n_retries)
        if best is not None:
            self.spool.release(best.response)
            if best.status in FAILING:
                self.visit.behind.add(attempt.index)
        faults = best.faults if best else self.dead.get(attempt.dead_origin, [])
        if faults or n_retries != record.retries:
            record = record.requeued(faults, retries=n_retries)
        self.visit.returned[attempt.index] = record
        if deferral is not None:
            self.visit.deferred[attempt.index] = deferral
        if best is None and not attempt.requested:
            self.visit.unrequested.add(attempt.index)

    def _backoff_secs(self, n_failures: int) -> float:
        return backoff_secs(
            n_failures,
            base_secs=self.options.backoff_base_secs,
            max_secs=self.options.backoff_max_secs,
        )
