"""The life of a visit in Redis: claimed, released, acknowledged."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import Record
from rdfcrawl.frontier.queue.candidate import STORED
from tests.support.frontier_claims import add, claim, claim_one, restart, urls_of
from tests.support.frontier_state import (
    candidates,
    check_frontier,
    expire_leases,
    new_ingest,
)

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.core.visits import Visit
    from tests.support.redis_fixtures import MakeFrontier


_HOST = "h{}.example".format


def record_like(before: Record, choose: random.Random) -> Record:
    """Return a link of the host of another one, with parts of its URL and parent."""
    path = choose.choice(["x", "/", "y" * choose.randrange(130)])
    url = f"{before.url[: choose.randrange(20, 90)]}{choose.random()}{path}"
    parents = ["", before.parent, before.url, f"https://p.example/{path}", url + path]
    return Record(url, depth=choose.randrange(2), parent=choose.choice(parents))


class TestClaim:
    """Which hosts are leased, and with how much."""

    async def test_a_batch_is_in_order_and_the_host_is_locked(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a host is claimed, then no other claim gets it until it is released."""
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

    @pytest.mark.parametrize("batch", [1, 2, 5])
    async def test_few_uris_wait_with_their_host(
        self, make_frontier: MakeFrontier, redis: Redis, batch: int
    ) -> None:
        """If up to three URIs wait, in several bands, none of them is in a list.

        They are claimed by band, then in the order of arrival, before those in lists.
        """
        frontier = await make_frontier(batch=batch)
        ingest, long = new_ingest(frontier), f"https://p.example/{'p' * 40}"
        bands = {"l1": b"2", "urgent": b"4", "l2": b"2", "l3": b"2", "s": b"1"}
        urls = {name: f"https://a.example/{name}" for name in bands}
        for n, (name, band) in enumerate(bands.items()):
            record = Record(urls[name], parent=long if name == "l1" else "")
            await frontier.add([ingest.candidate(record, band)])
            n_lists = len([each async for each in redis.scan_iter("*:q:*")])
            assert (n_lists > 0) == (n > 2)
            await check_frontier(frontier)
        found: list[Record] = []
        while visits := await claim(frontier):
            await check_frontier(frontier)
            await frontier.release(visits)
            await frontier.ack(visits)
            found += visits[0].records
        order = ["s", "urgent", "l1", "l2", "l3"]
        assert [record.url for record in found] == [urls[name] for name in order]
        assert found[2].parent == long
        assert (await frontier.counts()).is_over

    async def test_uris_that_wait_with_their_host_share_bytes(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If URIs of a host share any prefix and suffix, each is claimed as it was."""
        frontier = await make_frontier(batch=1)
        ingest, choose = new_ingest(frontier), random.Random(1)
        latest = {host: Record(f"https://{host}/") for host in map(_HOST, range(40))}
        added: set[Record] = set()
        found: list[Record] = []
        for n_more in (3, 0, 1, 0, 0):
            for host in [*latest] * n_more:
                record = latest[host] = record_like(latest[host], choose)
                band = choose.choice([b"1", b"2"])
                await frontier.add([ingest.candidate(record, band)])
                added.add(record)
            visits = await claim(frontier)
            await check_frontier(frontier)
            await frontier.release(visits)
            await frontier.ack(visits)
            found += [visit.records[0] for visit in visits]
        assert len(found) == len(added) == 160
        assert {*found} == added
        assert (await frontier.counts()).is_over

    async def test_uris_of_a_host_share_their_parent(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If three links of one page wait with their host, it is stored once."""
        frontier = await make_frontier()
        ingest, parent = new_ingest(frontier), f"https://p.example/{'p' * 80}"
        urls = [f"https://a.example/{name}" for name in ("one", "two", "three")]
        records = [Record(url, parent=parent) for url in urls]
        await frontier.add([ingest.candidate(each, b"2") for each in records])
        state = await redis.hgetall(f"{frontier._prefixes[0]}:h:a.example")
        assert sum(map(len, state.values())) < 150
        assert list((await claim_one(frontier)).records) == records

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
    """Queue entries that are not records."""

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
        await redis.hset(f"{frontier._prefixes[0]}:h:a.example", STORED[1], "2\0\0?!")
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
