"""Random operations and deaths of workers never exceed the quota of an epoch."""

from __future__ import annotations

import asyncio
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

from rdfcrawl.frontier.redis.embedded import program_version
from rdfcrawl.frontier.redis.operations import LuaScripts
from tests.support.frontier_state import check_frontier, expire_leases
from tests.support.redis_fixtures import frontier_on
from tests.support.scheduled_domains import (
    RequestLedger,
    epochs_of,
    let_time_pass,
    offered,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import TypeVar

    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.redis_fixtures import RedisServer

    T = TypeVar("T")

pytestmark = pytest.mark.every_server

_QUOTA = 5
_SECS = 3600
_KEYS = ("a.example", "w.a.example", "b.example")
_urls = st.builds("https://{}/{}".format, st.sampled_from(_KEYS), st.integers(0, 30))


class _DeadError(Exception):
    """The worker was killed."""


def _mortal(n_runs: int) -> type[LuaScripts]:
    """Return operations of a worker that dies before a round trip, or just after it."""

    class Mortal(LuaScripts):
        left = n_runs

        async def run(self, *args: Any) -> list[object]:
            self.left -= 1
            if self.left < 0:
                raise _DeadError
            answers = await super().run(*args)
            if not self.left:
                raise _DeadError
            return answers

    return Mortal


class ScheduledCrawl(RuleBasedStateMachine):
    """A crawl whose two domains have five fetches in an epoch, on three hosts.

    `requested` are the records of a visit that were asked for; the ledger counts them
    as a server would, in the epoch that is open then.
    """

    server: RedisServer

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.redis = self.server.client()
        self.run(self.redis.flushall())
        self.accepted: set[str] = set()
        self.held: list[Visit] = []
        self.open: list[Visit] = []
        self.requested: dict[Visit, set[int]] = {}
        self.lost: set[Visit] = set()
        self.done: set[str] = set()
        self.ledger = RequestLedger()
        self.secs = 0

    def run(self, work: Awaitable[T]) -> T:
        """Wait for an operation."""

        async def wait() -> T:
            return await work

        return self.loop.run_until_complete(wait())

    def join(self, scripts: type[LuaScripts] = LuaScripts) -> Frontier:
        """Return the frontier of one more worker."""
        frontier = frontier_on(
            self.redis,
            program_version(self.server.program) or (),
            scripts=scripts,
            partitions=2,
            batch=3,
            epochs=epochs_of(_QUOTA, self.secs),
        )
        self.run(frontier.open())
        return frontier

    def teardown(self) -> None:
        """Close the client."""
        self.run(self.redis.aclose())
        self.loop.close()

    @initialize(secs=st.sampled_from([0, _SECS]))
    def begin(self, secs: int) -> None:
        """Have epochs that end with their quota, or with their time."""
        self.secs = secs
        self.frontier = self.join()
        self.add(listed=[f"https://a.example/{i}" for i in range(12)], linked=[])

    @rule(listed=st.lists(_urls, max_size=8), linked=st.lists(_urls, max_size=8))
    def add(self, listed: list[str], linked: list[str]) -> None:
        """Offer URLs of both ways."""
        self.run(self.frontier.add(offered(self.frontier, listed, linked)))
        self.accepted |= {*listed, *linked}

    @rule()
    def look(self) -> None:
        """Grant waiting URIs, and begin epochs."""
        self.run(self.frontier.epochs.look())

    @rule(n_runs=st.integers(0, 3))
    def look_and_die(self, n_runs: int) -> None:
        """Die before or after any round trip of that."""
        with suppress(_DeadError):
            self.run(self.join(_mortal(n_runs)).epochs.look())

    @precondition(lambda self: self.secs)
    @rule()
    def pass_time(self) -> None:
        """Let the time of all epochs be over."""
        self.run(let_time_pass(self.frontier, self.secs))

    @rule(is_lost=st.booleans())
    def claim(self, is_lost: bool) -> None:
        """Lease a host, or die before the answer is there."""
        visits, _ = self.run(self.frontier.claim([0, 1], most_keys=1))
        self.requested |= {visit: set() for visit in visits}
        self.held += visits
        if is_lost:
            self.run_out(visits)

    @precondition(lambda self: set(self.held) - self.lost)
    @rule(data=st.data(), n=st.integers(1, 3))
    def request(self, data: st.DataObject, n: int) -> None:
        """Ask for records of a visit, each once, while its lease holds."""
        alive = [visit for visit in self.held if visit not in self.lost]
        visit = data.draw(st.sampled_from(alive))
        left = sorted(set(range(len(visit.records))) - self.requested[visit])
        for index in left[:n]:
            self.requested[visit].add(index)
            self.run(self.ledger.note(self.frontier, visit.records[index].url))

    @rule(n=st.integers(0, 3))
    def work_and_die(self, n: int) -> None:
        """Grant, claim, ask for some records, and die before anything is released."""
        self.look()
        visits, _ = self.run(self.frontier.claim([0, 1], most_keys=1))
        for visit in visits:
            for record in visit.records[:n]:
                self.run(self.ledger.note(self.frontier, record.url))
        self.run_out(visits)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        """End a visit: put back unrequested records, and some others."""
        visit = data.draw(st.sampled_from(self.held))
        asked = self.requested[visit]
        for index, record in enumerate(visit.records):
            if index not in asked:
                is_refused = data.draw(st.booleans())
                if is_refused:
                    visit.outcomes[index] = "-"
                else:
                    visit.returned[index] = record
                    visit.unrequested.add(index)
            elif data.draw(st.booleans()):
                retries = data.draw(st.integers(record.retries, 3))
                visit.returned[index] = replace(record, retries=retries)
            else:
                visit.outcomes[index] = data.draw(st.sampled_from(["", "x", "y"]))
            if index in visit.returned and data.draw(st.booleans()):
                visit.behind.add(index)
        visit.host_refused = data.draw(st.booleans())
        for _ in range(data.draw(st.integers(1, 2))):  # an answer is lost
            self.run(self.frontier.release([visit]))
        self.held.remove(visit)
        self.open.append(visit)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), n=st.integers(1, 2))
    def ack(self, data: st.DataObject, n: int) -> None:
        """Commit a visit, perhaps telling it twice."""
        visit = data.draw(st.sampled_from(self.open))
        for _ in range(n):
            self.run(self.frontier.ack([visit]))
        self.open.remove(visit)
        if visit not in self.lost:
            kept = set(range(len(visit.records))) - set(visit.returned)
            self.done |= {visit.records[i].url for i in kept}

    @precondition(lambda self: self.held or self.open)
    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        """Kill the workers of some visits, between any two of their operations."""
        alive = [v for v in (*self.held, *self.open) if v not in self.lost]
        self.run_out([v for v in alive if data.draw(st.booleans())])

    def run_out(self, visits: list[Visit]) -> None:
        """Let the leases of visits run out."""
        if visits:
            only = [(visit.epoch, visit.key) for visit in visits]
            self.run(expire_leases(self.frontier, only))
            self.run(self.frontier.reap())
            self.lost |= set(visits)

    @invariant()
    def quota_holds_and_nothing_is_lost(self) -> None:
        """Check the raw keys, the ledger, and that each URL is in one place."""
        if not self.accepted:
            return
        states = self.run(check_frontier(self.frontier))
        urls = [
            url
            for state in states
            for found in (
                *(state.queued_urls(), state.leased_urls(), state.waiting_urls()),
                state.dead_urls(),
            )
            for url in found
        ]
        assert sorted([*urls, *self.done]) == sorted(self.accepted)
        assert all(n <= _QUOTA for n in self.ledger.n_requests.values())


@pytest.mark.in_turn(2)
def test_no_epoch_has_more_than_its_quota(redis_server: RedisServer) -> None:
    """If workers do anything and die anywhere, then each epoch keeps its quota."""
    ScheduledCrawl.server = redis_server
    is_steady = settings().derandomize
    if is_steady:
        seed(str(program_version(redis_server.program)))(ScheduledCrawl)
    run_state_machine_as_test(
        ScheduledCrawl,
        settings=settings(
            max_examples=4 if is_steady else 40,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
