"""Domains of very many hosts: bounded, and no burden for other hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core.records import CrawlBudget
from tests.support.frontier_state import candidates, check_frontier

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.redis_fixtures import MakeFrontier

_HONEST = [f"site{i}.example" for i in range(10)]


def names(n: int, domain: str = "giant.example") -> list[str]:
    """Return one URL for each of `n` hosts of a domain."""
    return [f"https://h{i}.{domain}/" for i in range(n)]


async def commit(frontier: Frontier, visits: list[Visit]) -> None:
    """End visits with all that they were to do."""
    await frontier.release(visits)
    await frontier.ack(visits)


async def visited(frontier: Frontier, most_keys: int) -> list[str]:
    """Visit all there is, and return the keys in their order."""
    order: list[str] = []
    while True:
        visits, _ = await frontier.claim(
            range(frontier.partitions), most_keys=most_keys
        )
        if not visits:
            return order
        order += [visit.key for visit in visits]
        await commit(frontier, visits)


class TestTurns:
    """A domain of very many hosts takes turns with others as if it were one."""

    async def test_hosts_beside_a_giant_are_visited_as_if_it_were_one(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If 5,000 names are queued before ten hosts, then these do not wait."""
        frontier = await make_frontier(batch=1)
        added = await frontier.add(candidates(frontier, names(5000)))
        assert added.new == 5000
        pages = [f"https://{key}/{i}" for i in range(20) for key in _HONEST]
        await frontier.add(candidates(frontier, pages))
        n_honest = n_giant = 0
        while n_honest < len(pages):
            visits, _ = await frontier.claim([0], most_keys=8, most_spare=0)
            honest = [visit for visit in visits if visit.key in _HONEST]
            n_honest += len(honest)
            n_giant += len(visits) - len(honest)
            await commit(frontier, visits)
        # Sixteen hosts stand for themselves, all others together for one.
        assert n_giant <= 16 + len(pages) // 4
        ready = f"{frontier._prefixes[0]}:ready"
        assert await frontier.redis.zcard(ready) <= 16 + len(_HONEST) + 1

    async def test_a_giant_alone_has_all_there_is(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If no others are due, then each claim is full, and all hosts are visited."""
        frontier = await make_frontier()
        await frontier.add(candidates(frontier, names(100)))
        visits, next_due = await frontier.claim([0], most_keys=50)
        assert (len(visits), next_due) == (50, 0)
        await commit(frontier, visits)
        assert len(set(await visited(frontier, 50))) == 50
        assert (await frontier.counts()).is_over
        await check_frontier(frontier)

    async def test_what_is_claimed_ahead_is_not_the_crowds(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If no worker is idle, then a crowd has its turn and no more."""
        frontier = await make_frontier()
        await frontier.add(candidates(frontier, names(100)))
        await frontier.claim([0], most_keys=17, most_spare=0)  # all in turn
        visits, _ = await frontier.claim([0], most_keys=50, most_spare=0)
        assert [visit.is_of_crowd for visit in visits] == [True]
        await check_frontier(frontier)

    async def test_a_host_of_a_crowd_keeps_its_delay(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If hosts of a crowd were visited just now, then none is due yet."""
        frontier = await make_frontier(delay_secs=60.0, batch=1)
        urls = [url + path for url in names(20) for path in "ab"]
        await frontier.add(candidates(frontier, urls))
        visits, _ = await frontier.claim([0], most_keys=50)
        assert len(visits) == 20
        for visit in visits:
            visit.not_before_secs = 0.0
        await frontier.release(visits)
        again, next_due = await frontier.claim([0], most_keys=50)
        assert again == []
        assert next_due is not None
        assert 50 < next_due <= 60
        await check_frontier(frontier)

    async def test_hosts_of_one_address_take_turns_as_one(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If very many domains lead to one server, then they hold up no others."""
        frontier = await make_frontier(batch=1)
        farm = [f"https://farm{n}.example/{i}" for n in range(100) for i in range(9)]
        await frontier.add(candidates(frontier, farm))
        visits, _ = await frontier.claim([0], most_keys=200)
        assert not any(visit.is_of_crowd for visit in visits)
        for visit in visits:  # the address is known by now
            visit.address = "192.0.2.1"
        await commit(frontier, visits)
        await check_frontier(frontier)
        pages = [f"https://{key}/{i}" for i in range(5) for key in _HONEST]
        await frontier.add(candidates(frontier, pages))
        n_honest = n_farm = 0
        while n_honest < len(pages):
            visits, _ = await frontier.claim([0], most_keys=8, most_spare=0)
            honest = [visit for visit in visits if visit.key in _HONEST]
            n_honest += len(honest)
            n_farm += len(visits) - len(honest)
            for visit in visits:
                visit.address = "192.0.2.2" if visit in honest else "192.0.2.1"
            await commit(frontier, visits)
        # Sixteen stand for themselves, with eight URIs left each; the others for one.
        assert n_farm <= 16 * 8 + len(pages) // 4
        assert await frontier.redis.zcard(f"{frontier._prefixes[0]}:ready") <= 16 + 1
        await check_frontier(frontier)
        assert len(await visited(frontier, 50)) == len(farm) - 100 - n_farm

    async def test_hosts_of_a_crowd_that_refuse_are_waited_for(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If all that is left refuses, then it is seen, though it is in a crowd."""
        frontier = await make_frontier(batch=1)
        await frontier.add(candidates(frontier, names(20)))
        visits, _ = await frontier.claim([0], most_keys=50)
        for visit in visits:
            visit.returned = dict(enumerate(visit.records))
            visit.host_refused = True
            visit.not_before_secs = 1000.0
        left = await frontier.owed.look(10.0)
        assert (left.n_others, left.n_down) == (20, 0)
        await frontier.release(visits)
        await frontier.ack(visits)
        left = await frontier.owed.look(10.0)
        assert (left.n_others, left.n_down, left.n_due) == (0, 20, 0)
        assert (await frontier.owed.look(2000.0)).n_due == 20
        owed = await frontier.owed.list(3)
        assert (owed.n_uris, owed.n_hosts, len(owed.hosts)) == (20, 20, 3)
        assert await frontier.owed.forgive() == 20
        await check_frontier(frontier)
        assert len((await frontier.claim([0], most_keys=50))[0]) == 20


class TestBudgets:
    """No more hosts and URIs of a registered domain than its budget allows."""

    async def test_hosts_over_the_budget_are_kept_and_taken_up(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a domain has more hosts than it may, then they wait until it may."""
        small = await make_frontier(budget=CrawlBudget(hosts=30))
        added = await small.add(candidates(small, names(50)))
        assert (added.new, added.over_host, added.over_domain) == (30, 0, 20)
        own = ["https://giant.example/", "https://www.giant.example/"]
        assert (await small.add(candidates(small, own))).new == 2  # the domain itself
        more = [url + "more" for url in names(50)]
        added = await small.add(candidates(small, more))
        assert (added.new, added.over_domain) == (30, 20)  # known hosts go on
        again = await small.add(candidates(small, names(50)))
        assert (again.new, again.seen) == (0, 50)
        (state,) = await check_frontier(small)
        assert len(state.over) == 40
        larger = await make_frontier(budget=CrawlBudget(hosts=35))
        assert await larger.take_up(0, larger.options.budget) == 10
        (state,) = await check_frontier(larger)
        assert len(state.over) == 30
        free = await make_frontier()
        assert await free.take_up(0, free.options.budget) == 30
        (state,) = await check_frontier(free)
        assert (len(state.over), len(state.hosts)) == (0, 52)

    async def test_uris_of_a_domain_are_counted_over_its_hosts(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If hosts of a domain have its URIs together, then others are refused."""
        frontier = await make_frontier(budget=CrawlBudget(of_host=8, of_domain=20))
        urls = [f"{host}{i}" for host in names(4) for i in range(10)]
        added = await frontier.add(candidates(frontier, urls))
        assert (added.new, added.over_host, added.over_domain) == (20, 4, 16)
        assert (await frontier.add(candidates(frontier, names(1, "b.test")))).new == 1
        await check_frontier(frontier)
        free = await make_frontier(budget=CrawlBudget(of_host=8))
        assert await free.take_up(0, free.options.budget) == 12
        await check_frontier(free)

    async def test_a_refused_host_costs_nothing_but_what_is_kept(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If 12,000 hosts are refused, then no more than 10,000 URIs are kept."""
        frontier = await make_frontier(budget=CrawlBudget(hosts=10))
        await frontier.add(candidates(frontier, names(12_000)))
        (state,) = await check_frontier(frontier)
        assert (len(state.hosts), len(state.over)) == (10, 10_000)
