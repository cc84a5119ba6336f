"""The end of a visit in Redis: released, acknowledged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.frontier_claims import add, claim, claim_one, restart, urls_of
from tests.support.frontier_state import (
    candidates,
    check_frontier,
    expire_leases,
)

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from tests.support.redis_fixtures import MakeFrontier

_HOST = "h{}.example".format


class TestRelease:
    """The end of a visit: the host is free, the batch waits for its commit."""

    @pytest.mark.parametrize(
        ("delay_secs", "not_before_secs", "rest"),
        [(0.0, 0.0, 0.0), (2.0, 0.0, 2.0), (2.0, 7.0, 7.0), (9.0, 3.0, 9.0)],
    )
    async def test_the_host_rests(
        self,
        make_frontier: MakeFrontier,
        redis: Redis,
        delay_secs: float,
        not_before_secs: float,
        rest: float,
    ) -> None:
        """If a visit ends, then the host rests for the longer of its two waits."""
        frontier = await make_frontier(batch=1)
        await add(frontier, 2)
        visit = await claim_one(frontier)
        visit.delay_secs, visit.not_before_secs = delay_secs, not_before_secs
        secs, micros = await redis.time()
        await frontier.release([visit])
        (state,) = await check_frontier(frontier)
        waits = state.ready["a.example"] / 1000 - (secs + micros / 1e6)
        assert rest - 0.002 <= waits <= rest + 0.5

    async def test_a_host_without_uris_still_rests(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a host had no URI at release, then later ones wait for it too."""
        frontier = await make_frontier()
        await add(frontier, 1)
        visit = await claim_one(frontier)
        visit.not_before_secs = 30.0
        await frontier.release([visit])
        (state,) = await check_frontier(frontier)
        assert state.ready == {}
        await frontier.add(candidates(frontier, ["https://a.example/later"]))
        visits, due = await frontier.claim([0], most_keys=1)
        assert visits == []
        assert due is not None
        assert due > 29.0
        await check_frontier(frontier)

    async def test_uris_added_during_a_visit_wait_for_its_end(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If URIs of a locked host come, then it stays locked, and they come next."""
        frontier = await make_frontier()
        await add(frontier, 1)
        visit = await claim_one(frontier)
        await frontier.add(candidates(frontier, ["https://a.example/later"]))
        assert await claim(frontier) == []
        await check_frontier(frontier)
        await frontier.release([visit])
        assert urls_of(await claim_one(frontier)) == ["https://a.example/later"]

    async def test_returned_records_come_first_and_as_they_were_given_back(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If records are returned, then they come first, in order, with retries."""
        frontier = await make_frontier(batch=4)
        urls = await add(frontier, 6)
        visit = await claim_one(frontier)
        tried = replace(visit.records[1], retries=1)
        visit.returned = {3: visit.records[3], 1: tried}
        await frontier.release([visit])
        (state,) = await check_frontier(frontier)
        assert state.leased_urls() == [urls[0], urls[2]]
        await frontier.ack([visit])
        await check_frontier(frontier)
        again = await claim_one(frontier)
        assert urls_of(again) == [urls[1], urls[3], urls[4], urls[5]]
        assert [r.retries for r in again.records] == [1, 0, 0, 0]
        counts = await frontier.counts()
        assert (counts.done, counts.leased, counts.queued) == (2, 4, 0)

    async def test_repeated_release_changes_nothing(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a release is sent twice, then the second one changes nothing."""
        frontier = await make_frontier(batch=2)
        await add(frontier, 4)
        visit = await claim_one(frontier)
        visit.returned = {0: visit.records[0]}
        visit.host_refused = True
        assert await frontier.release([visit]) == 0
        (before,) = await check_frontier(frontier)
        assert await frontier.release([visit]) == 0
        assert await check_frontier(frontier) == [before]
        other = await claim_one(frontier)
        assert await frontier.release([visit]) == 0
        assert await claim(frontier) == []
        await frontier.release([other])
        assert await frontier.ack([visit, other]) == 0
        await check_frontier(frontier)

    async def test_failures_in_a_row_are_counted(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If visits are refused in a row, then the next one knows how many."""
        frontier = await make_frontier(batch=1)
        await add(frontier, 5)
        failures = []
        for is_refused in (True, True, False, True):
            visit = await claim_one(frontier)
            failures.append(visit.failures)
            visit.host_refused = is_refused
            await frontier.release([visit])
        assert failures == [0, 1, 2, 0]
        assert (await claim_one(frontier)).failures == 1

    async def test_a_refusal_behind_an_answer_is_the_first_in_a_row(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a host answers and then refuses, then the row of refusals begins there."""
        frontier = await make_frontier(batch=1)
        await add(frontier, 5)
        for has_recovered, failures in ((False, 0), (False, 1), (True, 2), (False, 1)):
            visit = await claim_one(frontier)
            assert visit.failures == failures
            visit.host_refused, visit.has_recovered = True, has_recovered
            await frontier.release([visit])
        await check_frontier(frontier)

    async def test_two_batches_of_one_host_wait_for_their_commits(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If two batches of a host wait, then each is committed by itself."""
        frontier = await make_frontier(batch=2)
        await add(frontier, 4)
        first = await claim_one(frontier)
        await frontier.release([first])
        second = await claim_one(frontier)
        assert second.epoch > first.epoch > 1_700_000_000_000
        await frontier.release([second])
        assert await frontier.ack([second]) == 0
        (state,) = await check_frontier(frontier)
        assert state.leased_urls() == urls_of(first)
        assert await frontier.ack([first]) == 0
        await check_frontier(frontier)
        assert (await frontier.counts()).is_over


class TestAck:
    """The commit."""

    async def test_done_is_done(self, make_frontier: MakeFrontier) -> None:
        """If a batch is acknowledged, then only its fingerprints are left."""
        frontier = await make_frontier()
        await add(frontier, 3)
        visit = await claim_one(frontier)
        await frontier.release([visit])
        assert not (await frontier.counts()).is_over
        assert await frontier.ack([visit]) == 0
        (state,) = await check_frontier(frontier)
        assert not state.queues
        assert not state.flights
        counts = await frontier.counts()
        assert (counts.done, counts.seen, counts.is_over) == (3, 3, True)

    async def test_what_was_not_released_is_not_done(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If the server has lost a release in a crash, then its ack is refused."""
        frontier = await make_frontier(batch=2)
        urls = await add(frontier, 3)
        visit = await claim_one(frontier)
        assert await frontier.ack([visit]) == 1
        await check_frontier(frontier)
        await expire_leases(frontier)
        assert await frontier.reap() == (1, 2, 0)
        (state,) = await check_frontier(frontier)
        assert sorted(state.queued_urls()) == sorted(urls)

    async def test_a_second_ack_is_refused(self, make_frontier: MakeFrontier) -> None:
        """If an ack is sent twice, then the second one changes nothing."""
        frontier = await make_frontier()
        await add(frontier, 1)
        visit = await claim_one(frontier)
        await frontier.release([visit])
        assert await frontier.ack([visit]) == 0
        assert await frontier.ack([visit]) == 1
        await check_frontier(frontier)

    async def test_a_worker_that_comes_back_is_refused(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a lease was taken back, then its old holder is refused throughout."""
        frontier = await make_frontier()
        await add(frontier, 2)
        old = await claim_one(frontier)
        await expire_leases(frontier)
        await frontier.reap()
        await restart(frontier)
        new = await claim_one(frontier)
        assert new.epoch > old.epoch
        (before,) = await check_frontier(frontier)
        old.returned = dict(enumerate(old.records))
        assert await frontier.renew([old]) == [old]
        assert await frontier.release([old]) == 1
        assert await frontier.ack([old]) == 1
        assert await check_frontier(frontier) == [before]
        assert await frontier.renew([new]) == []

    async def test_answers_are_counted_over_partitions(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If some of many visits are lost, then exactly they are returned."""
        frontier = await make_frontier(partitions=3)
        for i in range(12):
            await add(frontier, 1, f"h{i}.example")
        visits = await claim(frontier)
        lost = visits[::3]
        await expire_leases(frontier, [(v.epoch, v.key) for v in lost])
        assert await frontier.reap() == (4, 4, 0)
        assert {v.key for v in await frontier.renew(visits)} == {v.key for v in lost}
        assert await frontier.release(visits) == 4
        assert await frontier.ack(visits) == 4
        await check_frontier(frontier)
        counts = await frontier.counts()
        assert (counts.done, counts.queued) == (8, 4)
