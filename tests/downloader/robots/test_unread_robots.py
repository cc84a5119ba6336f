"""robots.txt that is not requested, cannot be had, or comes from other workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.records import Kind, Record
from rdfcrawl.core.reservations import NOTHING
from rdfcrawl.downloader.robots.cache import RobotsCache, RobotsOptions
from rdfcrawl.downloader.robots.parser import read_records
from rdfcrawl.downloader.robots.policy import RobotsResponse, RobotsRules
from rdfcrawl.downloader.robots.storage import RobotsDeathStore, pack_rules
from rdfcrawl.frontier.queue.host_rules import KeptRules, OwnRules
from rdfcrawl.frontier.request_turns import FREE, SoloTurn, SoloTurns
from tests.downloader.robots.test_cache import check_invariant, visit_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from redis.asyncio import Redis

    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.request_turns import Take

ORIGIN = "http://h.example"
ROBOTS = f"{ORIGIN}/robots.txt"
RULES = RobotsResponse(status=200, body=b"User-agent: *\nDisallow: /no")
UNASKED = RobotsResponse(status=0, is_unsent=True)


def failed(reason: Reason) -> RobotsResponse:
    """Return the response of a request that a fault has ended."""
    return RobotsResponse(status=0, fault=Fault(reason))


@dataclass
class NotedFetch:
    """Answers requests; has the URLs, and the kinds of their turns."""

    answers: dict[str, RobotsResponse]
    asked: list[str] = field(default_factory=list)
    turns: list[tuple[str, str]] = field(default_factory=list)
    look: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, url: str, take: Take) -> RobotsResponse:
        """Answer a request for a URL."""
        self.asked.append(url)
        turn = await take(url)
        self.turns.append((url, turn.address if turn else "none"))
        if self.look:
            await self.look()
        return self.answers[url]


class NotedKeeper(OwnRules):
    """Knows rules of other workers, and notes how it is called."""

    def __init__(self, known: KeptRules | None = None) -> None:
        super().__init__(0.0)
        self._known = known
        self.noted: list[str] = []

    async def look(self, origin: str, *, is_hasty: bool = False) -> KeptRules:
        """Return the known rules."""
        self.noted.append("look hastily" if is_hasty else "look")
        return self._known or await super().look(origin, is_hasty=is_hasty)

    async def keep_rules(self, origin: str, rules: bytes, secs: float) -> None:
        """Take note."""
        del origin, rules, secs
        self.noted.append("good")

    async def note_failure(self, origin: str, status: int) -> KeptRules:
        """Take note."""
        self.noted.append("bad")
        return await super().note_failure(origin, status)

    async def end(self, origin: str) -> None:
        """Take note."""
        del origin
        self.noted.append("end")


class NamedTurns(SoloTurns):
    """Turns whose address records their purpose."""

    async def of_visit(
        self, visit: Visit, url: str, *, is_for_rules: bool = False
    ) -> SoloTurn | None:
        """Return the turn of a visit."""
        del visit, url
        turn = SoloTurn()
        turn.address = "visit, rules" if is_for_rules else "visit"
        return turn

    async def of_url(
        self, url: str, delay_secs: float = 0.0, *, visit: Visit | None = None
    ) -> SoloTurn | None:
        """Return a turn for any URL."""
        del url, delay_secs
        turn = SoloTurn()
        turn.address = "url, visit" if visit else "url"
        return turn


def opened(
    answer: RobotsResponse | dict[str, RobotsResponse],
    keeper: NotedKeeper | None = None,
    **more: Any,
) -> tuple[RobotsCache, NotedFetch]:
    """Return rules of an origin with such a response."""
    answers = {ROBOTS: answer} if isinstance(answer, RobotsResponse) else answer
    fetch = NotedFetch(answers)
    return RobotsCache(fetch, RobotsOptions(), keeper=keeper, **more), fetch


# Answer, last call of the keeper, and whether the host is to blame.
NOT_HAD = [
    (failed(Reason.GUARD_BLOCKED), "end", False),
    (failed(Reason.HOST_LEFT), "end", False),
    (failed(Reason.DNS_BLOCKED), "end", True),
    (failed(Reason.HOST_BUSY), "end", True),
    (failed(Reason.TIMEOUT), "bad", True),
    (RobotsResponse(status=503), "bad", True),
]


@pytest.mark.parametrize(
    ("answer", "last", "is_host"),
    NOT_HAD,
    ids=[x[0].fault.reason.value if x[0].fault else "503" for x in NOT_HAD],
)
async def test_refusals_of_our_own_are_none_of_the_host(
    answer: RobotsResponse, last: str, *, is_host: bool
) -> None:
    """If no request was sent, then another worker may send one."""
    keeper = NotedKeeper()
    cache, fetch = opened(answer, keeper)
    visit = visit_of(f"{ORIGIN}/a", f"{ORIGIN}/b")
    await cache.apply(visit)
    check_invariant(visit)
    assert fetch.asked == [ROBOTS]
    assert keeper.noted == ["look hastily", last]
    assert visit.host_refused is is_host
    assert set(visit.returned) == visit.unrequested == ({0, 1} if is_host else set())
    assert visit.failed == []
    given = {tuple(document.faults) for document in visit.documents}
    assert given == (set() if is_host else {(answer.fault,)})


# Responses for robots.txt and for the target of its redirect; then whether the host has
# responded, and whether nothing listens there.
_DEAD = RobotsResponse(
    status=0, fault=Fault(Reason.UNREACHABLE), is_connection_refused=True
)
LIVING = {
    "status": (RobotsResponse(status=503), None, (True, False)),
    "redirect": (
        RobotsResponse(status=301, location="http://other.example/r"),
        _DEAD,
        (True, False),
    ),
    "nothing": (_DEAD, None, (False, True)),
}


@pytest.mark.parametrize(
    ("answer", "target", "found"), LIVING.values(), ids=LIVING.keys()
)
async def test_failure_of_a_target_is_none_of_the_host(
    answer: RobotsResponse, target: RobotsResponse | None, found: tuple[bool, bool]
) -> None:
    """If robots.txt responds with an error or leads to a dead host, its host lives."""
    answers = {ROBOTS: answer}
    if target is not None:
        answers[answer.location] = target
    cache, _ = opened(answers, NotedKeeper())
    visit = visit_of(f"{ORIGIN}/a")
    await cache.apply(visit)
    check_invariant(visit)
    assert (visit.has_answered, visit.is_connection_refused) == found


async def test_visit_without_a_turn_is_given_back() -> None:
    """If a worker stops before it requests robots.txt, then nothing is lost."""
    for older in (None, KeptRules(True, rules=pack_rules(read_records(b"", "x")))):
        keeper, counts = NotedKeeper(older), list[str]()
        cache, _ = opened(UNASKED, keeper, count=counts.append)
        visit = visit_of(f"{ORIGIN}/a")
        await cache.apply(visit)
        check_invariant(visit)
        assert visit.returned
        assert visit.unrequested == {0}
        assert not visit.host_refused
        assert keeper.noted[-1] == "end"
        assert counts == ["robots/fetched"]


async def test_older_rules_hold_while_there_are_no_newer() -> None:
    """If robots.txt fails where others have read it, then their rules hold."""
    packed = pack_rules(read_records(RULES.body, "rdfcrawl"))
    counts = list[str]()
    keeper = NotedKeeper(KeptRules(True, rules=packed))
    cache, _ = opened(RobotsResponse(status=503), keeper, count=counts.append)
    visit = visit_of(f"{ORIGIN}/a", f"{ORIGIN}/no")
    await cache.apply(visit)
    assert visit.pending == [0]
    assert not visit.host_refused
    assert keeper.noted[-1] == "bad"
    assert counts == ["robots/fetched", "robots/stale"]


@pytest.mark.parametrize("secs", [0.0, 60.0])
async def test_origins_of_a_visit_are_asked_once(secs: float) -> None:
    """If records share an origin, then its rules hold for all that the visit has."""
    fetch = NotedFetch({ROBOTS: RULES})
    cache = RobotsCache(fetch, RobotsOptions(ttl_secs=secs))
    visit = visit_of(f"{ORIGIN}/a", f"{ORIGIN}/no", "x-own://h.example/no")
    await cache.apply(visit)
    assert visit.pending == [0, 2]
    assert fetch.asked == [ROBOTS]


async def test_turns_are_those_of_the_visit_on_its_own_host() -> None:
    """If robots.txt leads to another host, then it is requested in the turn of that."""
    other = "http://other.example/r"
    moved = RobotsResponse(status=301, location=other)
    keeper = NotedKeeper()
    cache, fetch = opened({ROBOTS: moved, other: RULES}, keeper, turns=NamedTurns())
    await cache.apply(visit_of(f"{ORIGIN}/a"))
    assert fetch.turns == [(ROBOTS, "visit, rules"), (other, "url, visit")]

    async def take(_: str) -> SoloTurn | None:
        return FREE

    for given, name in ((None, "url"), (take, "")):
        cache, fetch = opened(RULES, keeper, turns=NamedTurns())
        assert isinstance(await cache.rules(ORIGIN, take=given), RobotsRules)
        assert fetch.turns == [(ROBOTS, name)]
    assert keeper.noted == [*("look hastily", "good"), *["look", "good"] * 2]


@pytest.mark.parametrize(
    ("status", "is_followed"), [(299, 0), (300, 1), (399, 1), (400, 0), (404, 0)]
)
async def test_redirects_are_statuses_of_300(status: int, is_followed: int) -> None:
    """If robots.txt has a location, then it is followed from a status of redirects."""
    moved = RobotsResponse(status=status, location="/r", body=RULES.body)
    cache, fetch = opened({ROBOTS: moved, f"{ORIGIN}/r": RULES})
    assert isinstance(await cache.rules(ORIGIN), RobotsRules)
    assert fetch.asked == [ROBOTS, f"{ORIGIN}/r"][: 1 + is_followed]


async def test_refusal_of_a_target_names_both() -> None:
    """If the guard refuses the target of a redirect, then the fault names both."""
    blocked = failed(Reason.GUARD_BLOCKED)
    moved = RobotsResponse(status=302, location="http://in.example/")
    cache, _ = opened({ROBOTS: moved, "http://in.example/": blocked})
    found = await cache.rules(ORIGIN)
    assert isinstance(found, list)
    reasons = [Reason.ROBOTS_UNREACHABLE, Reason.GUARD_BLOCKED]
    assert [fault.reason for fault in found] == reasons


@pytest.mark.parametrize(
    ("fault", "failures", "ignores_failures", "is_over"),
    [
        (Reason.DNS, 2, True, True),  # it hardly passes
        (Reason.DNS, 1, True, False),
        (Reason.TIMEOUT, 2, True, False),
        (Reason.TIMEOUT, 2, False, True),
        (None, 2, True, False),
        (None, 99, False, True),
    ],
)
async def test_host_without_rules_is_given_up_in_the_end(
    fault: Reason | None, failures: int, *, ignores_failures: bool, is_over: bool
) -> None:
    """If a host gives no robots.txt, then its fault says how often it is tried."""
    cache, _ = opened(failed(fault) if fault else RobotsResponse(status=503))
    visit = visit_of(f"{ORIGIN}/a", failures=failures)
    visit.ignores_failures = ignores_failures
    await cache.apply(visit)
    assert visit.failed == ([0] if is_over else [])
    assert len(visit.documents) == is_over
    assert visit.not_before_secs == (0.0 if is_over else 60.0 * 2**failures)


@pytest.mark.parametrize(
    ("failures", "asked_secs", "secs"),
    [(9, None, 3600.0), (0, 86_400.0, 6 * 3600.0), (9, 7200.0, 7200.0)],
)
async def test_waits_are_bounded(
    failures: int, asked_secs: float | None, secs: float
) -> None:
    """If a host is busy for very long, then it is requested again within hours."""
    cache, _ = opened(RobotsResponse(status=503, retry_after_secs=asked_secs))
    visit = visit_of(f"{ORIGIN}/a", failures=failures)
    visit.ignores_failures = True
    await cache.apply(visit)
    assert visit.not_before_secs == secs


def test_own_limits() -> None:
    """If nothing is said, then rules hold for a day (RFC 9309 2.4), in 16 MiB."""
    options = RobotsOptions()
    assert options.ttl_secs == 86_400
    assert options.stale_secs == 3600
    assert (options.max_origins, options.max_bytes) == (20_000, 2**24)


async def test_exempt_source_still_keeps_the_delay() -> None:
    """If the operator exempts a source, then only from disallowed paths."""
    for delay, is_kept in (("60", True), ("61", False)):
        text = f"User-agent: *\nDisallow: /\nCrawl-delay: {delay}"
        answer = RobotsResponse(status=200, body=text.encode())
        cache, _ = opened(answer, is_exempt=lambda _: True)
        visit = visit_of(Record(f"{ORIGIN}/", Kind.SPARQL))
        await cache.apply(visit)
        assert visit.pending == [0] * is_kept


def test_redirects_of_exempt_sources() -> None:
    """If a source is exempt, then where it has moved; robots.txt moves for any."""
    site = f"{ORIGIN}/"
    source, page = Record(site, Kind.CKAN), Record(site, Kind.PAGE)
    target = "http://n.example/api/3"
    exempt, _ = opened(RULES, is_exempt=lambda _: True)
    other, _ = opened(RULES)
    assert exempt.is_exempt(source, f"{site}api/3", target)
    assert not other.is_exempt(source, f"{site}api/3", target)
    assert not exempt.is_exempt(source, f"{site}api/3", "http://n.example/private")
    assert not exempt.is_exempt(source, site, target)
    assert other.is_exempt(source, ROBOTS, "http://n.example/r")
    assert not other.is_exempt(page, ROBOTS, "http://n.example/r")


SIGNALS = b"User-agent: *\nContent-Signal: search=no\nDisallow: /no"


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("body", [SIGNALS, RULES.body], ids=["signals", "none"])
async def test_signals_are_known_from_others(body: bytes, *, is_kept: bool) -> None:
    """If a worker has read signals, then others know that there are some, and which."""
    packed = pack_rules(read_records(body, "rdfcrawl"))
    keeper = NotedKeeper(KeptRules(False, 60.0, 200, packed) if is_kept else None)
    cache, fetch = opened(RobotsResponse(status=200, body=body), keeper)
    assert cache.reserved(f"{ORIGIN}/a") is NOTHING
    for _ in range(2):
        await cache.apply(visit_of(f"{ORIGIN}/a"))
    assert keeper.noted == ["look hastily", *["good"] * (not is_kept)]
    assert fetch.asked == [ROBOTS] * (not is_kept)
    assert cache.has_reservations is (body is SIGNALS)
    said = cache.reserved(f"{ORIGIN}/a").signals
    assert said == (("search=no",) if body is SIGNALS else ())


async def test_damaged_rules_of_other_workers_are_not_used() -> None:
    """If rules of other workers are damaged, then robots.txt is requested."""
    keeper = NotedKeeper(KeptRules(False, 60.0, 200, b"{}"))
    cache, fetch = opened(RULES, keeper)
    visit = visit_of(f"{ORIGIN}/no")
    await cache.apply(visit)
    assert fetch.asked == [ROBOTS]
    assert visit.pending == []


@pytest.mark.parametrize("n_lost", [0, 1])
async def test_deaths_are_counted_for_suspects(redis: Redis, n_lost: int) -> None:
    """If a worker has died of a record, then its request for robots.txt is noted."""
    key, found = "deaths", list[dict[Any, Any]]()

    async def look() -> None:
        found.append(await redis.hgetall(key))

    class WatchingKeeper(NotedKeeper):
        async def keep_rules(self, origin: str, rules: bytes, secs: float) -> None:
            await look()  # it was read
            await super().keep_rules(origin, rules, secs)

    deaths, keeper = RobotsDeathStore(redis, key), WatchingKeeper()
    cache, fetch = opened(RULES, keeper, deaths=deaths)
    fetch.look = look
    visit = visit_of(Record(f"{ORIGIN}/a", lost=n_lost))
    await cache.apply(visit)
    await look()
    origin = ORIGIN.encode()
    noted = [{origin: b"1"}, {origin: b"8"}] if n_lost else [{}, {}]
    assert found == [*noted, {}]
    assert visit.pending == [0]
    assert keeper.noted == ["look hastily", "good"]


@pytest.mark.parametrize("n_lost", [0, 1])
async def test_deadly_robots_is_not_requested(redis: Redis, n_lost: int) -> None:
    """If three workers have died of a robots.txt, then its origin is left alone."""
    await redis.hset("deaths", ORIGIN, "24")
    cache, fetch = opened(RULES, deaths=RobotsDeathStore(redis, "deaths"))
    visit = visit_of(Record(f"{ORIGIN}/a", lost=n_lost))
    await cache.apply(visit)
    assert fetch.asked == []
    assert await redis.hgetall("deaths") == {ORIGIN.encode(): b"24"}
    (document,) = visit.documents
    reasons = [Reason.ROBOTS_UNREACHABLE, Reason.LEASES_LOST]
    assert [fault.reason for fault in document.faults] == reasons
