"""The beginning of a visit in Redis: hosts are leased, each with a batch."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, cast

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import Record
from rdfcrawl.frontier.queue.candidate import STORED
from tests.support.frontier_claims import add, claim, claim_one, restart, urls_of
from tests.support.frontier_state import (
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
