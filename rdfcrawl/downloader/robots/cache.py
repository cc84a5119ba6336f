"""robots.txt of every origin, fetched once a day, and applied to visits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.records import MAX_RETRIES, Record, refused
from rdfcrawl.core.reservations import NOTHING, PRODUCT_TOKEN, Reservations
from rdfcrawl.core.shared_tasks import SharedTasks, SizedMemory
from rdfcrawl.downloader.robots.parser import read_records
from rdfcrawl.downloader.robots.policy import (
    ALLOW_ALL,
    MAX_ROBOTS_REDIRECTS,
    RobotsAccess,
    RobotsResponse,
    RobotsRules,
    faults_of,
    is_not_sent,
    is_refused,
    is_unknown,
    judge,
    rules_of,
)
from rdfcrawl.downloader.robots.storage import (
    RobotsDeathStore,
    pack_rules,
    unpack_rules,
)
from rdfcrawl.frontier.queue.host_rules import KeptRules, OwnRules, RulesKeeper
from rdfcrawl.frontier.request_turns import SoloTurn, SoloTurns, Take
from rdfcrawl.uri import BadUri, host_of, is_of_web, requestable
from rdfcrawl.uri.hosts import origin_of

ROBOTS_PATH: Final = "/robots.txt"

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit

    Get = Callable[[str, Take], Awaitable[RobotsResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsOptions:
    """How robots.txt is cached and obeyed; times in seconds."""

    agent: str = PRODUCT_TOKEN  # product token of the crawler
    # lifetime of rules (RFC 9309 2.4: at most 24 hours)
    ttl_secs: float = 24 * 3600.0
    # extension of expired rules, each time that robots.txt is unreachable
    stale_secs: float = 3600.0
    max_origins: int = 20_000  # limit of origins; the least recently used are dropped
    max_bytes: int = 16 * 1024 * 1024  # limit on the total size of their rules
    obeys_delay: bool = True  # obey `Crawl-delay`
    # longest `Crawl-delay` that is obeyed; origins that request more are not crawled
    max_delay_secs: float = 60.0
    # first wait for a host without readable robots.txt; doubles with each failure
    put_off_secs: float = 60.0
    max_put_off_secs: float = 3600.0  # longest such wait
    max_retry_after_secs: float = 6 * 3600.0  # longest `Retry-After` that is obeyed
    retry_times: int = 2  # further visits to such a host


class RobotsCache:
    """The rules of origins (scheme, host and port), least recently used dropped first.

    Args:
        fetch: makes one request in its turn, without redirects or raised faults.
        count: called with the statistic of each file.
        is_exempt: returns whether the operator wants a record although it is
            disallowed.
        url_of: returns the URL requested for a record, if it differs from the record's.
        keeper: rules that other workers and earlier runs have fetched; None without a
            shared cache.

    Attributes:
        has_reservations: some origin has rules on the use of its documents.
    """

    def __init__(
        self,
        fetch: Get,
        options: RobotsOptions,
        *,
        turns: SoloTurns | None = None,
        is_exempt: Callable[[Record], bool] = lambda _: False,
        url_of: Callable[[Record], Awaitable[str]] | None = None,
        count: Callable[[str], None] = lambda _: None,
        deaths: RobotsDeathStore | None = None,
        keeper: RulesKeeper | None = None,
    ) -> None:
        self._fetch = fetch
        self._is_exempt = is_exempt
        self._url_of = url_of
        self._options = options
        self._turns = turns or SoloTurns()
        self._count = count
        self._deaths = deaths
        pauses = options.put_off_secs, options.max_put_off_secs
        self._keeper = keeper or OwnRules(*pauses)
        self.has_reservations = False
        self._known = SizedMemory[str, RobotsRules](
            options.max_origins, options.max_bytes
        )
        self._fetching = SharedTasks[RobotsRules | RobotsResponse]()

    async def apply(self, visit: Visit) -> float:
        """Remove from `visit.pending` the records that must not be requested.

        Disallowed records become documents with a fault. If robots.txt of an origin is
        unavailable, its records go back to the queue, or become documents after too
        many failures.

        Returns:
            `visit.delay_secs`, raised to `Crawl-delay`: the host's delay for the
            frontier.
        """
        unreachable: dict[str, RobotsResponse] = {}
        rules_of: dict[str, RobotsRules] = {}
        urls = await self._urls(visit)
        for url in urls.values():
            origin = origin_of(url)
            if origin in rules_of or origin in unreachable:
                continue
            take = self._turns_for(visit, origin)
            found = self._fresh(origin) or await self._fetch_unless_deadly(
                visit, origin, take
            )
            if not isinstance(found, RobotsRules) and found.is_unsent:
                visit.give_back()
                return visit.delay_secs
            if isinstance(found, RobotsRules):
                rules_of[origin] = found
                visit.has_answered |= is_of_web(origin)
                delay_secs = self.delay_of(found)
                if delay_secs <= self._options.max_delay_secs:
                    visit.keep_delay(delay_secs)
            else:
                unreachable[origin] = found
                # The target of a redirect may fail, or other URLs of the host respond.
                visit.has_answered |= bool(found.status or found.redirected_to)
        if unreachable:
            self._put_off(visit, unreachable, urls, is_mixed=bool(rules_of))
        if any(rules is not ALLOW_ALL for rules in rules_of.values()):
            self._remove_disallowed(visit, rules_of, urls)
        return visit.delay_secs

    async def rules(
        self, origin: str, *, take: Take | None = None
    ) -> RobotsRules | list[Fault]:
        """Return the rules of an origin, or the faults of fetching robots.txt.

        Args:
            origin: in the form of `origin_of`.
            take: waits for the turn of its host, if not the default.
        """
        take = take or self._turns.of_url
        found = self._fresh(origin) or await self._fetch_once(origin, take)
        return found if isinstance(found, RobotsRules) else faults_of(found)

    def refusal(self, rules: RobotsRules, url: str) -> Fault | None:
        """Return why the rules of an origin forbid a URL; None if allowed."""
        if self.delay_of(rules) > self._options.max_delay_secs:
            detail = f"Crawl-delay is {rules.delay_secs:g} s"
            return Fault(Reason.CRAWL_DELAY_TOO_LONG, detail)
        return None if rules.allows(url) else Fault(Reason.ROBOTS_DISALLOWED)

    def delay_of(self, rules: RobotsRules) -> float:
        """Return the `Crawl-delay` of an origin; 0 if there is none to obey."""
        return rules.delay_secs if self._options.obeys_delay else 0.0

    def is_exempt(self, record: Record, requested: str, target: str) -> bool:
        """Return whether a redirect is followed although robots.txt disallows it.

        For the record, `requested` redirects to `target`.
        """
        if record.kind.is_source and requested == origin_of(requested) + ROBOTS_PATH:
            return True  # RFC 9309 2.3.1.2: its redirects are followed
        # The operator exempts requests to this source, even if it has moved.
        rest = requested.removeprefix(record.url)
        return bool(rest) and target.endswith(rest) and self._is_exempt(record)

    async def close(self) -> None:
        """Cancel open requests."""
        await self._fetching.close()

    def _fresh(self, origin: str) -> RobotsRules | None:
        if not is_of_web(origin):
            return ALLOW_ALL  # this scheme has no robots.txt
        return self._known.fresh(origin)

    def _turns_for(self, visit: Visit, origin: str) -> Take:
        """Return the function that waits for turns to request robots.txt for a visit.

        A redirect may lead to a host that is not leased to the visit.
        """
        host = host_of(origin)

        async def take(url: str) -> SoloTurn | None:
            if host_of(url) == host:
                return await self._turns.of_visit(visit, url, is_for_rules=True)
            return await self._turns.of_url(url, visit=visit)

        return take

    async def _fetch_unless_deadly(
        self, visit: Visit, origin: str, take: Take
    ) -> RobotsRules | RobotsResponse:
        """Fetch the rules, unless they have killed too many workers."""
        deaths = self._deaths
        if deaths is None:
            return await self._fetch_once(origin, take, is_hasty=True)
        is_suspect = any(record.lost for record in visit.records)
        if is_suspect and not await deaths.is_deadly(origin):
            await deaths.begin(origin)
        if await deaths.is_deadly(origin):
            fault = Fault(Reason.LEASES_LOST, "its robots.txt has killed workers")
            return RobotsResponse(status=0, fault=fault)
        found = await self._fetch_once(origin, take, is_hasty=True)
        if is_suspect:
            await deaths.forget(origin)
        return found

    async def _fetch_once(
        self, origin: str, take: Take, *, is_hasty: bool = False
    ) -> RobotsRules | RobotsResponse:
        """Fetch the rules, once for all concurrent callers."""
        load = partial(self._load, origin, take, is_hasty=is_hasty)
        return await self._fetching.run(origin, load)

    async def _load(
        self, origin: str, take: Take, *, is_hasty: bool
    ) -> RobotsRules | RobotsResponse:
        """Return the rules in the shared cache, or fetch them for all workers."""
        kept = await self._keeper.look(self._name_of(origin), is_hasty=is_hasty)
        older = self._unpacked(kept)
        if kept.is_due or (older is None and kept.rules is not None):
            older = older or self._known.last(origin)
            self._count("robots/fetched")
            return await self._fetch_rules(origin, take, older)
        if older is None:
            return RobotsResponse(status=kept.status, retry_after_secs=kept.secs)
        self._count("robots/shared")
        self._known.keep(origin, older, kept.secs)
        return older

    async def _fetch_rules(
        self, origin: str, take: Take, older: RobotsRules | None
    ) -> RobotsRules | RobotsResponse:
        response = await self.follow(origin, take)
        access = judge(response.status)
        if access is RobotsAccess.UNREACHABLE:
            return await self._unreachable(origin, response, older)
        records = None
        if self._deaths is not None:
            await self._deaths.read(origin)
        if access is RobotsAccess.PARSE:
            records = read_records(response.body, self._options.agent)
        rules = ALLOW_ALL if records is None else rules_of(records)
        self.has_reservations |= rules.signals is not None
        ttl_secs = self._options.ttl_secs
        packed = pack_rules(records)
        await self._keeper.keep_rules(self._name_of(origin), packed, ttl_secs)
        self._known.keep(origin, rules, ttl_secs)
        return rules

    async def _unreachable(
        self, origin: str, response: RobotsResponse, older: RobotsRules | None
    ) -> RobotsRules | RobotsResponse:
        """Return older rules if there are any (RFC 9309 2.4), or else the response."""
        name, secs = self._name_of(origin), self._options.put_off_secs
        if response.is_unsent or is_unknown(response):
            await self._keeper.end(name)
        else:
            secs = (await self._keeper.note_failure(name, response.status)).secs
        if older is None or response.is_unsent:
            return response
        self._count("robots/stale")
        self._known.keep(origin, older, secs)
        return older

    def _name_of(self, origin: str) -> str:
        """Return the key of an origin in the shared cache, for our user agent."""
        agent = self._options.agent
        return origin if agent == PRODUCT_TOKEN else f"{origin} {agent.lower()}"

    def _unpacked(self, kept: KeptRules) -> RobotsRules | None:
        rules = None if kept.rules is None else unpack_rules(kept.rules)
        if rules is not None and rules.signals:
            self.has_reservations = True
        return rules

    def reserved(self, url: str) -> Reservations:
        """Return the signals for a URL in the robots.txt of its origin."""
        rules = self._known.last(origin_of(url))
        if rules is None or rules.signals is None:
            return NOTHING
        signals = rules.signals.of(url)
        return Reservations(signals=signals) if signals else NOTHING

    def sitemaps_of(self, origin: str) -> tuple[str, ...]:
        """Return the sitemaps that the last known robots.txt of an origin names."""
        rules = self._known.last(origin)
        return rules.sitemaps if rules is not None else ()

    async def follow(
        self, origin: str, take: Take, path: str = ROBOTS_PATH
    ) -> RobotsResponse:
        """Fetch robots.txt, or another file, through its redirects (2.3.1.2)."""
        url = origin + path
        for n in range(MAX_ROBOTS_REDIRECTS + 1):
            response = await self._fetch(url, take)
            if n == 0 and is_not_sent(response):
                return replace(response, is_blocked=True)
            if n:
                response = replace(response, redirected_to=url)
            if not (300 <= response.status < 400 and response.location):
                return response
            try:
                url = requestable(response.location, url)
            except BadUri:
                return response
        return response

    async def _urls(self, visit: Visit) -> dict[int, str]:
        """Return the URLs to request, by index of the record."""
        return {
            index: await self._url_of(record)
            if record.kind.is_source and self._url_of
            else record.url
            for index in visit.pending
            for record in (visit.records[index],)
        }

    def _remove_disallowed(
        self, visit: Visit, rules_of: dict[str, RobotsRules], urls: dict[int, str]
    ) -> None:
        """Turn disallowed records into documents with a fault."""
        left = []
        for index in visit.pending:
            record = visit.records[index]
            url = urls[index]
            fault = self.refusal(rules_of[origin_of(url)], url)
            is_forbidden = fault and fault.reason is Reason.ROBOTS_DISALLOWED
            if fault is None or (is_forbidden and self._is_exempt(record)):
                left.append(index)
            else:
                visit.documents.append(refused(record, [fault]))
        visit.pending[:] = left

    def _put_off(
        self,
        visit: Visit,
        unreachable: dict[str, RobotsResponse],
        urls: dict[int, str],
        *,
        is_mixed: bool,
    ) -> None:
        """Remove the records of origins with unknown rules.

        If other origins of the key respond (`is_mixed`), the host itself does not
        refuse, and each record counts its own tries.
        """
        left = []
        visit.is_connection_refused |= any(
            each.is_connection_refused and not each.redirected_to
            for each in unreachable.values()
        )
        is_over = self._is_over(visit, unreachable.values())
        for index in visit.pending:
            record = visit.records[index]
            response = unreachable.get(origin_of(urls[index]))
            if response is None:
                left.append(index)
            elif is_refused(response) or (
                record.retries >= MAX_RETRIES if is_mixed else is_over
            ):
                visit.documents.append(refused(record, faults_of(response)))
                if not is_refused(response):
                    visit.give_up(index, faults_of(response))
            else:
                retries = record.retries + is_mixed
                faults = faults_of(response)
                visit.returned[index] = record.requeued(faults, retries=retries)
                visit.unrequested.add(index)
        visit.pending[:] = left
        if not is_mixed and not all(map(is_refused, unreachable.values())):
            visit.host_refused = True
            wait_secs = self._wait_secs(visit, unreachable)
            visit.retry_after_secs = self._requested_secs(unreachable)
            visit.not_before_secs = max(visit.not_before_secs, wait_secs)

    def _is_over(self, visit: Visit, responses: Iterable[RobotsResponse]) -> bool:
        """Return whether a host has used up its tries."""
        faults = [each.fault for each in responses]
        lasting = visit.lasting_reasons
        is_lasting = all(fault and fault.reason in lasting for fault in faults)
        has_tried = visit.failures >= self._options.retry_times
        return has_tried and (is_lasting or not visit.ignores_failures)

    def _wait_secs(self, visit: Visit, unreachable: dict[str, RobotsResponse]) -> float:
        options = self._options
        if self._is_over(visit, unreachable.values()):
            own = 0.0  # the batch was given up, and the next one may succeed
        else:
            own = options.put_off_secs * 2.0 ** min(visit.failures, 60)
        return max(
            min(own, options.max_put_off_secs), self._requested_secs(unreachable)
        )

    def _requested_secs(self, unreachable: dict[str, RobotsResponse]) -> float:
        """Return the wait that the host itself requests."""
        asked_for = (each.retry_after_secs or 0.0 for each in unreachable.values())
        return min(max(asked_for), self._options.max_retry_after_secs)
