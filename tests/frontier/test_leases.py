"""Visits of the dead in Redis: reaped and counted; settings of a host."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import pytest

from rdfcrawl.core.records import Record
from rdfcrawl.frontier.worker.link_ingest import SEED_BAND
from tests.support.frontier_claims import add, claim, claim_one, restart, urls_of
from tests.support.frontier_state import (
    candidates,
    check_frontier,
    expire_leases,
    new_ingest,
)

if TYPE_CHECKING:
    from tests.support.redis_fixtures import MakeFrontier


class TestReap:
    """Leases that ran out."""

    async def test_a_live_lease_is_left_alone(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a lease has not run out, or was renewed, then it is not taken back."""
        frontier = await make_frontier(lease_secs=60.0)
        await add(frontier, 1)
        visit = await claim_one(frontier)
        assert await frontier.reap() == (0, 0, 0)
        await expire_leases(frontier)
        assert await frontier.renew([visit]) == []
        assert await frontier.reap() == (0, 0, 0)
        await check_frontier(frontier)

    async def test_a_lease_lasts_as_long_as_it_says(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If its time has passed without a renewal, then a lease is taken back."""
        frontier = await make_frontier(lease_secs=0.05)
        await add(frontier, 1)
        await claim(frontier)
        await asyncio.sleep(0.06)
        assert await frontier.reap() == (1, 1, 0)
        await check_frontier(frontier)

    async def test_a_dead_workers_batch_goes_back_in_order(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a worker dies in a visit, then all of it goes back with a life less."""
        frontier = await make_frontier(batch=3, delay_secs=1.5)
        urls = await add(frontier, 4)
        await claim(frontier)
        await expire_leases(frontier)
        assert await frontier.reap() == (1, 3, 0)
        (state,) = await check_frontier(frontier)
        assert state.queued_urls() == [*urls[:3], urls[3]]
        _, due = await frontier.claim([0], most_keys=1)
        assert due is not None
        assert 0 < due <= 1.5

    async def test_suspects_are_claimed_alone(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If URIs have lost a lease, then each is visited alone, before others."""
        frontier = await make_frontier(batch=3)
        urls = await add(frontier, 6)
        await claim(frontier)
        await expire_leases(frontier)
        await frontier.reap()
        batches = []
        while visits := await claim(frontier):
            batches.append([(r.url, r.lost) for r in visits[0].records])
            await frontier.release(visits)
            await frontier.ack(visits)
        assert batches[:3] == [[(url, 1)] for url in urls[:3]]
        assert batches[3] == [(url, 0) for url in urls[3:]]
        await check_frontier(frontier)

    async def test_suspects_behind_others_are_claimed_alone(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If innocent URIs were put before suspects, then they share no visit."""
        frontier = await make_frontier(batch=2)
        urls = await add(frontier, 5)
        innocent = await claim_one(frontier)
        await frontier.release([innocent])
        guilty = await claim_one(frontier)
        await expire_leases(frontier, [(guilty.epoch, guilty.key)])
        await frontier.reap()
        await expire_leases(frontier)
        assert await frontier.reap() == (1, 2, 0)
        await restart(frontier)
        batches = []
        while visits := await claim(frontier):
            batches.append(urls_of(visits[0]))
            await frontier.release(visits)
        assert [batch for batch in batches if set(batch) & set(urls[2:4])] == [
            [urls[2]],
            [urls[3]],
        ]
        assert sorted(url for batch in batches for url in batch) == urls

    async def test_a_released_batch_loses_no_life(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a worker dies before an ack, then its URIs go back unsuspected."""
        frontier = await make_frontier(batch=2)
        urls = await add(frontier, 4)
        first = await claim_one(frontier)
        await frontier.release([first])
        second = await claim_one(frontier)
        await expire_leases(frontier, [(first.epoch, first.key)])
        assert await frontier.reap() == (1, 2, 0)
        await check_frontier(frontier)
        assert await claim(frontier) == []
        assert await frontier.release([second]) == 0
        await frontier.ack([second])
        await restart(frontier)
        again = await claim_one(frontier)
        assert urls_of(again) == urls[:2]
        assert [record.lost for record in again.records] == [0, 0]
        await check_frontier(frontier)

    async def test_what_was_returned_is_not_put_back_again(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a record was returned and the lease is lost, then it is queued once."""
        frontier = await make_frontier(batch=2)
        await add(frontier, 2)
        visit = await claim_one(frontier)
        visit.returned = {0: visit.records[0]}
        await frontier.release([visit])
        await expire_leases(frontier)
        assert await frontier.reap() == (1, 1, 0)
        await check_frontier(frontier)
        assert (await frontier.counts()).queued == 2

    @pytest.mark.parametrize(("what", "n_deaths"), [("read", 3), ("asked", 24)])
    @pytest.mark.parametrize("parent", ["", "https://a.example/"])
    async def test_what_kills_its_workers_is_given_up(
        self,
        make_frontier: MakeFrontier,
        what: Literal["read", "asked"],
        n_deaths: int,
        parent: str,
    ) -> None:
        """If workers die while a URI is read, it has three lives; while asked for, 24.

        Before that, it must have become a suspect by a first death.
        """
        frontier = await make_frontier(batch=1)
        urls = await add(frontier, 1)
        guilty = Record("https://a.example/guilty", parent=parent)
        ingest = new_ingest(frontier)
        await frontier.add([ingest.candidate(guilty, SEED_BAND)])
        for n in range(n_deaths + 1):
            visit = await claim_one(frontier)
            assert urls_of(visit) == [guilty.url]
            assert visit.records[0] == replace(
                guilty, lost=int(n > 0), blame=max(0, n - 1) * 24 // n_deaths
            )
            if n > 0:
                assert await frontier.begin(visit, what)
            await expire_leases(frontier)
            back, dead = (0, 1) if n == n_deaths else (1, 0)
            assert await frontier.reap() == (1, back, dead)
            await restart(frontier)
            await check_frontier(frontier)
        (state,) = await check_frontier(frontier)
        assert state.dead_urls() == [guilty.url]
        assert [each.url for each in frontier.buried] == [guilty.url]
        assert urls_of(await claim_one(frontier)) == urls
        assert (await frontier.add(candidates(frontier, [guilty.url]))).seen == 1

    async def test_what_was_not_begun_loses_no_life(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If workers die before they ask for a URI, then it loses no life."""
        frontier = await make_frontier(batch=1)
        urls = await add(frontier, 1)
        for _ in range(30):
            visit = await claim_one(frontier)
            await expire_leases(frontier)
            assert await frontier.reap() == (1, 1, 0)
            await restart(frontier)
        visit = await claim_one(frontier)
        assert urls_of(visit) == urls
        assert (visit.records[0].lost, visit.records[0].blame) == (1, 0)
        assert await frontier.begin(visit, "read")
        await frontier.release([visit])
        (state,) = await check_frontier(frontier)
        assert "at" not in state.hosts["a.example"]

    async def test_what_was_begun_goes_behind_the_others(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a worker dies with a suspect begun, then the next one asks others."""
        frontier = await make_frontier(batch=3)
        urls = await add(frontier, 3)
        await claim(frontier)
        order = []
        for _ in range(3):
            await expire_leases(frontier)
            await frontier.reap()
            await restart(frontier)
            visit = await claim_one(frontier)
            order += urls_of(visit)
            await frontier.begin(visit, "asked")
        assert order == urls
        await check_frontier(frontier)

    async def test_a_lost_lease_begins_nothing(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a suspect's lease was lost, then its former holder must not ask for it."""
        frontier = await make_frontier()
        await add(frontier, 1)
        await claim(frontier)
        await expire_leases(frontier)
        await frontier.reap()
        await restart(frontier)
        old = await claim_one(frontier)
        await expire_leases(frontier)
        await frontier.reap()
        await restart(frontier)
        new = await claim_one(frontier)
        assert not await frontier.begin(old, "read")
        assert await frontier.begin(new, "asked")
        await expire_leases(frontier)
        await frontier.reap()
        await restart(frontier)
        assert (await claim_one(frontier)).records[0].blame == 1

    async def test_many_leases_are_taken_back_in_several_calls(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If more leases ran out than one call takes, then the next call goes on."""
        frontier = await make_frontier()
        urls = [f"https://h{i}.example/" for i in range(150)]
        await frontier.add(candidates(frontier, urls))
        assert len(await claim(frontier, 1000)) == 150
        await expire_leases(frontier)
        assert [(await frontier.reap())[0] for _ in range(3)] == [100, 50, 0]
        await check_frontier(frontier)
