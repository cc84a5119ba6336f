"""A visit: the records of one host, asked for one after another."""

from __future__ import annotations

import logging
import time
from collections import deque
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rdfcrawl.errors import LASTING, MAY_PASS, CrawlGone, Fault, Reason, SourceFault
from rdfcrawl.fetch.answer import HttpResponse
from rdfcrawl.fetch.attempt import RecordAttempt
from rdfcrawl.fetch.failing import FAILING, FailingOrigins
from rdfcrawl.fetch.hops import RedirectJudge
from rdfcrawl.fetch.host_delay import HostDelay, InterruptibleSleep
from rdfcrawl.fetch.redirects import (
    REDIRECTS,
    ask_after,
    moved,
    request_after,
    resolve_redirect,
)
from rdfcrawl.fetch.retry_after import backoff_secs, parse_retry_after
from rdfcrawl.fetch.retry_policy import RetryDecision, judge_answer
from rdfcrawl.frontier.queued_requests import meta_of
from rdfcrawl.frontier.url_kind import kind_of_named
from rdfcrawl.records import MAX_RETRIES, Kind, now_ms
from rdfcrawl.request_turns import SoloTurns
from rdfcrawl.tasks.pages import RequestTask
from rdfcrawl.uri import host_of
from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rdfcrawl.fetch.answer import HttpClient, HttpRequest, RequestOptions
    from rdfcrawl.fetch.options import FetchOptions
    from rdfcrawl.fetch.spool import Spool
    from rdfcrawl.records import Document, Record, Visit
    from rdfcrawl.request_turns import SoloTurn

logger = logging.getLogger(__name__)


class VisitMaker:
    """Make the visits of a worker process.

    Args:
        key_of: politeness key of a URL; a redirect within a key is followed.
        prime: called with a URL before its key is asked for the first time.
        question: says how a record of a source is asked for.
        is_new: marks a redirect target as seen in the frontier, and says whether
            it had not been: one that had is somebody else's to fetch.
        hops: judges where redirects lead.

    Attributes:
        begin: called with a visit whose only record is a suspect (`Record.lost`),
            before it is asked for.
        sleepers: waits that `stop` ends.
        turns: gives requests their turns.
    """

    def __init__(
        self,
        exchange: HttpClient,
        spool: Spool,
        options: FetchOptions,
        *,
        key_of: Callable[[str], str],
        is_new: Callable[[str], Awaitable[bool]],
        prime: Callable[[str], Awaitable[None]] | None = None,
        question: Callable[[Record], Awaitable[HttpRequest | None]] | None = None,
        hops: RedirectJudge | None = None,
    ) -> None:
        self.exchange = exchange
        self.spool = spool
        self.options = options
        self.key_of = key_of
        self.is_new = is_new
        self.prime = prime
        self.question = question
        self.hops = hops or RedirectJudge()
        self.turns = SoloTurns()
        self.begin: Callable[[Visit], Awaitable[None]] | None = None
        self._asks = {kind: options.ask(kind) for kind in Kind}
        self.sleepers = InterruptibleSleep()

    async def ask(self, record: Record) -> tuple[str, RequestOptions]:
        """Return what to ask for first for a record, and how.

        Raises:
            SourceFault: `NOT_WANTED`, or that of its source.
            Exception: whatever its source raises.
        """
        if self.hops.refuses(record):
            raise SourceFault(Reason.NOT_WANTED, record.url[: Fault.MAX_DETAIL])
        ask = self._asks[record.kind]
        if isinstance(record.task, RequestTask):
            return record.url, _ask_of(ask, record.task)
        if self.question is None or not (record.kind.is_source or record.task):
            return record.url, ask
        question = await self.question(record)
        if question is None:
            return record.url, ask
        if host_of(question.url) != host_of(record.url):
            # The lease, the delay and the rules are those of the record's host.
            raise SourceFault(Reason.CROSS_SITE, question.url[: Fault.MAX_DETAIL])
        return question.url, replace(
            ask,
            accept=question.accept or ask.accept,
            headers=question.headers,
            data=question.data,
            kept_headers=question.kept_headers,
        )

    def with_limits(
        self, ask: RequestOptions, record: Record, target: str
    ) -> RequestOptions:
        """Return the options for a redirect's target, with the limits of that kind."""
        limits = self._asks[kind_of_named(record.kind, target)]
        return replace(
            ask,
            max_bytes=limits.max_bytes,
            timeout_secs=limits.timeout_secs,
            first_byte_secs=limits.first_byte_secs,
            goes_on=limits.goes_on,
        )

    @property
    def memory_bytes(self) -> int:
        """Bytes of bodies that are held in memory."""
        return self.spool.memory_bytes

    def release(self, document: Document) -> None:
        """Free the body of a document that the pipelines are done with."""
        self.spool.release(document.response)

    def spare(self, document: Document) -> None:
        """Keep what may be wanted again of a body that is not done with."""
        self.spool.spare(document.response)

    def stop(self) -> None:
        """Let open visits end after the request that is under way."""
        self.sleepers.stop()

    async def visit(self, visit: Visit) -> None:
        """Request `visit.pending`, and store the results in `visit`.

        Raises no fault. If it is cancelled, what was not done is in
        `visit.returned`.
        """
        course = _VisitRun(self, visit)
        try:
            await course.run()
        except CrawlGone:  # told by whoever stops the crawl
            pass
        except Exception:  # the edge: what was fetched before is not lost
            logger.exception("Unexpected error in the visit of %s", visit.key)
            course.blame()
        finally:
            course.settle()


