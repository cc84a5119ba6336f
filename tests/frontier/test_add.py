"""URIs into the frontier: queued once, budgets, the seen-set, the crawl's own keys."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from redis.exceptions import OutOfMemoryError, ResponseError

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import CrawlBudget
from rdfcrawl.frontier.queue.candidate import Candidate
from rdfcrawl.frontier.queue.candidate_adder import MAX_KEYS_PER_CALL, MAX_URIS_PER_CALL
from rdfcrawl.frontier.queue.frontier_client import FILL_BY_INTSET_LIMIT, StateCounts
from rdfcrawl.frontier.redis.errors import is_outage
from tests.support.frontier_state import (
    candidates,
    check_frontier,
    new_ingest,
    read_partition,
)

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from tests.support.redis_fixtures import MakeFrontier


def paths(n: int, host: str = "a.example", start: int = 0) -> list[str]:
    """Return URLs of one host."""
    return [f"https://{host}/r/{i}" for i in range(start, start + n)]


class TestAdd:
    """The results of adding candidates."""

    async def test_a_new_uri_is_queued_and_a_repeat_is_not(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a URI is added twice, in two calls or in one, then it is queued once."""
        frontier = await make_frontier()
        (one, two) = candidates(frontier, paths(2))
        first = await frontier.add([one, one, two])
        assert (first.new, first.seen, first.over_host) == (2, 1, 0)
        again = await frontier.add([two])
        assert (again.new, again.seen, again.over_host) == (0, 1, 0)
        (state,) = await check_frontier(frontier)
        assert state.queued_urls() == paths(2)

    async def test_equal_urls_are_the_same_uri(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If two spellings have one normal form, then the first one is queued."""
        frontier = await make_frontier()
        spellings = ["https://a.example/%7ex", "https://a.example/~x"]
        added = await frontier.add(candidates(frontier, spellings))
        assert (added.new, added.seen) == (1, 1)
        (state,) = await check_frontier(frontier)
        assert state.queued_urls() == spellings[:1]

    async def test_uris_are_spread_over_partitions_by_registered_domain(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If hosts are of many domains, then each lies where its domain says."""
        frontier = await make_frontier(partitions=4)
        urls = [f"https://{sub}.d{i}.example/" for i in range(30) for sub in "ab"]
        added = await frontier.add(candidates(frontier, urls))
        assert added.new == 60
        states = await check_frontier(frontier)
        for state in states:
            domains = {key.partition(".")[2] for key in state.hosts}
            assert len(state.hosts) == 2 * len(domains)
        assert sum(len(state.hosts) > 0 for state in states) > 1

    async def test_calls_are_cut_to_bounded_scripts(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If thousands of URIs come at once, then no script run gets more than 500."""
        frontier = await make_frontier()
        urls = paths(MAX_URIS_PER_CALL * 2 + 1)
        urls += [f"https://h{i}.example/" for i in range(MAX_KEYS_PER_CALL * 2 + 1)]
        await redis.config_resetstat()
        added = await frontier.add(candidates(frontier, urls))
        calls = (await redis.info("commandstats"))["cmdstat_evalsha"]["calls"]
        assert added.new == len(urls)
        # 500, 500, the one left with 99 other hosts, 100, 2
        assert calls == 5
        await check_frontier(frontier)

    async def test_bands_are_served_in_order(self, make_frontier: MakeFrontier) -> None:
        """If a seed comes after links of its host, then it is visited before them."""
        frontier = await make_frontier(batch=10)
        await frontier.add(candidates(frontier, paths(3)))
        await frontier.add([new_ingest(frontier).seed("https://a.example/seed")])
        (visit,), _ = await frontier.claim([0], most_keys=1)
        urls = [record.url for record in visit.records]
        assert urls == ["https://a.example/seed", *paths(3)]

    async def test_seen_only_is_not_queued(self, make_frontier: MakeFrontier) -> None:
        """If a URI is marked as seen, then a link to it is not queued."""
        frontier = await make_frontier()
        (url,) = paths(1)
        added = await frontier.add([new_ingest(frontier).seen_only(url)])
        assert added.new == 1
        assert (await frontier.add(candidates(frontier, [url]))).seen == 1
        (state,) = await check_frontier(frontier)
        assert state.hosts == {}
        assert await frontier.counts() == StateCounts(known=1, seen=1)

    async def test_a_budget_is_for_ever(self, make_frontier: MakeFrontier) -> None:
        """If a host's budget is spent, then new URIs are refused even when all ran."""
        frontier = await make_frontier(budget=CrawlBudget(3), batch=10)
        added = await frontier.add(candidates(frontier, paths(5)))
        assert (added.new, added.seen, added.over_host) == (3, 0, 2)
        visits, _ = await frontier.claim([0], most_keys=1)
        await frontier.release(visits)
        await frontier.ack(visits)
        again = await frontier.add(candidates(frontier, paths(5)))
        assert (again.new, again.seen, again.over_host) == (0, 5, 0)  # reported once
        await check_frontier(frontier)

    async def test_a_refused_uri_is_not_marked_as_seen(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a URI was refused and the budget is raised, then it is queued."""
        small = await make_frontier(budget=CrawlBudget(1))
        await small.add(candidates(small, paths(2)))
        large = await make_frontier(budget=CrawlBudget(2))
        assert (await large.add(candidates(large, paths(2)))).new == 1
        await check_frontier(large)

    async def test_a_budget_does_not_hold_back_what_is_seen_only(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If the budget is spent, then seen-only URIs are taken all the same."""
        frontier = await make_frontier(budget=CrawlBudget(1))
        await frontier.add(candidates(frontier, paths(1)))
        intake = new_ingest(frontier)
        added = await frontier.add([intake.seen_only(url) for url in paths(3)])
        assert (added.new, added.seen, added.over_host) == (2, 1, 0)
        await check_frontier(frontier)


class TestSeenSet:
    """Linear hashing over SETs of integers."""

    @pytest.mark.parametrize("limit", sorted(FILL_BY_INTSET_LIMIT))
    async def test_it_is_exact_and_compact_while_it_grows(
        self, make_frontier: MakeFrontier, redis: Redis, limit: int
    ) -> None:
        """If it grows through splits, then it answers as a set does, in intsets."""
        await redis.config_set("set-max-intset-entries", limit)
        frontier = await make_frontier(intset_limit=limit)
        fill = FILL_BY_INTSET_LIMIT[limit]
        choose = random.Random(7)
        model: set[int] = set()
        for _ in range(20):
            batch = [
                choose.choice(list(model)[:1000])
                if model and choose.random() < 0.1
                else choose.randrange(-(2**63), 2**63)
                for _ in range(fill)
            ]
            expected = len(set(batch) - model)
            added = await frontier.add([Candidate(0, "h", f, b"k") for f in batch])
            assert (added.new, added.seen) == (expected, len(batch) - expected)
            model.update(batch)
        (state,) = await check_frontier(frontier)
        assert state.fingerprints() == model
        assert len(state.buckets) >= 16
        assert max(len(marks) for _, marks in state.buckets.values()) <= limit
        everything = [Candidate(0, "h", f, b"k") for f in model]
        assert (await frontier.add(everything)).seen == len(model)
        strangers = {choose.randrange(-(2**63), 2**63) for _ in range(1000)} - model
        news = [Candidate(0, "h", f, b"k") for f in strangers]
        assert (await frontier.add(news)).new == len(strangers)

    async def test_fingerprints_at_the_edges(self, make_frontier: MakeFrontier) -> None:
        """If fingerprints are small, negative or extreme, then splits lose none."""
        frontier = await make_frontier(intset_limit=512)
        edges = [0, 1, -1, -5, 10**14, -(10**14), 10**15, -(10**15), 2**63 - 1]
        edges += [-(2**63), *range(-1500, -100), *range(100, 1500)]
        assert len(set(edges)) == len(edges)
        marks = [Candidate(0, "h", f, b"k") for f in edges]
        assert (await frontier.add(marks)).new == len(edges)
        assert (await frontier.add(marks)).seen == len(edges)
        (state,) = await check_frontier(frontier)
        assert state.fingerprints() == set(edges)
        assert len(state.buckets) > 8


class TestCrawl:
    """What all workers of a crawl share."""

    async def test_another_schema_is_refused(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If another version wrote the crawl, then it is not opened, and not harmed."""
        frontier = await make_frontier()
        await redis.hset(frontier.key("conf"), "schema", "999")
        with pytest.raises(ConfigError, match=r"CRAWL_ID=c\b.*schema 999"):
            await make_frontier()
        assert await redis.hget(frontier.key("conf"), "schema") == b"999"

    async def test_partitions_are_fixed_when_the_crawl_is_made(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a worker wants other partitions than the crawl has, then it joins them."""
        first = await make_frontier(partitions=3)
        second = await make_frontier(partitions=8, intset_limit=512)
        assert (first.partitions, second.partitions) == (3, 3)
        urls = [f"https://h{i}.example/" for i in range(20)]
        await first.add(candidates(first, urls))
        assert (await second.add(candidates(second, urls))).seen == 20
        await check_frontier(second)

    async def test_clear_forgets_this_crawl_only(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If a crawl is cleared, then nothing of it is left, and all of others is."""
        await redis.set("someone:else", "1")
        others = {}
        for crawl_id in ("c2", "c.1", "c.x", "c-x", "1"):
            other = await make_frontier(crawl_id=crawl_id, partitions=2)
            urls = [f"https://h{i}.example/" for i in range(10)]
            await other.add(candidates(other, urls))
            await other.beat("w", {"document/seen": 1})
            others[crawl_id] = other
        before = await redis.dbsize()
        frontier = await make_frontier(partitions=2)
        await frontier.add(candidates(frontier, paths(3000)))
        visits, _ = await frontier.claim([0, 1], most_keys=1)
        assert visits
        await frontier.beat("w", {"document/seen": 1})
        await frontier.clear()
        assert await redis.dbsize() == before
        for other in others.values():
            assert (await other.counts()).queued == 10
            await check_frontier(other)

    async def test_a_cleared_crawl_can_be_made_anew(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a crawl is cleared and opened, then it has seen nothing."""
        frontier = await make_frontier()
        await frontier.add(candidates(frontier, paths(2)))
        await frontier.clear()
        await frontier.open()
        assert (await frontier.add(candidates(frontier, paths(2)))).new == 2
        await check_frontier(frontier)

    async def test_flushed_scripts_are_loaded_again(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If the server forgets the scripts, then the next call does not notice."""
        frontier = await make_frontier()
        await redis.script_flush()
        assert (await frontier.add(candidates(frontier, paths(600)))).new == 600
        await redis.script_flush()
        visits, _ = await frontier.claim([0], most_keys=1)
        assert len(visits) == 1
        await check_frontier(frontier)

    async def test_live_workers_and_their_figures(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If a worker is not heard of or left, then it is not live; figures stay."""
        frontier = await make_frontier()
        await frontier.beat("dead", {"document/seen": 1})
        await redis.zadd(frontier.key("workers"), {"dead": 1})
        await frontier.beat("gone", {"document/seen": 2})
        await frontier.leave("gone")
        assert await frontier.beat("here", {"document/seen": 3.5}) == ["here"]
        assert await frontier.figures() == {
            "dead": {"document/seen": 1},
            "gone": {"document/seen": 2},
            "here": {"document/seen": 3.5},
        }


class TestFullMemory:
    """`maxmemory` is reached and nothing may be evicted."""

    async def test_intake_stops_and_the_rest_goes_on(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If memory is full, then `add` fails without a trace and all else runs."""
        frontier = await make_frontier(batch=2)
        stalled = await make_frontier(batch=2, lease_secs=0.0)
        urls = [u for h in "abcd" for u in paths(5, host=f"{h}.example")]
        await frontier.add(candidates(frontier, urls))
        claimed, _ = await frontier.claim([0], most_keys=1)
        before = await read_partition(redis, frontier._prefixes[0])
        await redis.config_set("maxmemory", 1)
        with pytest.raises((OutOfMemoryError, ResponseError)) as refused:
            await frontier.add(candidates(frontier, paths(3, start=100)))
        assert is_outage(refused.value), "it is tried again later"
        assert await read_partition(redis, frontier._prefixes[0]) == before
        more, _ = await frontier.claim([0], most_keys=2)
        assert len(more) == 2
        assert len((await stalled.claim([0], most_keys=1))[0]) == 1
        claimed[0].returned = {0: claimed[0].records[0]}
        assert await frontier.renew([*claimed, *more]) == []
        assert await frontier.release([*claimed, more[0]]) == 0
        more[0].failed = [0]
        assert await frontier.ack([more[0]]) == 0, "it frees before it adds"
        assert await frontier.ack(claimed) == 0
        assert await frontier.reap() == (1, 2, 0)
        await check_frontier(frontier)
