"""A visit: request the records of one host, one after another."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from errno import ECONNREFUSED
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import CrawlGone, Fault, Reason, SourceFault, one_line
from rdfcrawl.core.records import Kind
from rdfcrawl.core.times import now_ms, parse_retry_after
from rdfcrawl.downloader.client import (
    HttpResponse,
    RequestOptions,
)
from rdfcrawl.downloader.host_delay import HostDelay, next_delay
from rdfcrawl.downloader.redirects import (
    SEE_OTHER,
    check_chain,
    options_of_second,
    refresh_target,
    resolve_redirect,
)
from rdfcrawl.downloader.retry_policy import (
    HostEvidence,
    RecordAttempt,
    RetryDecision,
    UrlRefusal,
    has_failed,
    judge_response,
    queue_target,
)
from rdfcrawl.downloader.visit_records import VisitRecords
from rdfcrawl.downloader.visit_services import VisitServices
from rdfcrawl.frontier.request_turns import SoloTurn
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit

logger = logging.getLogger(__name__)

_WAIT_SECS = 10.0  # longest `Retry-After` of one URL for which a visit waits


@dataclass(slots=True, eq=False)
class VisitMaker(VisitServices):
    """Make the visits of a worker process."""

    def stop(self) -> None:
        """End open visits after their present request."""
        self.sleepers.stop()

    async def visit(self, visit: Visit) -> None:
        """Request `visit.pending`, and store the results in `visit`.

        Raises no fault. After a cancellation, `visit.returned` has the remaining
        records.
        """
        run = _VisitRun(self, visit)
        try:
            await run.run()
        except CrawlGone:  # reported by the code that stops the crawl
            pass
        except Exception:  # the edge: keep earlier results
            logger.exception("Unexpected error in the visit of %s", visit.key)
            run.records.blame()
        finally:
            visit.refused = run.evidence.suspected
            run.records.settle(run.pace.rest_secs())
            if not (run.pace.is_used or visit.rules_at or visit.returned):
                visit.is_unrequested = True  # each record was refused
            if not (run.pace.is_used or visit.is_answering):
                visit.is_postponed = True  # no request: the host is as before


class _VisitRun:
    def __init__(self, services: VisitServices, visit: Visit) -> None:
        self._services = services
        self._options = services.options
        self._visit = visit
        max_secs = services.options.visit_max_secs
        if visit.open_until:
            max_secs = min(max_secs, visit.open_until - time.monotonic())
        self.pace = HostDelay(
            services.sleepers, delay_secs=visit.delay_secs, max_secs=max_secs
        )
        self.records = VisitRecords(
            visit=visit, options=services.options, spool=services.spool
        )
        self.evidence = HostEvidence(visit)
        if visit.suspected:
            self.records.move_to_end(visit.suspected)
        if visit.floor_secs is None:
            visit.floor_secs = visit.delay_secs

    async def run(self) -> None:
        """Request record after record until none is left."""
        records = self.records
        while records.queue:
            attempt = records.queue[0]
            if attempt.record.lost and self._services.begin is not None:
                await self._services.begin(self._visit)
            attempt.requested, attempt.cookies = [], None
            plain = self._services.plain_request(attempt.record)
            first = plain or await self._first_request(attempt)
            if first is None:
                records.queue.popleft()
                continue
            verdict = await self._try(attempt, *first)
            if verdict is None:
                return
            # No await from here on: an attempt is always in one place.
            records.queue.popleft()
            match verdict:
                case RetryDecision.DONE:
                    records.finish(attempt)
                case RetryDecision.RETRY if not attempt.dead_origin:
                    records.retry(attempt)
                case RetryDecision.UNREACHABLE | RetryDecision.RETRY:
                    records.give_up_origin(attempt)
                case RetryDecision.REFUSED | RetryDecision.DEFERRED:
                    records.defer(attempt)
                case RetryDecision.BLOCKED:
                    records.finish_blocked(attempt)

    async def _first_request(
        self, attempt: RecordAttempt
    ) -> tuple[str, RequestOptions] | None:
        """Return the first URL and options for a record; None if its source fails.

        That fault concerns only this record.
        """
        try:
            return await self._services.first_request(attempt.record)
        except SourceFault as exc:
            attempt.best = attempt.best or attempt.document(HttpResponse(), [exc.fault])
            self.records.finish(attempt)
        except Exception as exc:  # the edge: response data may make a source fail
            logger.exception("No request for %s", attempt.record.url)
            part = attempt.record.kind.name.lower()
            fault = Fault(Reason.INTERNAL, one_line(repr(exc)), part=part)
            attempt.best = attempt.best or attempt.document(HttpResponse(), [fault])
            self.records.set_aside.append(attempt)
        return None

    async def _try(
        self, attempt: RecordAttempt, url: str, options: RequestOptions
    ) -> RetryDecision | None:
        """Request a record and follow redirects; None if the visit ends first."""
        visit = self._visit
        visit.step_at = time.monotonic()
        while not visit.is_lost:
            response = await self._response(attempt, url, options)
            if response.is_local_failure:
                visit.not_before_secs = max(
                    visit.not_before_secs, response.put_off_secs
                )
                return None
            target, verdict = await self._next_step(attempt, url, options, response)
            if target is None:
                return self._note(attempt, response, verdict, origin_of(url))
            options = options_of_second(
                attempt.cookies, options, response.status, url, target
            )
            options = self._services.with_limits(options, attempt.record, target)
            url = target
            if origin_of(url) in self.records.dead:
                attempt.dead_origin = origin_of(url)
                return RetryDecision.UNREACHABLE
        return None

    async def _next_step(
        self,
        attempt: RecordAttempt,
        url: str,
        options: RequestOptions,
        response: HttpResponse,
    ) -> tuple[str | None, RetryDecision]:
        """Return the next URL within this visit, if any, and the next step."""
        verdict = judge_response(response, self._options, options)
        attempt.request = options.request
        if verdict is RetryDecision.REDIRECT and not options.follows:
            return None, RetryDecision.DONE
        if verdict is RetryDecision.REDIRECT and response.retry_after:
            verdict = await self._wait_as_requested(attempt, response)
        if verdict is RetryDecision.REDIRECT:
            target, verdict = await self._follow(attempt, url, response)
        elif verdict is RetryDecision.DONE and attempt.record.kind is Kind.PAGE:
            response.location = refresh_target(url, response)
            if not response.location or response.fault is not None:
                return None, verdict
            target = await self._refresh(attempt, url, response)
        else:
            is_final = verdict is RetryDecision.RETRY and options.is_final
            return None, RetryDecision.DONE if is_final else verdict
        # A redirect within an origin is a success of its host.
        if target is not None and (origin := origin_of(url)) == origin_of(target):
            self.records.responding.add(origin)
            self.evidence.note_status(attempt, origin, response.status)
        return target, verdict

    async def _response(
        self, attempt: RecordAttempt, url: str, options: RequestOptions
    ) -> HttpResponse:
        """Request a URL in the visit's turn."""
        if (known := self._known_robots(attempt, url)) is not None:
            return known
        visit, pace = self._visit, self.pace
        turn = None
        if pace.take(attempt.not_before) or await pace.turn(attempt.not_before):
            turn = await self._services.turns.of_visit(visit, url)
        if turn is None:
            return HttpResponse(is_local_failure=True)
        visit.step_at = time.monotonic()
        if not attempt.requested:
            attempt.started_ms = now_ms()
        attempt.requested.append(url)
        try:
            response = await self._services.exchange.get(url, options, turn)
        finally:
            turn.end()
            pace.note_sent(turn.sent_at)
        if visit.delay_secs > 0:
            self._set_pace(response, turn)
        if response.status in self._options.busy_codes:
            secs = parse_retry_after(response.retry_after) or 0.0
            if 0.0 < secs <= _WAIT_SECS:  # the refusal does not end the visit
                self.pace.rest(secs)
                turn.rest(secs)
        if response.is_unsent or response.has_restarted:
            has_restarted = response.has_restarted
            attempt.requested.pop()
            response = await self._response(attempt, url, options)
            # Otherwise, a body that never fits would be requested for ever.
            response.has_progressed &= not has_restarted
        return response

    def _set_pace(self, response: HttpResponse, turn: SoloTurn) -> None:
        """Adapt the delay to the time or the failure of a response."""
        if response.is_local_failure or response.is_unsent:
            return
        visit, before = self._visit, self._visit.delay_secs
        # A long body takes long without the server being slow.
        took_secs = time.monotonic() - (turn.sent_at or visit.step_at)
        visit.delay_secs = next_delay(
            before,
            least_secs=visit.floor_secs or 0.0,
            response_secs=took_secs if response.path is None else 0.0,
            has_failed=has_failed(response),
            options=self._options.pace,
        )
        if visit.delay_secs != before:
            self.pace.change(visit.delay_secs)
        if visit.delay_secs > before:
            turn.rest(visit.delay_secs)

    def _known_robots(self, attempt: RecordAttempt, url: str) -> HttpResponse | None:
        """Return the robots.txt for a source if its rules were just read."""
        robots_txt = self._services.robots_txt
        if robots_txt is None or attempt.record.kind is not Kind.SITEMAP:
            return None
        known = None if attempt.requested else robots_txt.take(url)
        if known is not None:
            attempt.started_ms = known.started_ms
            attempt.requested.append(url)
        return known

    async def _turn_of_hop(self, url: str) -> SoloTurn | None:
        """Wait for a turn to request the robots.txt of a redirect's target."""
        if not await self.pace.turn():
            return None
        return await self._services.turns.of_url(url, visit=self._visit)

    async def _follow(
        self, attempt: RecordAttempt, url: str, response: HttpResponse
    ) -> tuple[str | None, RetryDecision]:
        """Return the next URL within this visit, if any."""
        record, limit = attempt.record, self._options.redirect_limit
        chain = (*record.chain, *attempt.requested)
        attempt.note_cookies(url, response)
        try:
            target = resolve_redirect(url, response.location)
            returns = attempt.may_return_to(target)
            check_chain(target, chain, limit, may_return=returns)
            response.redirects_to = target
        except SourceFault as exc:
            response.fault = exc.fault
            return None, RetryDecision.DONE
        response.fault = self._services.hops.unwanted(record, target)
        if response.fault is not None:
            return None, RetryDecision.DONE
        if self._services.prime is not None:
            await self._services.prime(target)
        is_counted = self._visit.is_scheduled and not (record.kind.is_source or returns)
        if is_counted or self._services.key_of(target) != self._visit.key:
            response.fault = queue_target(
                self._visit, attempt, (url, target), response.status
            )
            return None, RetryDecision.DONE
        response.fault = await self._refusal(attempt, target)
        if response.fault is not None:
            return None, RetryDecision.DONE
        if origin_of(target) in self.records.dead or await self._claim(attempt, target):
            return target, RetryDecision.REDIRECT
        return None, RetryDecision.DONE

    async def _refresh(
        self, attempt: RecordAttempt, url: str, response: HttpResponse
    ) -> str | None:
        """Follow a page that redirects; if that fails, the page is the document."""
        target, _ = await self._follow(attempt, url, response)
        if response.fault is not None:
            response.fault, response.location = None, ""
            return None
        self._services.spool.release(response)
        response.status, response.n_bytes = SEE_OTHER, 0
        return target

    async def _wait_as_requested(
        self, attempt: RecordAttempt, response: HttpResponse
    ) -> RetryDecision:
        """Wait as long as `Retry-After` of a redirect requests (RFC 9110 10.2.3).

        If that exceeds the visit's limit, the record is put back for this time. A
        record that has waited once is redirected without another wait.
        """
        secs = parse_retry_after(response.retry_after) or 0.0
        secs = min(secs, self._options.retry_after_max_secs)
        if secs > _WAIT_SECS and not attempt.record.retries:
            response.fault = Fault(Reason.HOST_BUSY, f"status {response.status}")
            attempt.refusal = UrlRefusal(secs)
            return RetryDecision.DEFERRED
        await self._services.sleepers.sleep(min(secs, _WAIT_SECS))
        self._visit.step_at = time.monotonic()
        return RetryDecision.REDIRECT

    async def _refusal(self, attempt: RecordAttempt, target: str) -> Fault | None:
        """Return why a target of this key must not be requested.

        If its robots.txt is unavailable, its origin counts as unreachable.
        """
        origin = origin_of(target)
        if origin in self.records.dead:
            return None
        found = await self._services.hops.refusal(
            attempt.record,
            attempt.requested,
            target,
            pace=self.pace,
            visit=self._visit,
            take=self._turn_of_hop,
        )
        if not isinstance(found, list):
            return found
        # otherwise it was not requested
        if not (self.pace.is_over() or self._visit.is_lost):
            self.records.dead[origin] = found
        return None

    async def _claim(self, attempt: RecordAttempt, target: str) -> bool:
        """Return whether this record may fetch `target`."""
        record = attempt.record
        # A source's response is not the page of that URL: the claims do not collide.
        is_own = target in attempt.claimed or target in attempt.requested
        if is_own or not record.kind.is_of_url:
            return True
        self._visit.known.append(target)
        # Before the request: after a cancellation, the claim remains known.
        attempt.claimed.add(target)
        is_new = await self._services.is_new(target)
        # A record that was lost or put back may itself have marked its target; for one
        # that has changed, the target was seen before.
        if is_new or record.lost > 0 or record.retries > 0 or record.change:
            return True
        attempt.claimed.discard(target)
        return False

    def _note(
        self,
        attempt: RecordAttempt,
        response: HttpResponse,
        verdict: RetryDecision,
        origin: str,
    ) -> RetryDecision:
        """Keep the best response so far; return the next step."""
        if response.status:
            self.records.responding.add(origin)
            self._visit.is_answering = self._visit.has_answered = True
        elif response.errno == ECONNREFUSED and origin.startswith("http"):
            # FTP also has this status for data connections
            self._visit.is_connection_refused = True
        faults = [response.fault] if response.fault else []
        document = attempt.document(response, faults)
        best = attempt.best
        if best is not None:
            if best.response.n_bytes > document.response.n_bytes and document.faults:
                best, document = document, best
            self._services.spool.release(best.response)
        attempt.best = document
        attempt.n_tried += not response.has_progressed
        attempt.has_progressed = response.has_progressed
        is_last_try = attempt.n_tried > self._options.retry_times
        verdict = self.evidence.judge(
            attempt, response, verdict, origin, is_last_try=is_last_try
        )
        if verdict is RetryDecision.UNREACHABLE:
            attempt.dead_origin = origin
            self.records.dead[origin] = faults
            if attempt.refusal is not None:
                self.records.refusing.add(origin)
                self.records.retry_after_secs = attempt.refusal.requested_secs
        return verdict