class _VisitRun:
    """One visit under way."""

    def __init__(self, visitor: VisitMaker, visit: Visit) -> None:
        self._visitor = visitor
        self._options = visitor.options
        self._visit = visit
        self._pace = HostDelay(
            visitor.sleepers,
            delay_secs=visit.delay_secs,
            max_secs=visitor.options.visit_max_secs,
        )
        self._queue = deque(
            RecordAttempt(index, visit.records[index]) for index in visit.pending
        )
        self._answered: set[str] = set()  # origins
        self._failing = FailingOrigins(visit)
        self._dead: dict[str, list[Fault]] = {}  # origin -> why
        self._set_aside: list[RecordAttempt] = []
        self._busy: RecordAttempt | None = None
        self._busy_faults: list[Fault] = []
        self._retry_after_secs: float | None = None

    async def run(self) -> None:
        """Request record after record until none is left."""
        while self._queue and self._busy is None:
            attempt = self._queue[0]
            if attempt.record.lost and self._visitor.begin is not None:
                await self._visitor.begin(self._visit)
            asked = await self._asked(attempt)
            if asked is None:
                self._queue.popleft()
                continue
            verdict = await self._try(attempt, *asked)
            if verdict is None:
                return
            # No await from here on: an attempt is in one place at any time.
            self._queue.popleft()
            match verdict:
                case RetryDecision.DONE:  # as most
                    self._finish(attempt)
                case RetryDecision.RETRY if not attempt.dead_origin:
                    self._again(attempt)
                case RetryDecision.UNREACHABLE | RetryDecision.RETRY:
                    self._give_up_origin(attempt)
                case RetryDecision.THROTTLED:
                    self._busy = attempt
                case RetryDecision.BLOCKED:
                    self._finish(attempt)
                    self._finish_blocked(attempt)

    async def _asked(self, attempt: RecordAttempt) -> tuple[str, RequestOptions] | None:
        """Return what to ask for a record; None if its source cannot say.

        That is the fault of this record, and not of the others.
        """
        attempt.requested = []
        try:
            return await self._visitor.ask(attempt.record)
        except SourceFault as exc:
            attempt.best = attempt.best or attempt.document(HttpResponse(), [exc.fault])
            self._finish(attempt)
        except Exception:  # the edge: a source may fail with what a server made it say
            logger.exception("Nothing to ask for %s", attempt.record.url)
            fault = Fault(Reason.INTERNAL, "the source failed")
            attempt.best = attempt.best or attempt.document(HttpResponse(), [fault])
            self._set_aside.append(attempt)
        return None

    async def _try(
        self, attempt: RecordAttempt, url: str, ask: RequestOptions
    ) -> RetryDecision | None:
        """Ask for a record and follow it; None if the visit is over before."""
        visit = self._visit
        visit.step_at = time.monotonic()
        while not visit.is_lost:
            answer = await self._answer(attempt, url, ask)
            if answer.is_own_fault:
                visit.not_before_secs = max(visit.not_before_secs, answer.put_off_secs)
                return None
            origin = origin_of(url)
            verdict = judge_answer(
                answer,
                self._options,
                is_conditional=ask.is_conditional,
                is_of_range=ask.is_of_range,
            )
            target = None
            if verdict is RetryDecision.REDIRECT and not ask.follows:
                verdict = RetryDecision.DONE
            attempt.request = ask.request
            if verdict is RetryDecision.REDIRECT:
                self._answered.add(origin)
                target, verdict = await self._follow(attempt, url, answer)
            if verdict is RetryDecision.RETRY and ask.is_final:
                verdict = RetryDecision.DONE
            if target is None:
                self._note(attempt, answer, verdict, origin)
                return verdict
            ask = ask_after(ask, answer.status, url, target)
            ask = self._visitor.with_limits(ask, attempt.record, target)
            url = target
            if origin_of(url) in self._dead:
                attempt.dead_origin = origin_of(url)
                return RetryDecision.UNREACHABLE
        return None

    async def _answer(
        self, attempt: RecordAttempt, url: str, ask: RequestOptions
    ) -> HttpResponse:
        """Request a URL when it is the visit's turn."""
        visit, pace = self._visit, self._pace
        turn = None
        if await pace.turn(attempt.not_before):
            turn = await self._visitor.turns.of_visit(visit)
        if turn is None:
            return HttpResponse(is_own_fault=True)
        visit.step_at = time.monotonic()
        if not attempt.requested:
            attempt.started_ms = now_ms()
        attempt.requested.append(url)
        try:
            answer = await self._visitor.exchange.get(url, ask, turn)
        finally:
            turn.end()
            pace.sent(turn.sent_at)
        if answer.is_unasked or answer.is_anew:
            is_anew = answer.is_anew
            attempt.requested.pop()
            answer = await self._answer(attempt, url, ask)
            # Or what never fits would be begun anew for ever.
            answer.has_gone_on &= not is_anew
        return answer

    async def _turn_of_hop(self, url: str) -> SoloTurn | None:
        """Wait for the turn to ask for the robots.txt of a redirect's target."""
        if not await self._pace.turn():
            return None
        return await self._visitor.turns.of_url(url, visit=self._visit)

    async def _follow(
        self, attempt: RecordAttempt, url: str, answer: HttpResponse
    ) -> tuple[str | None, RetryDecision]:
        """Return the URL to ask next within this visit, if there is one."""
        record = attempt.record
        chain = (*record.chain, *attempt.requested)
        try:
            target = resolve_redirect(url, answer.location)
            _check_chain(target, chain, self._options.redirect_limit)
        except SourceFault as exc:
            answer.fault = exc.fault
            return None, RetryDecision.DONE
        answer.fault = self._visitor.hops.unwanted(record, target)
        if answer.fault is not None:
            return None, RetryDecision.DONE
        if self._visitor.prime is not None:
            await self._visitor.prime(target)
        if self._visitor.key_of(target) != self._visit.key:
            if attempt.request is not None:
                request = request_after(attempt.request, answer.status, url, target)
                record = replace(record, task=request)
            try:
                self._visit.outlinks.append(moved(record, attempt.requested, target))
            except SourceFault as exc:
                answer.fault = exc.fault
            return None, RetryDecision.DONE
        answer.fault = await self._refusal(attempt, target)
        if answer.fault is not None:
            return None, RetryDecision.DONE
        if origin_of(target) in self._dead or await self._claim(attempt, target):
            return target, RetryDecision.REDIRECT
        return None, RetryDecision.DONE

    async def _refusal(self, attempt: RecordAttempt, target: str) -> Fault | None:
        """Return why a target of this key must not be asked for.

        If its robots.txt cannot be had, its origin is one that cannot be reached.
        """
        origin = origin_of(target)
        if origin in self._dead:
            return None
        found = await self._visitor.hops.refusal(
            attempt.record,
            attempt.requested,
            target,
            pace=self._pace,
            visit=self._visit,
            take=self._turn_of_hop,
        )
        if not isinstance(found, list):
            return found
        if not (self._pace.is_over() or self._visit.is_lost):  # else it was not asked
            self._dead[origin] = found
        return None

    async def _claim(self, attempt: RecordAttempt, target: str) -> bool:
        """Return whether `target` is for this record to fetch."""
        record = attempt.record
        # What answers a source is not the page of that URL: nobody else fetches it.
        if target in attempt.claimed or not record.kind.is_of_url:
            return True
        self._visit.known.append(target)
        # Before it is asked: if the visit is cancelled meanwhile, it may be ours.
        attempt.claimed.add(target)
        is_new = await self._visitor.is_new(target)
        # A record that was lost or put back may itself have marked its target; of one
        # that has changed, the target was seen before that.
        if is_new or record.lost > 0 or record.retries > 0 or record.change:
            return True
        attempt.claimed.discard(target)
        return False

    def _note(
        self,
        attempt: RecordAttempt,
        answer: HttpResponse,
        verdict: RetryDecision,
        origin: str,
    ) -> None:
        """Keep the answer as a document, if it is the best one so far."""
        if answer.status:
            self._answered.add(origin)
        document = attempt.document(answer, [answer.fault] if answer.fault else [])
        best = attempt.best
        if best is not None:
            if best.response.n_bytes > document.response.n_bytes and document.faults:
                best, document = document, best
            self._visitor.release(best)
        attempt.best = document
        attempt.n_tried += not answer.has_gone_on
        attempt.has_gone_on = answer.has_gone_on
        self._note_trouble(attempt, answer, verdict, origin)

    def _note_trouble(
        self,
        attempt: RecordAttempt,
        answer: HttpResponse,
        verdict: RetryDecision,
        origin: str,
    ) -> None:
        faults = [answer.fault] if answer.fault else []
        self._failing.note(attempt, origin, answer.status)
        is_last_try = attempt.n_tried > self._options.retry_times
        if verdict is RetryDecision.UNREACHABLE or (
            verdict is RetryDecision.RETRY
            and self._failing.is_to_blame(attempt, origin, is_last_try=is_last_try)
        ):
            self._dead[origin] = faults
            attempt.dead_origin = origin
        elif verdict is RetryDecision.THROTTLED:
            self._busy_faults = faults
            self._retry_after_secs = parse_retry_after(
                answer.retry_after, datetime.now(UTC)
            )

    def _again(self, attempt: RecordAttempt) -> None:
        if attempt.n_tried > self._options.retry_times:
            self._finish(attempt)
            return
        wait_secs = self._backoff_secs(max(0, attempt.n_tried - 1))
        attempt.not_before = time.monotonic() + wait_secs
        self._queue.append(attempt)

    def _give_up_origin(self, attempt: RecordAttempt) -> None:
        """Set aside what else there is of an origin that cannot be reached.

        A politeness key may cover many origins (hosts of one registered domain):
        one dead name among them does not end the visit.
        """
        self._set_aside.append(attempt)
        for other in self._unqueue(attempt.dead_origin):
            other.dead_origin = other.origin
            self._set_aside.append(other)

    def _finish_blocked(self, attempt: RecordAttempt) -> None:
        """Finish what else there is of an origin that the guard refuses.

        It would refuse each of them, after the delay of the host.
        """
        if len(attempt.requested) > 1 or attempt.best is None:
            return  # it was led there
        for other in self._unqueue(origin_of(attempt.requested[0])):
            other.best = other.document(HttpResponse(), attempt.best.faults)
            self._finish(other)

    def _unqueue(self, origin: str) -> list[RecordAttempt]:
        """Take the attempts at an origin out of the queue."""
        taken = [each for each in self._queue if each.origin == origin]
        self._queue = deque(each for each in self._queue if each.origin != origin)
        return taken

    def blame(self) -> None:
        """Count an error of our own as a try of the record that was under way."""
        if not self._queue:
            return
        attempt = self._queue[0]
        fault = Fault(Reason.INTERNAL, "the visit failed")
        attempt.best = attempt.best or attempt.document(HttpResponse(), [fault])

    def _finish(self, attempt: RecordAttempt) -> None:
        if attempt.best is None:  # pragma: no cover
            raise AssertionError("finished without an answer")
        self._visit.documents.append(attempt.best)
        faults = attempt.best.faults
        if faults and any(fault.reason in MAY_PASS for fault in faults):
            self._visit.failed.append(attempt.index)

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
                attempt.best = attempt.best or self._unanswered(attempt)
                self._put_back(attempt)
        for attempt in self._queue:
            self._put_back(attempt)

    def _settle_refusal(self) -> None:
        """Leave the host alone: for a while, or for this batch for good."""
        visit = self._visit
        visit.host_refused = True
        has_tried = visit.failures >= self._options.retry_times
        is_borne = visit.is_borne and not self._is_lasting()
        is_last = has_tried and not is_borne
        own_secs = self._backoff_secs(0 if is_last else visit.failures)
        asked_secs = self._retry_after_secs
        if asked_secs is None:
            wait_secs = own_secs
        else:
            visit.retry_after_secs = min(asked_secs, self._options.retry_after_max_secs)
            wait_secs = visit.retry_after_secs
            if has_tried and not is_last:  # it has been wrong about itself
                wait_secs = max(wait_secs, own_secs)
        visit.not_before_secs = max(visit.not_before_secs, wait_secs)
        refused = [*self._set_aside, *([self._busy] if self._busy else [])]
        if is_last and self._busy is not None:
            refused += self._queue
            self._queue.clear()
        for attempt in refused:
            if is_last:
                attempt.best = attempt.best or self._unanswered(attempt)
                self._finish(attempt)
            else:
                self._put_back(attempt, counts=not is_borne)

    def _is_lasting(self) -> bool:
        """Return whether what keeps the host from answering will not pass."""
        faults = [fault for each in self._dead.values() for fault in each]
        if self._busy is not None:
            # So endpoints say that it was too much: they are asked for less.
            return self._busy.record.kind is Kind.SPARQL
        return all(each.reason in LASTING for each in faults)

    def _unanswered(self, attempt: RecordAttempt) -> Document:
        """Return the document of a record that shares the fault of another."""
        faults = self._dead.get(attempt.dead_origin, self._busy_faults)
        return attempt.document(HttpResponse(), faults)

    def _put_back(self, attempt: RecordAttempt, *, counts: bool = True) -> None:
        """Return a record to the queue, once more if it was tried and that counts."""
        record = attempt.record
        if attempt.best is not None and (attempt.has_gone_on or not counts):
            self._visitor.release(attempt.best)
            record = replace(record, retries=max(1, record.retries))
        elif attempt.best is not None:
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
        if attempt.best is not None and attempt.best.status in FAILING:
            self._visit.behind.add(attempt.index)

    def _backoff_secs(self, n_failures: int) -> float:
        return backoff_secs(
            n_failures,
            base_secs=self._options.backoff_base_secs,
            max_secs=self._options.backoff_max_secs,
        )


def _ask_of(ask: RequestOptions, request: RequestTask) -> RequestOptions:
    """Return how to ask for what a user's spider wants, as its `meta` says."""
    meta = meta_of(request)
    statuses = meta.get("handle_httpstatus_list") or ()
    wants_redirects = meta.get("handle_httpstatus_all") or any(
        status in REDIRECTS for status in statuses
    )
    return replace(
        ask,
        request=request,
        follows=not (meta.get("dont_redirect") or wants_redirects),
        is_final=bool(meta.get("dont_retry")),
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
