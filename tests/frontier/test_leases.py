"""The life of a visit in Redis: claimed, renewed, released, acknowledged, lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

import pytest

from rdfcrawl.errors import Reason
from rdfcrawl.frontier.intake import SEED_BAND
from rdfcrawl.records import Record
from tests.support.frontier_state import (
    candidates,
    check_frontier,
    expire_leases,
    new_intake,
)

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.frontier.client import Frontier
    from rdfcrawl.records import Visit
    from tests.support.redis_fixtures import MakeFrontier


async def add(frontier: Frontier, n: int, host: str = "a.example") -> list[str]:
    """Queue n URLs of one host; return them."""
    urls = [f"https://{host}/r/{i}" for i in range(n)]
    assert (await frontier.add(candidates(frontier, urls))).new == n
    return urls


async def claim(frontier: Frontier, most_keys: int = 100) -> list[Visit]:
    """Claim in all partitions."""
    visits, _ = await frontier.claim(range(frontier.partitions), most_keys=most_keys)
    return visits


async def claim_one(frontier: Frontier) -> Visit:
    """Claim the only host that is due."""
    (visit,) = await claim(frontier)
    return visit


def urls_of(visit: Visit) -> list[str]:
    """Return the URLs of a visit, in order."""
    return [record.url for record in visit.records]


async def restart(frontier: Frontier) -> None:
    """Make the host due again at once, as time would."""
    name = f"{frontier._prefixes[0]}:ready"
    for key in [raw.decode() async for raw, _ in frontier.redis.zscan_iter(name)]:
        await frontier.redis.zadd(name, {key: 1})


class TestClaim:
    """Which hosts are leased, and with how much."""

    async def test_a_batch_is_in_order_and_the_host_is_locked(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a host is claimed, then nobody else gets it until it is released."""
        frontier = await make_frontier(batch=3)
        urls = await add(frontier, 5)
        visit = await claim_one(frontier)
        assert urls_of(visit) == urls[:3]
        assert (visit.key, visit.failures) == ("a.example", 0)
        assert visit.pending == [0, 1, 2]
        assert await claim(frontier) == []
        await check_frontier(frontier)
        assert await frontier.release([visit]) == 0
        assert urls_of(await claim_one(frontier)) == urls[3:]
        await check_frontier(frontier)

    async def test_at_most_so_many_hosts(self, make_frontier: MakeFrontier) -> None:
        """If more hosts are due than asked for, then the longest waiting come first."""
        frontier = await make_frontier()
        for i in range(4):
            await add(frontier, 1, f"h{i}.example")
            await asyncio.sleep(0.002)
        visits = await claim(frontier, most_keys=3)
        assert [v.key for v in visits] == ["h0.example", "h1.example", "h2.example"]
        await check_frontier(frontier)

    @pytest.mark.parametrize(
        ("batch", "window_secs", "delay_secs", "n"),
        [
            pytest.param(20, 5.0, 0.0, 20, id="no delay: batch"),
            pytest.param(20, 5.0, 1.0, 5, id="5 fit into the window"),
            pytest.param(20, 5.0, 2.0, 2, id="only whole delays"),
            pytest.param(20, 5.0, 60.0, 1, id="always one"),
            pytest.param(4, 5.0, 0.1, 4, id="batch is the limit"),
            pytest.param(20, 0.0, 0.5, 1, id="no window"),
        ],
    )
    async def test_a_batch_fits_the_window(
        self,
        make_frontier: MakeFrontier,
        batch: int,
        window_secs: float,
        delay_secs: float,
        n: int,
    ) -> None:
        """If the host has a delay, then a visit has what fits into the window."""
        frontier = await make_frontier(
            batch=batch, window_secs=window_secs, delay_secs=delay_secs
        )
        await add(frontier, 30)
        visit = await claim_one(frontier)
        assert len(visit.records) == n
        assert visit.delay_secs == delay_secs

    async def test_an_own_delay_is_kept_and_clamps_the_batch(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a visit sets the host's delay, then the next one has it and fits it."""
        frontier = await make_frontier(batch=20, window_secs=5.0)
        await add(frontier, 30)
        visit = await claim_one(frontier)
        visit.delay_secs = 1.0
        await frontier.release([visit])
        await restart(frontier)
        again = await claim_one(frontier)
        assert (again.delay_secs, len(again.records)) == (1.0, 5)

    async def test_it_tells_when_the_next_host_is_due(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If no host is due, then a claim says when the first one is."""
        frontier = await make_frontier(batch=1, partitions=2)
        assert await frontier.claim([0, 1], most_keys=9) == ([], None)
        await add(frontier, 2)
        visit = await claim_one(frontier)
        assert await frontier.claim([0, 1], most_keys=9) == ([], None)
        visit.not_before_secs = 10.0
        await frontier.release([visit])
        visits, due = await frontier.claim([0, 1], most_keys=9)
        assert visits == []
        assert due is not None
        assert 9.0 < due <= 10.0
        await check_frontier(frontier)


class TestClaimAgain:
    """A claim whose answer did not arrive."""

    async def test_it_gives_the_same_again(self, make_frontier: MakeFrontier) -> None:
        """If a claim is repeated under its number, then it gives the same visits."""
        frontier = await make_frontier(batch=2, partitions=3)
        for i in range(6):
            await add(frontier, 3, f"h{i}.example")
        number = frontier.new_claim()
        first, _ = await frontier.claim([0, 1, 2], most_keys=1, number=number)
        again, _ = await frontier.claim([0, 1, 2], most_keys=1, number=number)
        assert len(first) == 3

        def told(visit: Visit) -> tuple[object, ...]:
            return visit.key, visit.epoch, visit.records, visit.partition

        assert list(map(told, again)) == list(map(told, first))
        await check_frontier(frontier)
        other, _ = await frontier.claim(
            [0, 1, 2], most_keys=9, number=frontier.new_claim()
        )
        assert len(other) == 3
        await check_frontier(frontier)

    async def test_what_was_lost_meanwhile_is_not_given(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a lease ran out before the claim is repeated, it is not given again."""
        frontier = await make_frontier()
        await add(frontier, 1)
        number = frontier.new_claim()
        await frontier.claim([0], most_keys=1, number=number)
        await expire_leases(frontier)
        await frontier.reap()
        assert await frontier.claim([0], most_keys=1, number=number) == ([], None)
        await check_frontier(frontier)


class TestUnreadable:
    """What is in a queue and is not a record."""

    @pytest.mark.parametrize(
        "item",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b"\x00", id="one byte"),
            pytest.param(b"\x0f\x00/r/x", id="unknown kind"),
            pytest.param(b"\x00\x00no URL", id="no URL"),
            pytest.param(b"\x00\x00/caf\xe9", id="no ASCII"),
            pytest.param(b"\x00\x00/x\r\nHost: y", id="control characters"),
            pytest.param(b"\x00\x00/r/x\x00", id="cut off"),
            pytest.param(b"\x00\x00/r/x\x00\x00\x00\x03x", id="no number"),
            pytest.param(b"\x04\x00/r/x\x00\x00\x00\x01", id="empty task"),
            pytest.param(b"\x04\x00/r/x\x00\x00\x00\x01[7]", id="unheard task"),
            pytest.param(
                b'\x04\x00/r/x\x00\x00\x00\x01["source","0"]', id="task of wrong types"
            ),
            pytest.param(b"\x04\x00/r/x\x00\x00\x00\x01" + b"[" * 5000, id="deep task"),
            pytest.param(
                b'\x04\x00/r/x\x00\x00\x00\x01["sample","","' + b"x" * 9000 + b'"]',
                id="long task",
            ),
        ],
    )
    async def test_it_is_set_aside_alone(
        self, make_frontier: MakeFrontier, redis: Redis, item: bytes
    ) -> None:
        """If one item is not a record, then the others of its batch are visited."""
        frontier = await make_frontier(batch=10)
        urls = await add(frontier, 4)
        prefix = frontier._prefixes[0]
        await redis.lset(f"{prefix}:q:a.example:2", 1, cast("str", item))
        seen: list[str] = []
        for _ in range(3):
            for visit in await claim(frontier):
                bad = [i for i in range(len(visit.records)) if i not in visit.pending]
                faults = [f for d in visit.documents for f in d.faults]
                assert len(faults) == len(bad) == len(visit.unreadable)
                assert {fault.reason for fault in faults} <= {Reason.BAD_RECORD}
                seen += [visit.records[i].url for i in visit.pending] + ["?"] * len(bad)
                await frontier.release([visit])
                await frontier.ack([visit])
        assert sorted(seen) == sorted(["?", urls[0], *urls[2:]])
        assert (await frontier.counts()).is_over

    async def test_it_is_put_back_as_it_is(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If a visit with an unreadable item is given back, then so is the item."""
        frontier = await make_frontier()
        await add(frontier, 2)
        name = f"{frontier._prefixes[0]}:q:a.example:2"
        await redis.lset(name, 1, "?!")
        visit = await claim_one(frontier)
        visit.returned = dict(enumerate(visit.records))
        await frontier.release([visit])
        name = f"{frontier._prefixes[0]}:q:a.example:0"
        assert (await redis.lrange(name, 0, -1))[1] == b"?!"


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
        """If some of many visits are lost, then exactly they are told."""
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
        frontier = await make_frontier(batch=3, delay_secs=0.5)
        urls = await add(frontier, 4)
        await claim(frontier)
        await expire_leases(frontier)
        assert await frontier.reap() == (1, 3, 0)
        (state,) = await check_frontier(frontier)
        assert state.queued_urls() == [*urls[:3], urls[3]]
        _, due = await frontier.claim([0], most_keys=1)
        assert due is not None
        assert 0.3 < due <= 0.5

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
        intake = new_intake(frontier)
        await frontier.add([intake.candidate(guilty, SEED_BAND)])
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


class TestSetHost:
    """What an operator decides."""

    async def test_an_unknown_host(self, make_frontier: MakeFrontier) -> None:
        """If nothing of a host was ever queued, then it cannot be set."""
        frontier = await make_frontier()
        assert not await frontier.set_host("a.example", paused=True)
        await check_frontier(frontier)

    async def test_a_paused_host_is_not_claimed(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a host is paused, then it is not visited until it goes on."""
        frontier = await make_frontier()
        await add(frontier, 1)
        assert await frontier.set_host("a.example", paused=True)
        await frontier.add(candidates(frontier, ["https://a.example/later"]))
        assert await frontier.claim([0], most_keys=1) == ([], None)
        await check_frontier(frontier)
        assert await frontier.set_host("a.example", paused=False)
        await check_frontier(frontier)
        assert len((await claim_one(frontier)).records) == 2

    @pytest.mark.parametrize("dies", [False, True], ids=["ends", "dies"])
    async def test_a_visit_of_a_host_that_is_paused_meanwhile(
        self, make_frontier: MakeFrontier, dies: bool
    ) -> None:
        """If a host is paused during a visit, then it waits after it too."""
        frontier = await make_frontier(batch=1)
        await add(frontier, 2)
        visit = await claim_one(frontier)
        await frontier.set_host("a.example", paused=True)
        await check_frontier(frontier)
        if dies:
            await expire_leases(frontier)
            await frontier.reap()
        else:
            await frontier.release([visit])
        await check_frontier(frontier)
        assert await claim(frontier) == []
        await frontier.set_host("a.example", paused=False)
        await check_frontier(frontier)
        await restart(frontier)
        assert len(await claim(frontier)) == 1

    async def test_going_on_does_not_break_the_lock(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a locked host is paused and goes on, then it is still locked."""
        frontier = await make_frontier(batch=1)
        await add(frontier, 2)
        await claim(frontier)
        await frontier.set_host("a.example", paused=True)
        await frontier.set_host("a.example", paused=False)
        assert await claim(frontier) == []
        await check_frontier(frontier)

    async def test_going_on_does_not_shorten_the_rest(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a host rests while it is paused, then going on does not end its rest."""
        frontier = await make_frontier(batch=1)
        await add(frontier, 2)
        visit = await claim_one(frontier)
        visit.not_before_secs = 30.0
        await frontier.release([visit])
        await frontier.set_host("a.example", paused=True)
        await frontier.set_host("a.example", paused=False)
        visits, due = await frontier.claim([0], most_keys=1)
        assert visits == []
        assert due is not None
        assert due > 29.0

    async def test_a_delay_is_for_the_next_visit(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a host's delay is set, then its next visit has it."""
        frontier = await make_frontier(delay_secs=1.0, window_secs=5.0)
        await add(frontier, 20)
        assert await frontier.set_host("a.example", delay_secs=2.5)
        visit = await claim_one(frontier)
        assert (visit.delay_secs, len(visit.records)) == (2.5, 2)
        await check_frontier(frontier)
