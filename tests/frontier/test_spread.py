"""Domains of very many hosts: spread over partitions, and still one domain."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.records import CrawlBudget
from rdfcrawl.frontier.queue.candidate import FORGOTTEN, away_partition
from rdfcrawl.frontier.queue.host_clocks import TurnEntry
from rdfcrawl.frontier.redis.operations import LuaScripts
from rdfcrawl.uri import partition_of
from tests.support.frontier_state import (
    candidates,
    check_frontier,
    is_away,
    new_ingest,
)

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.frontier_state import PartitionState
    from tests.support.redis_fixtures import MakeFrontier

DOMAIN = "giant.example"
SMALL: dict[str, Any] = {"partitions": 4, "domain_hosts": 20}


def names(n: int, path: str = "") -> list[str]:
    """Return a URL of each of `n` hosts."""
    return [f"https://h{i}.{DOMAIN}/{path}" for i in range(n)]


def sizes(states: list[PartitionState]) -> list[int]:
    """Return how many hosts each partition has, that of the domain first."""
    home = partition_of(DOMAIN, len(states))
    hosts = [len(state.hosts) for state in states]
    return hosts[home:] + hosts[:home]


def away_key(n_partitions: int = 4) -> tuple[str, int]:
    """Return a host that comes late, and where it is then."""
    key = f"h99.{DOMAIN}"
    return key, away_partition(key, n_partitions)


async def test_what_is_forgotten_is_new_again(make_frontier: MakeFrontier) -> None:
    """If a fingerprint is forgotten, then once; so it is of a host that is away.

    Unseen URIs are not forgotten, and add no host.
    """
    frontier = await make_frontier(**SMALL)
    urls = names(40)
    found = candidates(frontier, urls)
    await frontier.add(found)
    before = await check_frontier(frontier)
    assert any(sizes(before)[1:])
    forgotten = [each._replace(item=FORGOTTEN) for each in found]
    unknown = candidates(frontier, [f"https://other{i}.example/" for i in range(3)])
    forgotten += [each._replace(item=FORGOTTEN) for each in unknown]
    for _ in range(2):
        assert (await frontier.add(forgotten)).new == 0
        after = await check_frontier(frontier)
        assert sum(len(x.hosts) for x in after) == 40
    assert (await frontier.add(found)).new == 40


class TestWhereHostsLie:
    """Which hosts are away, and that all workers agree on it."""

    async def test_hosts_beyond_some_are_in_all_other_partitions(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a domain has 320 hosts, then 20 lie together, and the others evenly."""
        frontier = await make_frontier(**SMALL)
        assert (await frontier.add(candidates(frontier, names(320)))).new == 320
        home, *others = sizes(await check_frontier(frontier))
        assert home == 20
        assert sum(others) == 300
        assert all(75 < n < 125 for n in others), others

    async def test_small_domains_and_the_domain_itself_are_where_they_were(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a domain has no more hosts than lie together, then none is away."""
        frontier = await make_frontier(**SMALL)
        urls = [f"https://h{i}.d{d}.example/" for i in range(20) for d in range(9)]
        await frontier.add(candidates(frontier, urls))
        states = await check_frontier(frontier)
        await frontier.add(candidates(frontier, names(50)))
        own = [f"https://{DOMAIN}/", f"https://www.{DOMAIN}/"]
        await frontier.add(candidates(frontier, own))
        home = states[partition_of(DOMAIN, 4)]
        assert not home.counters["mk"]
        for number, state in enumerate(await check_frontier(frontier)):
            for key in state.hosts:
                if not key.startswith("h") or not key.endswith(DOMAIN):
                    assert number == partition_of(key, 4)

    @pytest.mark.parametrize("options", [{"domain_hosts": 0}, {"partitions": 1}])
    async def test_nothing_is_spread_if_that_is_not_wanted(
        self, make_frontier: MakeFrontier, options: dict[str, int]
    ) -> None:
        """If the setting is 0, or there is one partition, then all hosts lie there."""
        frontier = await make_frontier(**SMALL | options)
        await frontier.add(candidates(frontier, names(50)))
        home, *others = sizes(await check_frontier(frontier))
        assert (home, sum(others)) == (50, 0)

    async def test_a_worker_that_knows_nothing_finds_all_seen(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If another worker offers the same links, then each host is where it was."""
        first, second = await make_frontier(**SMALL), await make_frontier(**SMALL)
        await first.add(candidates(first, names(100)))
        before = await check_frontier(first)
        assert (await second.add(candidates(second, names(100)))).seen == 100
        after = await check_frontier(second)
        assert [s.hosts for s in after] == [s.hosts for s in before]
        more = await second.add(candidates(second, names(100, "more")))
        assert more.new == 100
        assert sizes(await check_frontier(first)) == sizes(before)

    async def test_a_later_worker_keeps_the_crawls_own_bound(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a worker has another setting, then that of the crawl holds."""
        await make_frontier(**SMALL)
        other = await make_frontier(**SMALL | {"domain_hosts": 0})
        await other.add(candidates(other, names(50)))
        assert sizes(await check_frontier(other))[0] == 20

    async def test_a_host_that_was_marked_as_seen_stays(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a URL of a host was marked before, then it is not queued elsewhere."""
        frontier = await make_frontier(**SMALL)
        key, _ = away_key()
        await frontier.add([new_ingest(frontier).seen_only(f"https://{key}/")])
        await frontier.add(candidates(frontier, names(50)))
        added = await frontier.add(candidates(frontier, [f"https://{key}/"]))
        assert added.seen == 1
        await frontier.add(candidates(frontier, [f"https://{key}/more"]))
        states = await check_frontier(frontier)
        assert key in states[partition_of(DOMAIN, 4)].hosts

    async def test_what_is_told_is_forgotten_if_redis_comes_back_older(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If Redis has lost that hosts are away, then it decides again, and once."""
        frontier = await make_frontier(**SMALL)
        await frontier.add(candidates(frontier, names(100)))
        for prefix in frontier._prefixes:
            await redis.delete(*[name async for name in redis.scan_iter(f"{prefix}:*")])
        frontier.state.n_restores += 1
        await frontier.add(candidates(frontier, names(100)[::-1]))
        assert sizes(await check_frontier(frontier))[0] == 20

    async def test_addresses_are_spread_too(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If very many hosts of a domain are looked up, then no partition has all."""
        frontier = await make_frontier(**SMALL)
        hosts = [f"h{i}.{DOMAIN}" for i in range(90)]
        found = dict.fromkeys(hosts, "192.0.2.1")
        assert (
            await frontier.addresses.agree(found)
            == await frontier.addresses.of(hosts)
            == found
        )
        kept = [await redis.hlen(f"{prefix}:ip") for prefix in frontier._prefixes]
        assert sum(n > 10 for n in kept) == 3


class TestBudgets:
    """A domain's budgets are exact, wherever its hosts lie."""

    async def test_hosts_that_are_away_are_counted(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a domain may have 60 hosts, then it has; the rest waits until it may."""
        small = await make_frontier(budget=CrawlBudget(hosts=60), **SMALL)
        added = await small.add(candidates(small, names(100)))
        assert (added.new, added.over_domain) == (60, 40)
        again = await make_frontier(budget=CrawlBudget(hosts=60), **SMALL)
        assert (await again.add(candidates(again, names(100)))).seen == 100
        await check_frontier(small)
        larger = await make_frontier(budget=CrawlBudget(hosts=75), **SMALL)
        assert await larger.take_up(0, larger.options.budget) == 15
        states = await check_frontier(larger)
        assert sum(len(state.over) for state in states) == 25
        free = await make_frontier(**SMALL)
        assert await free.take_up(0, free.options.budget) == 25
        states = await check_frontier(free)
        assert sum(sizes(states)) == 100
        assert not any(state.over for state in states)

    async def test_uris_of_hosts_that_are_away_are_counted(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If hosts and domain have budgets of URIs, then exactly so many are taken."""
        budget = CrawlBudget(of_host=3, of_domain=200)
        frontier = await make_frontier(budget=budget, **SMALL)
        links = [url for i in range(4) for url in names(80, str(i))]
        added = await frontier.add(candidates(frontier, links))
        assert added.new == 200
        assert added.over_host + added.over_domain == len(links) - 200
        other = await make_frontier(budget=budget, **SMALL)
        assert (await other.add(candidates(other, links))).new == 0
        await check_frontier(frontier)
        free = await make_frontier(budget=CrawlBudget(of_host=3), **SMALL)
        assert await free.take_up(0, free.options.budget) == 40
        states = await check_frontier(free)
        assert {h["a"] for s in states for h in s.hosts.values()} == {"3"}

    async def test_a_budget_that_comes_later_counts_what_is_new(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a domain has got a budget of URIs, then seen URIs take none of it."""
        free = await make_frontier(**SMALL)
        await free.add(candidates(free, names(80)))
        bound = await make_frontier(budget=CrawlBudget(of_domain=50), **SMALL)
        added = await bound.add(candidates(bound, names(80) + names(80, "more")))
        assert (added.new, added.seen, added.over_domain) == (50, 80, 30)

    async def test_two_workers_at_once_share_the_last_places(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If two offer other links to the same hosts, then both budgets are exact."""
        budget = CrawlBudget(of_host=2, of_domain=150)
        workers = [await make_frontier(budget=budget, **SMALL) for _ in range(2)]
        for worker in workers:
            await worker.add(candidates(worker, names(60)))
        await asyncio.gather(*(redis.ping() for _ in workers))  # both are connected
        added = await asyncio.gather(
            *(
                worker.add(candidates(worker, names(60, f"{number}")))
                for number, worker in enumerate(workers)
            )
        )
        # Who is refused while the other gives back may come later.
        assert sum(each.new for each in added) <= 90
        await check_frontier(workers[0])
        links = names(60, "0") + names(60, "1") + names(60, "2")
        await workers[0].add(candidates(workers[0], links))
        states = await check_frontier(workers[1])
        assert sum(state.counters["q"] for state in states) == 120

    @pytest.mark.parametrize("n_runs", range(4))
    async def test_a_death_between_two_calls_costs_nothing(
        self, make_frontier: MakeFrontier, n_runs: int
    ) -> None:
        """If a worker dies amid adding, then URIs offered again are counted once."""
        budget = CrawlBudget(of_host=3, hosts=60, of_domain=150)
        frontier = await make_frontier(budget=budget, **SMALL)
        links = [url for i in range(4) for url in names(80, str(i))]
        dying = await make_frontier(budget=budget, **SMALL)
        runs, run = count(), dying.adder._scripts.run

        class Mortal(LuaScripts):
            async def run(self, *args: Any) -> list[object]:
                if next(runs) == n_runs:
                    raise ConnectionError
                return await run(*args)

        dying.adder._scripts.__class__ = Mortal
        with suppress(ConnectionError):
            await dying.add(candidates(dying, links))
        await frontier.add(candidates(frontier, links))
        states = await check_frontier(frontier)
        assert sum(state.counters["q"] for state in states) == 150
        assert sum(sizes(states)) <= 60


class TestVisits:
    """Hosts that are away are visited like all others."""

    async def test_they_take_one_turn_in_each_partition(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If hosts are away, then they have the turns of one host in each partition."""
        frontier = await make_frontier(**SMALL)
        await frontier.add(candidates(frontier, names(320)))
        home = partition_of(DOMAIN, 4)
        for partition in range(4):
            visits, _ = await frontier.claim([partition], most_keys=99, most_spare=0)
            assert len(visits) == (17 if partition == home else 1)
            assert partition == home or visits[0].is_of_crowd
        await check_frontier(frontier)

    async def test_what_was_put_back_failed_or_died_comes_back_where_it_was(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If hosts that are away fail, then all is asked for again in the end."""
        frontier = await make_frontier(batch=1, **SMALL)
        await frontier.add(candidates(frontier, names(60)))
        visits, _ = await frontier.claim(range(4), most_keys=99)
        assert len(visits) == 60
        for visit in visits[::2]:
            visit.returned, visit.host_refused = {0: visit.records[0]}, True
        for visit in visits[1::2]:
            visit.failed = [0]
        await frontier.release(visits)
        await check_frontier(frontier)
        assert await frontier.ack(visits) == 0
        left = await frontier.owed.look(10.0)
        assert (left.n_others, left.n_down) == (0, 30)
        assert (await frontier.owed.refusing(5))[0] == 30
        assert await frontier.retry(["failed"]) == 30
        states = await check_frontier(frontier)
        assert sum(sizes(states)) == 60
        again, _ = await frontier.claim(range(4), most_keys=99)
        assert len({visit.key for visit in again}) == 60


class TestClocks:
    """A host has one clock, wherever it lies."""

    async def test_whoever_asks_for_a_host_that_is_away_finds_its_clock(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a visit has just asked a host, then others wait, who know it not."""
        first, second = await make_frontier(**SMALL), await make_frontier(**SMALL)
        await first.add(candidates(first, names(60)))
        visits, _ = await first.claim(range(4), most_keys=99)
        home = partition_of(DOMAIN, 4)
        visit = next(visit for visit in visits if visit.partition != home)
        entry = TurnEntry("a", visit.key, 9.0, visit.epoch, 60.0)
        entry = entry._replace(partition=visit.partition)
        assert await first.turns.take([entry]) == [(1, 0)]
        sent = entry._replace(hold_secs=None, sent_at=time.monotonic())
        await first.turns.take([sent])
        for frontier in (second, second, first):
            other = TurnEntry("b", visit.key, 9.0, None, 60.0)
            near = TurnEntry("c", "h0." + DOMAIN, 0.0, None, 60.0)
            found = dict(
                zip("bc", await frontier.turns.take([other, near]), strict=True)
            )
            assert found["c"] == (1, 0) or frontier is first
            what, ms = found["b"]
            assert what == 1
            assert 8000 < ms <= 9000

    async def test_a_host_whose_clock_runs_stays(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If something of a host was just asked for, then its clock is not left."""
        frontier = await make_frontier(**SMALL)
        key, _ = away_key()
        await frontier.turns.take([TurnEntry("a", key, 9.0, None, 60.0)])
        await frontier.add(candidates(frontier, names(110)))
        states = await check_frontier(frontier)
        home = states[partition_of(DOMAIN, 4)]
        assert key in home.hosts
        assert Counter(is_away(home, f"h{i}.{DOMAIN}") for i in range(110)) == {
            True: 89,
            False: 21,
        }


async def test_a_full_server_says_which_links_of_a_giant_wait(
    make_frontier: MakeFrontier,
) -> None:
    """If links are only looked at, then those of away hosts are reported, too."""
    first: Frontier = await make_frontier(**SMALL)
    await first.add(candidates(first, names(60)))
    for frontier in (first, await make_frontier(**SMALL)):
        links = candidates(frontier, names(60) + names(70, "more"))
        unseen = await frontier.unseen(links)
        assert unseen == links[60:]
    await check_frontier(first)
