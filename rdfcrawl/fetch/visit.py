"""A visit: the records of one host, asked for one after another."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import Fault, Reason, SourceFault
from rdfcrawl.fetch.pace import Pace, Sleepers
from rdfcrawl.fetch.redirects import resolve_redirect
from rdfcrawl.fetch.retry_after import backoff_secs, parse_retry_after
from rdfcrawl.fetch.verdict import Verdict, judge_answer
from rdfcrawl.records import Document, Kind, Record

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rdfcrawl.fetch.answer import Answer, Exchange
    from rdfcrawl.fetch.options import FetchOptions
    from rdfcrawl.fetch.spool import Spool
    from rdfcrawl.records import Visit

MAX_RETRIES: Final = 3  # `Record.retries` has two bits


class Visitor:
    """Makes visits; one for the whole process.

    Args:
        exchange: does one GET.
        spool: keeps the bodies.
        options: limits and manners.
        key_of: politeness key of a URL; a redirect within a key is followed.
        is_new: marks a redirect target as seen in the frontier, and says whether
            it had not been: one that had is somebody else's to fetch.
    """

    def __init__(
        self,
        exchange: Exchange,
        spool: Spool,
        options: FetchOptions,
        *,
        key_of: Callable[[str], str],
        is_new: Callable[[str], Awaitable[bool]],
    ) -> None:
        self.exchange = exchange
        self.spool = spool
        self.options = options
        self.key_of = key_of
        self.is_new = is_new
        self.asks = {kind: options.ask(kind) for kind in Kind}
        self.sleepers = Sleepers()

    @property
    def memory_bytes(self) -> int:
        """Bytes of bodies held in memory, until they are released."""
        return self.spool.memory_bytes

    def release(self, document: Document) -> None:
        """Free the body of a document that the pipelines are done with."""
        self.spool.release(document)

    def stop(self) -> None:
        """Let open visits end after the request that is under way."""
        self.sleepers.stop()

    async def visit(self, visit: Visit) -> None:
        """Ask for `visit.pending`; what came of it is in `visit` afterwards.

        Raises no fault. If it is cancelled, what was not done is in
        `visit.returned`.
        """
        course = _Course(self, visit)
        try:
            await course.run()
        finally:
            course.settle()


@dataclass(slots=True, eq=False)
class _Attempt:
    """One record on its way to a document.

    Attributes:
        n_tried: times that it was asked for in this visit.
        not_before: loop time before which it is not asked for again.
        requested: URLs asked for in the present try.
        dead_origin: the origin that could not be reached for it.
        claimed: redirect targets that the frontier now takes for this record's.
        best: what the tries so far came to.
    """

    index: int
    record: Record
    origin: str
    n_tried: int = 0
    not_before: float = 0.0
    started_ms: int = 0
    requested: list[str] = field(default_factory=list)
    dead_origin: str = ""
    claimed: set[str] = field(default_factory=set)
    best: Document | None = None


class _Course:
    """One visit under way."""

    def __init__(self, visitor: Visitor, visit: Visit) -> None:
        self._visitor = visitor
        self._options = visitor.options
        self._visit = visit
        self._pace = Pace(
            visitor.sleepers,
            delay_secs=visit.delay_secs,
            max_secs=visitor.options.visit_max_secs,
        )
        self._queue = deque(
            _Attempt(index, record := visit.records[index], _origin(record.url))
            for index in visit.pending
        )
        self._answered: set[str] = set()  # origins
        self._dead: dict[str, list[Fault]] = {}  # origin -> why
        self._set_aside: list[_Attempt] = []
        self._busy: _Attempt | None = None
        self._busy_faults: list[Fault] = []
        self._retry_after_secs: float | None = None

    async def run(self) -> None:
        """Ask for one after another, until there is nothing more to ask for."""
        while self._queue and self._busy is None:
            attempt = self._queue[0]
            verdict = await self._try(attempt)
            if verdict is None:
                return
            # No await from here on: an attempt is in one place at any time.
            self._queue.popleft()
            match verdict:
                case Verdict.AGAIN:
                    self._again(attempt)
                case Verdict.NO_CONNECTION:
                    self._give_up_origin(attempt)
                case Verdict.BUSY:
                    self._busy = attempt
                case _:
                    self._finish(attempt)

    async def _try(self, attempt: _Attempt) -> Verdict | None:
        """Ask for a record and follow it; None if the visit is over before."""
        attempt.requested = []
        url = attempt.record.url
        while await self._pace.turn(attempt.not_before):
            if not attempt.requested:
                attempt.started_ms = _now_ms()
            origin = _origin(url)
            attempt.requested.append(url)
            answer = await self._visitor.exchange.get(
                url, self._visitor.asks[attempt.record.kind]
            )
            verdict = judge_answer(answer, self._options)
            if answer.status:
                self._answered.add(origin)
            target = None
            if verdict is Verdict.REDIRECT:
                target, verdict = await self._follow(attempt, url, answer)
            if target is None:
                self._note(attempt, answer)
                self._note_trouble(attempt, answer, verdict, origin)
                return verdict
            url = target
            if _origin(url) in self._dead:
                attempt.dead_origin = _origin(url)
                return Verdict.NO_CONNECTION
        return None

    async def _follow(
        self, attempt: _Attempt, url: str, answer: Answer
    ) -> tuple[str | None, Verdict]:
        """Return the URL to ask next within this visit, if there is one."""
        record = attempt.record
        chain = (*record.chain, *attempt.requested)
        try:
            target = resolve_redirect(url, answer.location)
            _check_chain(target, chain, self._options.redirect_limit)
        except SourceFault as exc:
            answer.fault = exc.fault
            return None, Verdict.DONE
        if self._visitor.key_of(target) != self._visit.key:
            self._visit.outlinks.append(
                replace(record, url=target, chain=chain, lost=0, retries=0)
            )
            return None, Verdict.DONE
        if not await self._claim(attempt, target):
            return None, Verdict.DONE
        return target, Verdict.REDIRECT

    async def _claim(self, attempt: _Attempt, target: str) -> bool:
        """Say whether `target` is for this record to fetch."""
        if target in attempt.claimed:
            return True
        self._visit.known.append(target)
        # Before it is asked: if the visit is cancelled meanwhile, it may be ours.
        attempt.claimed.add(target)
        is_new = await self._visitor.is_new(target)
        # A record that was lost or put back may itself have marked its target.
        if is_new or attempt.record.lost > 0 or attempt.record.retries > 0:
            return True
        attempt.claimed.discard(target)
        return False

    def _note(self, attempt: _Attempt, answer: Answer) -> None:
        """Keep the answer as a document, if it is the best one so far."""
        document = _document(attempt, answer)
        best = attempt.best
        if best is not None:
            if best.n_bytes > document.n_bytes and document.faults:
                best, document = document, best
            self._visitor.release(best)
        attempt.best = document
        attempt.n_tried += 1

    def _note_trouble(
        self, attempt: _Attempt, answer: Answer, verdict: Verdict, origin: str
    ) -> None:
        faults = [answer.fault] if answer.fault else []
        if verdict is Verdict.NO_CONNECTION:
            self._dead[origin] = faults
            attempt.dead_origin = origin
        elif verdict is Verdict.BUSY:
            self._busy_faults = faults
            self._retry_after_secs = parse_retry_after(
                answer.retry_after, datetime.now(UTC)
            )

    def _again(self, attempt: _Attempt) -> None:
        if attempt.n_tried > self._options.retry_times:
            self._finish(attempt)
            return
        wait_secs = self._backoff_secs(attempt.n_tried - 1)
        attempt.not_before = asyncio.get_running_loop().time() + wait_secs
        self._queue.append(attempt)

    def _give_up_origin(self, attempt: _Attempt) -> None:
        """Set aside what else there is of an origin that cannot be reached.

        A politeness key may cover many origins (hosts of one registered domain):
        one dead name among them does not end the visit.
        """
        self._set_aside.append(attempt)
        left: deque[_Attempt] = deque()
        for other in self._queue:
            if other.origin == attempt.dead_origin:
                other.dead_origin = other.origin
                self._set_aside.append(other)
            else:
                left.append(other)
        self._queue = left

    def _finish(self, attempt: _Attempt) -> None:
        if attempt.best is None:  # pragma: no cover
            raise AssertionError("finished without an answer")
        self._visit.documents.append(attempt.best)

    def settle(self) -> None:
        """Put every record in its place: a document, or back to the queue."""
        visit = self._visit
        visit.pending.clear()
        visit.not_before_secs = max(visit.not_before_secs, self._pace.rest_secs())
        is_dead = bool(self._dead) and not self._answered - self._dead.keys()
        if self._busy is not None or is_dead:
            self._settle_refusal()
        else:
            # The host answers, but this origin of it does not: each record of it
            # counts its own tries, or they would wait for one another.
            for attempt in self._set_aside:
                attempt.best = attempt.best or self._unasked(attempt)
                self._put_back(attempt)
        for attempt in self._queue:
            self._put_back(attempt)

    def _settle_refusal(self) -> None:
        """Leave the host alone: for a while, or for this batch for good."""
        visit = self._visit
        visit.host_refused = True
        is_last = visit.failures >= self._options.retry_times
        wait_secs = self._retry_after_secs
        if wait_secs is None:
            wait_secs = self._backoff_secs(0 if is_last else visit.failures)
        wait_secs = min(wait_secs, self._options.retry_after_max_secs)
        visit.not_before_secs = max(visit.not_before_secs, wait_secs)
        refused = [*self._set_aside, *([self._busy] if self._busy else [])]
        if False:
            refused += self._queue
            self._queue.clear()
        for attempt in refused:
            if is_last:
                attempt.best = attempt.best or self._unasked(attempt)
                self._finish(attempt)
            else:
                self._put_back(attempt)

    def _unasked(self, attempt: _Attempt) -> Document:
        """Return the document of a record that shares the fault of another."""
        now_ms = _now_ms()
        return Document(
            record=attempt.record,
            url=attempt.requested[-1] if attempt.requested else attempt.record.url,
            requested=tuple(attempt.requested),
            started_ms=attempt.started_ms or now_ms,
            ended_ms=now_ms,
            faults=list(self._dead.get(attempt.dead_origin, self._busy_faults)),
        )

    def _put_back(self, attempt: _Attempt) -> None:
        """Return a record to the queue, once more if it was tried."""
        record = attempt.record
        if attempt.best is not None:
            if record.retries >= MAX_RETRIES:
                self._finish(attempt)
                return
            self._visitor.release(attempt.best)
            record = replace(record, retries=record.retries + 1)
        elif attempt.claimed and not record.retries:
            # The frontier takes its target for seen: only a record that was put
            # back may still fetch it.
            record = replace(record, retries=1)
        self._visit.returned[attempt.index] = record

    def _backoff_secs(self, n_failures: int) -> float:
        return backoff_secs(
            n_failures,
            base_secs=self._options.backoff_base_secs,
            max_secs=self._options.backoff_max_secs,
        )


def _document(attempt: _Attempt, answer: Answer) -> Document:
    return Document(
        record=attempt.record,
        url=attempt.requested[-1],
        requested=tuple(attempt.requested),
        status=answer.status,
        media_type=answer.media_type,
        charset=answer.charset,
        etag=answer.etag,
        last_modified=answer.last_modified,
        body=answer.body,
        path=answer.path,
        n_bytes=answer.n_bytes,
        started_ms=attempt.started_ms,
        ended_ms=_now_ms(),
        is_partial=answer.is_partial,
        faults=[answer.fault] if answer.fault else [],
    )


def _check_chain(target: str, chain: tuple[str, ...], limit: int) -> None:
    """Refuse a redirect back to where it came from, or one too many.

    Raises:
        SourceFault: `REDIRECT_LOOP` or `REDIRECT_LIMIT`.
    """
    if target in chain:
        raise SourceFault(Reason.REDIRECT_LOOP, f"back to {target}"[: Fault.MAX_DETAIL])
    if len(chain) > limit:
        raise SourceFault(Reason.REDIRECT_LIMIT, f"over {limit} redirects")


def _origin(url: str) -> str:
    """Return scheme and authority: what one connection reaches."""
    return "/".join(url.split("/", 3)[:3])


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
