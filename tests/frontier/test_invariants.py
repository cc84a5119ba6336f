"""Random operations and deaths of several workers lose and double no URI."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rdfcrawl.core.records import CrawlBudget
from rdfcrawl.frontier.redis.embedded import program_version
from rdfcrawl.frontier.redis.operations import LuaScripts
from rdfcrawl.uri import registered_domain
from tests.support.frontier_state import (
    candidates,
    check_frontier,
    expire_leases,
    new_ingest,
)
from tests.support.redis_fixtures import frontier_on

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import TypeVar

    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.redis_fixtures import RedisServer

    T = TypeVar("T")

pytestmark = pytest.mark.every_server

_CROWD = tuple(f"h{i}.crowd.test" for i in range(20))
_KEYS = ("a.example", "b.example", "c.test", "[::1]", *_CROWD)
_urls = st.builds("https://{}/{}".format, st.sampled_from(_KEYS), st.integers(0, 40))
_BUDGET = CrawlBudget(of_host=8, hosts=19, of_domain=60)
_MOST_HERE = 7
_BATCH = 3


def _key(url: str) -> str:
    return url.split("/")[2]


class _DeadError(Exception):
    """The worker was killed."""


class _Mortal(LuaScripts):
    """Operations of a worker that dies after so many round trips, if that is set."""

    left: float = math.inf

    async def run(self, *args: Any) -> list[object]:
        if not self.left:
            raise _DeadError
        self.left -= 1
        return await super().run(*args)


class Crawl(RuleBasedStateMachine):
    """A crawl with three partitions; the model has the possible views of its workers.

    A domain has seven hosts in its own partition, and others are away.

    A visit is `held` from claim to release and `open` from release to ack. A worker
    that was cut off keeps both, without knowing that its leases have run out.
    """

    server: RedisServer

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.redis = self.server.client()
        self.frontier, self.other = self.join(), self.join()
        self.run(self.redis.flushall())
        self.run(self.frontier.open())
        self.run(self.other.open())
        self.away: set[str] = set()
        self.kept_here: set[str] = set()
        self.accepted: set[str] = set()
        self.over: set[str] = set()
        self.known: set[str] = set()
        self.done: set[str] = set()
        self.held: list[Visit] = []
        self.open: list[Visit] = []
        self.lost: set[Visit] = set()

    def join(self, scripts: type[LuaScripts] = LuaScripts) -> Frontier:
        """Return the frontier of one more worker, which knows nothing yet."""
        return frontier_on(
            self.redis,
            program_version(self.server.program) or (),
            scripts=scripts,
            partitions=3,
            batch=_BATCH,
            budget=_BUDGET,
            domain_hosts=_MOST_HERE,
        )

    def run(self, work: Awaitable[T]) -> T:
        """Wait for an operation."""

        async def wait() -> T:
            return await work

        return self.loop.run_until_complete(wait())

    def teardown(self) -> None:
        """Close the client."""
        self.run(self.redis.aclose())
        self.loop.close()

    # -- what workers do ---------------------------------------------------------

    @initialize(n_hosts=st.sampled_from([0, 5, 12, 17]))
    def begin(self, n_hosts: int) -> None:
        """Have a domain of some hosts, or of very many, to begin with."""
        self.add(urls=[f"https://{key}/0" for key in _CROWD[:n_hosts]], is_other=False)

    @rule(urls=st.lists(_urls, max_size=12), is_other=st.booleans())
    def add(self, urls: list[str], is_other: bool) -> None:
        """Offer links; those that are new and within the budget are accepted."""
        frontier = self.other if is_other else self.frontier
        old = [url for url in urls if url in self.over]
        fresh, refused = self.expect(urls, set(frontier.locations.away))
        added = self.run(frontier.add(candidates(frontier, urls)))
        assert added.new == fresh
        n_over = added.over_host + added.over_domain
        assert added.seen == len(urls) - fresh - n_over
        # URIs that are away and over one budget are reported again for the other.
        n_again = sum(_key(url) in self.away for url in old)
        assert refused <= n_over <= refused + n_again

    @rule(urls=st.lists(_urls, max_size=12), n_runs=st.integers(0, 4))
    def add_and_die(self, urls: list[str], n_runs: int) -> None:
        """Offer links, and die amid it; another worker, who knows nothing, goes on."""
        self.expect(urls, set())
        dying = self.join(_Mortal)
        self.run(dying.open())
        assert isinstance(dying.scripts, _Mortal)
        dying.scripts.left = n_runs
        with suppress(_DeadError):
            self.run(dying.add(candidates(dying, urls)))
        heir = self.join()
        self.run(heir.open())
        self.run(heir.add(candidates(heir, urls)))

    def expect(self, urls: list[str], known_away: set[str]) -> tuple[int, int]:
        """Apply an operation to the model.

        Args:
            urls: offered.
            known_away: keys that are not looked for in the partition of their domain.

        Returns:
            How many are accepted, and how many are refused for the first time.
        """
        # The order of a call is that of its keys, as they come first; away ones
        # comes after all else.
        by_key: dict[str, list[str]] = {}
        for url in urls:
            by_key.setdefault(_key(url), []).append(url)
        later = [key for key in by_key if key in known_away]
        n_fresh = n_refused = 0
        for key in [key for key in by_key if key not in known_away]:
            if self._goes(key):
                later.append(key)
            else:
                fresh, refused = self._expect_of(by_key[key])
                n_fresh, n_refused = n_fresh + fresh, n_refused + refused
        for key in later:
            fresh, refused = self._expect_of(by_key[key])
            n_fresh, n_refused = n_fresh + fresh, n_refused + refused
        return n_fresh, n_refused

    def _expect_of(self, urls: list[str]) -> tuple[int, int]:
        fresh = refused = 0
        for url in urls:
            if url in self.accepted | self.known:
                continue
            if self._is_over(url):
                refused += url not in self.over
                self.over.add(url)
            else:
                self.accepted.add(url)
                fresh += 1
        return fresh, refused

    def _goes(self, key: str) -> bool:
        """Whether a key is away, or goes away now."""
        if key in self.away:
            return True
        domain = registered_domain(key)
        of_domain = [u for u in self.accepted if registered_domain(_key(u)) == domain]
        hosts = self._hosts(domain)
        if key == domain or key in hosts | self.kept_here:
            return False
        if not _MOST_HERE <= len(hosts) < _BUDGET.hosts:
            return False
        if len(of_domain) >= _BUDGET.of_domain:
            return False
        self.away.add(key)
        return True

    def _hosts(self, domain: str) -> set[str]:
        """Return the hosts that are counted for a domain."""
        hosts = {_key(url) for url in self.accepted} | self.away
        return {key for key in hosts if registered_domain(key) == domain}

    def _is_over(self, url: str) -> bool:
        """Whether a new URL is over a budget."""
        key, domain = _key(url), registered_domain(_key(url))
        of_key = [u for u in self.accepted if _key(u) == key]
        of_domain = [u for u in self.accepted if registered_domain(_key(u)) == domain]
        return (
            len(of_key) >= _BUDGET.of_host
            or len(self._hosts(domain) | {key}) > _BUDGET.hosts
            or len(of_domain) >= _BUDGET.of_domain
        )

    @rule(path=st.integers(0, 40))
    def add_crowd(self, path: int) -> None:
        """Offer a link to each host of a domain that has very many."""
        urls = [f"https://{key}/{path}" for key in _CROWD]
        self.add(urls=urls, is_other=False)

    @rule(url=_urls)
    def mark(self, url: str) -> None:
        """Mark a URI as seen only."""
        candidate = new_ingest(self.frontier).seen_only(url)
        added = self.run(self.frontier.add([candidate]))
        assert added.new == (url not in self.accepted | self.known)
        if added.new:
            self.known.add(url)
            if _key(url) not in {_key(u) for u in self.accepted} | self.away:
                self.kept_here.add(_key(url))

    @rule(most_keys=st.integers(1, 3))
    def claim(self, most_keys: int) -> None:
        """Lease hosts: never one leased to another worker."""
        visits, _ = self.run(self.frontier.claim([0, 1, 2], most_keys=most_keys))
        locked = {v.key for v in self.held if v not in self.lost}
        assert not locked & {v.key for v in visits}
        for visit in visits:
            assert len({v.key for v in visits}) == len(visits)
            suspects = [r for r in visit.records if r.lost]
            assert not suspects or len(visit.records) == 1
            assert not {r.url for r in visit.records} & self.done
        self.held += visits

    @precondition(lambda self: any(len(v.records) < _BATCH for v in self.held))
    @rule(data=st.data())
    def extend(self, data: st.DataObject) -> None:
        """Go on with a visit that has room, perhaps telling it twice."""
        some = [visit for visit in self.held if len(visit.records) < _BATCH]
        visit = data.draw(st.sampled_from(some))
        before, again = visit.records, replace(visit, pending=[])
        for each in [visit, again][: data.draw(st.integers(1, 2))]:
            found = self.run(self.frontier.extend([each]))
            assert not (found and visit in self.lost)
            assert each.records == visit.records
        added = visit.records[len(before) :]
        assert {_key(record.url) for record in added} <= {visit.key}
        assert not any(record.lost for record in added)
        assert not {record.url for record in added} & self.done

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        """End a visit, with some of its records put back, perhaps telling it twice."""
        visit = data.draw(st.sampled_from(self.held))
        for index, record in enumerate(visit.records):
            if data.draw(st.booleans()):
                retries = min(3, record.retries + data.draw(st.integers(0, 1)))
                visit.returned[index] = replace(record, retries=retries)
                if data.draw(st.booleans()):
                    visit.behind.add(index)
        visit.host_refused = data.draw(st.booleans())
        visit.address = data.draw(st.sampled_from(["", "192.0.2.1", "2001:db8::1"]))
        for _ in range(data.draw(st.integers(1, 2))):
            assert self.run(self.frontier.release([visit])) == (visit in self.lost)
        self.held.remove(visit)
        self.open.append(visit)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def ack(self, data: st.DataObject) -> None:
        """Commit a visit; records not put back are done, unless the lease was lost."""
        visit = data.draw(st.sampled_from(self.open))
        assert self.run(self.frontier.ack([visit])) == (visit in self.lost)
        self.open.remove(visit)
        if visit not in self.lost:
            kept = set(range(len(visit.records))) - set(visit.returned)
            self.done |= {visit.records[i].url for i in kept}

    @rule()
    def renew(self) -> None:
        """Prolong all leases; exactly the lost ones are returned."""
        mine = [*self.held, *self.open]
        assert set(self.run(self.frontier.renew(mine))) == self.lost & set(mine)

    # -- what happens to them ----------------------------------------------------

    @precondition(lambda self: self.held or self.open)
    @rule(data=st.data())
    def run_out(self, data: st.DataObject) -> None:
        """Let some leases run out; their workers do not know it yet."""
        alive = [v for v in (*self.held, *self.open) if v not in self.lost]
        expired = [v for v in alive if data.draw(st.booleans())]
        if expired:
            only = [(v.epoch, v.key) for v in expired]
            self.run(expire_leases(self.frontier, only))
        batches, back, dead = self.run(self.frontier.reap())
        n = sum(len(v.records) - len(v.returned) for v in expired)
        assert (batches, back + dead) == (len(expired), n)
        self.lost |= set(expired)

    # -- what must hold ----------------------------------------------------------

    @invariant()
    def nothing_is_lost(self) -> None:
        """Check that the raw keys agree with the model, with each URI once."""
        states = self.run(check_frontier(self.frontier, is_twice=False))
        waiting = [u for s in states for u in (*s.queued_urls(), *s.leased_urls())]
        dead = [u for s in states for u in s.dead_urls()]
        everywhere = [*waiting, *dead, *self.done]
        assert sorted(everywhere) == sorted(self.accepted)
        counts = self.run(self.frontier.counts())
        assert counts.done == len(self.done)
        assert counts.known == len(self.known)
        alive = {v for v in (*self.held, *self.open) if v not in self.lost}
        leases = {lease for s in states for lease in s.leases}
        assert leases == {(v.key, v.epoch) for v in alive}


@pytest.mark.in_turn(2)
def test_no_uri_is_lost_or_queued_twice(redis_server: RedisServer) -> None:
    """If workers do anything in any order, then each step keeps every invariant."""
    Crawl.server = redis_server
    is_steady = settings().derandomize
    if is_steady:  # each server has examples of its own, the same in each run
        seed(str(program_version(redis_server.program)))(Crawl)
    run_state_machine_as_test(
        Crawl,
        settings=settings(
            max_examples=6 if is_steady else 40,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
