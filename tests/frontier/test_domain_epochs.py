"""Quotas of registered domains: waiting, grants and outcomes."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.analysis.refresh.domain_schedule import DomainSchedule, new_schedule
from rdfcrawl.core.codec import decode
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import CrawlBudget
from tests.support.epoch_plans import close_epoch, plan_epoch
from tests.support.frontier_claims import claim, claim_one, restart, urls_of
from tests.support.frontier_state import check_frontier, expire_leases
from tests.support.scheduled_domains import (
    commit,
    crawl_epoch,
    epoch_fields,
    epochs_of,
    let_time_pass,
    offered,
)

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.redis_fixtures import MakeFrontier

A = "https://a.example"


def listed(n: int, start: int = 0) -> list[str]:
    """Return URLs that a sitemap lists."""
    return [f"{A}/s/{i}" for i in range(start, start + n)]


def linked(n: int, start: int = 0) -> list[str]:
    """Return URLs that links lead to."""
    return [f"{A}/d/{i}" for i in range(start, start + n)]


def way_of(url: str) -> str:
    """Return s or d, as the paths above begin."""
    return url.split("/")[3]


async def schedule_of(frontier: Frontier) -> DomainSchedule:
    """Return the state of Algorithm 6.1 of the one domain."""
    fields = await epoch_fields(frontier, "a.example")
    return decode(fields["schedule"], DomainSchedule)


async def test_nothing_is_queued_beyond_the_quota(make_frontier: MakeFrontier) -> None:
    """If more URLs are known than the quota, then the rest waits for later epochs."""
    frontier = await make_frontier(epochs=epochs_of(10), batch=3)
    await frontier.add(offered(frontier, listed(30), linked(30)))
    counts = await frontier.counts()
    assert (counts.queued, counts.waiting, counts.is_over) == (0, 60, False)
    first = await crawl_epoch(frontier)
    assert Counter(map(way_of, first)) == {"s": 6, "d": 4}  # 5.5 and 4.5
    await check_frontier(frontier)
    urls = first
    while not (await frontier.counts()).is_over:
        epoch = await crawl_epoch(frontier)
        assert len(epoch) == 10
        urls += epoch
    assert sorted(urls) == sorted([*listed(30), *linked(30)])
    await check_frontier(frontier)


async def test_epochs_equal_the_algorithm(make_frontier: MakeFrontier) -> None:
    """If any URLs are worth it, then each epoch is as the algorithm itself has it.

    Queues never run dry, and every seventh URL is known by both ways.
    """
    frontier = await make_frontier(epochs=epochs_of(12), batch=50)
    dice = random.Random(6)
    worth = {url: dice.random() < 0.4 for url in [*listed(300), *linked(300)]}
    both = [f"{A}/b/{i}" for i in range(60)]
    worth |= {url: dice.random() < 0.8 for url in both}
    queues = []
    for urls, order in ((listed(300), both), (linked(300), both[::-1])):
        mixed = [x for i in range(60) for x in (order[i], *urls[5 * i : 5 * i + 5])]
        queues.append(mixed)
    await frontier.add(offered(frontier, queues[0], queues[1]))
    schedule = new_schedule(12)
    for _ in range(25):
        schedule, plan = plan_epoch(schedule, *queues)
        fetched = await crawl_epoch(frontier, worth.__getitem__)
        assert sorted(fetched) == sorted([*plan.sitemaps, *plan.discovery])
        kept = await schedule_of(frontier)
        assert kept == schedule
        schedule = close_epoch(schedule, plan, worth)
        queues = [[url for url in queue if url not in fetched] for queue in queues]
    await check_frontier(frontier)


async def shares(frontier: Frontier, rates: tuple[float, float], n: int) -> float:
    """Return the mean share of sitemaps in the last half of some epochs.

    A URL is worth it with 1 - rank / rate, by its rank in the epoch.
    """
    dice = random.Random(3)
    found = []
    quota = frontier.epochs.options.quota if frontier.epochs.options else 0
    for epoch in range(n):
        more = listed(quota, epoch * quota), linked(quota, epoch * quota)
        await frontier.add(offered(frontier, *more))
        ranks: Counter[str] = Counter()

        def is_worth_it(url: str, ranks: Counter[str] = ranks) -> bool:
            way = way_of(url)
            ranks[way] += 1
            rate = rates[way == "d"]
            return dice.random() < 1 - (ranks[way] - 1) / rate

        assert len(await crawl_epoch(frontier, is_worth_it)) == quota
        found.append((await schedule_of(frontier)).k_sitemaps / quota)
    return sum(found[n // 2 :]) / len(found[n // 2 :])


async def test_shares_go_where_the_last_url_gains_the_same(
    make_frontier: MakeFrontier,
) -> None:
    """If rates fall with rank, then shares converge to equal marginal rates.

    1 - r/60 and 1 - r/15 are equal where 60 is shared as 48 and 12.
    """
    frontier = await make_frontier(epochs=epochs_of(60), batch=100)
    assert await shares(frontier, (60, 15), 50) == pytest.approx(0.8, abs=0.08)
    log = await frontier.redis.lrange(f"{frontier._prefixes[0]}:el:a.example", 0, -1)
    last = json.loads(log[-1])
    assert last["sitemaps"] + last["links"] == last["quota"] == 60
    assert last["epoch"] == len(log) - 1


async def test_what_a_dead_worker_has_not_logged_is_logged(
    make_frontier: MakeFrontier,
) -> None:
    """If a worker dies before it logs an epoch, then another one has it to log."""
    frontier = await make_frontier(epochs=epochs_of(2), batch=10)
    await frontier.add(offered(frontier, listed(6)))
    assert len(await crawl_epoch(frontier)) == 2
    (ended,) = (await frontier.epochs.look()).ended
    assert json.loads(ended.entry)["epoch"] == 0
    found = []
    for _ in range(2):
        found.append((await frontier.epochs.look()).ended)
        await frontier.redis.zadd(f"{ended.prefix}:eu", {ended.entry: 0}, xx=True)
        found.append((await frontier.epochs.look()).ended)
        await frontier.epochs.logged([ended])
    assert found == [(), (ended,), (), ()]
    await check_frontier(frontier)


async def test_better_source_gets_the_quota(make_frontier: MakeFrontier) -> None:
    """If links are worth it at every rank and sitemaps are not, then links get all."""
    frontier = await make_frontier(epochs=epochs_of(20), batch=100)
    assert await shares(frontier, (1e-9, 1e9), 40) < 0.3


async def test_known_text_is_not_worth_it(make_frontier: MakeFrontier) -> None:
    """If a document has the text of another one of its domain, then it is no gain."""
    frontier = await make_frontier(epochs=epochs_of(4), batch=10)
    await frontier.add(offered(frontier, listed(2), linked(2)))
    await frontier.epochs.look()
    visit = await claim_one(frontier)
    visit.outcomes = dict.fromkeys(range(4), "same")
    await frontier.release([visit])
    await frontier.ack([visit])
    prefix = frontier._prefixes[0]
    found = [await frontier.redis.get(f"{prefix}:eo:{x}:a.example") for x in "sd"]
    assert sorted(x or b"" for x in found) == [b"00", b"10"]
    await check_frontier(frontier)


async def test_short_queue_leaves_its_share_to_the_other(
    make_frontier: MakeFrontier,
) -> None:
    """If links are few, then further URLs of sitemaps follow when those are done."""
    frontier = await make_frontier(epochs=epochs_of(10), batch=10)
    await frontier.add(offered(frontier, listed(30), linked(1)))
    await frontier.epochs.look()
    visit = await claim_one(frontier)
    assert len(visit.records) == 7  # 6 of 10 to sitemaps, and the one link
    # Its links have their share, before the rest goes to sitemaps.
    await frontier.add(offered(frontier, linked=linked(2, 1)))
    await commit(frontier, [visit], lambda _: True)
    await frontier.epochs.look()
    await restart(frontier)
    assert set(linked(2, 1)) <= set(urls_of(await claim_one(frontier)))
    assert (await epoch_fields(frontier, "a.example"))["gf"] == "0"
    state = await check_frontier(frontier)
    assert state[0].epochs["a.example"]["gd"] == "3"


async def test_refused_urls_cost_nothing_and_failures_do(
    make_frontier: MakeFrontier,
) -> None:
    """If robots.txt keeps URLs from being asked for, then others have their place."""
    frontier = await make_frontier(epochs=epochs_of(4), batch=10)
    await frontier.add(offered(frontier, listed(20)))
    await frontier.epochs.look()
    visit = await claim_one(frontier)
    visit.outcomes = dict.fromkeys(range(len(visit.records)), "-")
    await commit_as_told(frontier, visit)
    assert (await epoch_fields(frontier, "a.example"))["gs"] == "0"
    assert len(await crawl_epoch(frontier, lambda _: False)) == 4
    assert (await schedule_of(frontier)).epoch == 0
    await frontier.epochs.look()
    assert (await schedule_of(frontier)).epoch == 1


async def commit_as_told(frontier: Frontier, visit: object) -> None:
    """Commit a visit whose outcomes are set."""
    await frontier.release([visit])  # type: ignore[list-item]
    await frontier.ack([visit])  # type: ignore[list-item]
    await restart(frontier)


async def test_what_may_have_been_asked_for_is_charged_again(
    make_frontier: MakeFrontier,
) -> None:
    """If records come back, then those that were asked for need another grant."""
    frontier = await make_frontier(epochs=epochs_of(4), batch=10)
    await frontier.add(offered(frontier, listed(20)))
    await frontier.epochs.look()
    visit = await claim_one(frontier)
    n = len(visit.records)
    visit.returned = {0: replace(visit.records[0], retries=1), 1: visit.records[1]}
    visit.unrequested = {1}
    await commit(frontier, [visit], lambda _: True)
    await check_frontier(frontier)
    counts = await frontier.counts()
    assert (counts.queued, counts.waiting) == (1, 20 - n + 1)
    await restart(frontier)
    urls = await crawl_epoch(frontier)
    assert visit.records[1].url in urls
    assert len(urls) == 4 - n + 1


async def test_what_a_dead_worker_held_is_charged_again(
    make_frontier: MakeFrontier,
) -> None:
    """If a worker dies with all that an epoch may fetch, then the next one has it."""
    frontier = await make_frontier(epochs=epochs_of(4, 3600), batch=10)
    await frontier.add(offered(frontier, listed(20), linked(20)))
    await frontier.epochs.look()
    lost = urls_of(await claim_one(frontier))
    assert len(lost) == 4
    await expire_leases(frontier)
    await frontier.reap()
    await check_frontier(frontier)
    assert await crawl_epoch(frontier) == []
    await let_time_pass(frontier)
    found = []
    await frontier.epochs.look()
    await restart(frontier)
    while visits := await claim(frontier):  # suspects are handed out alone
        found += urls_of(visits[0])
        await commit(frontier, visits, lambda _: True)
        await restart(frontier)
    assert sorted(found) == sorted(lost)


async def test_epoch_lasts_until_its_time_is_over(make_frontier: MakeFrontier) -> None:
    """If the quota is spent early, then the rest waits; a slow host's is carried.

    URIs not done after twice the time count for the next epoch.
    """
    frontier = await make_frontier(epochs=epochs_of(6, 3600), batch=2)
    await frontier.add(offered(frontier, listed(30), linked(30)))
    assert len(await crawl_epoch(frontier)) == 6
    look = await frontier.epochs.look()
    assert look.n_granted == 0
    assert look.due_secs is not None
    assert 3500 < look.due_secs <= 3600
    await let_time_pass(frontier)
    look = await frontier.epochs.look()
    assert (look.n_begun, look.n_granted) == (1, 6)
    await commit(frontier, [await claim_one(frontier)], lambda _: True)
    await let_time_pass(frontier)
    assert (await frontier.epochs.look()).n_begun == 0
    await let_time_pass(frontier)
    look = await frontier.epochs.look()
    assert (look.n_begun, look.n_granted) == (1, 2)
    assert (await epoch_fields(frontier, "a.example"))["c"] == "4"
    await check_frontier(frontier)


async def test_hosts_of_a_domain_share_its_quota(make_frontier: MakeFrontier) -> None:
    """If a domain has many hosts, then all lie in one partition and have one quota."""
    frontier = await make_frontier(
        epochs=epochs_of(5), partitions=4, domain_hosts=1, budget=CrawlBudget(hosts=9)
    )
    urls = [f"https://h{i}.a.example/{n}" for i in range(9) for n in range(3)]
    await frontier.add(offered(frontier, urls[::2], urls[1::2]))
    await frontier.add(offered(frontier, ["https://b.example/"]))
    fetched = await crawl_epoch(frontier)
    assert len(fetched) == 6
    await check_frontier(frontier)
    assert (await frontier.counts()).waiting == 22


async def test_given_up_urls_wait_when_they_are_tried_again(
    make_frontier: MakeFrontier,
) -> None:
    """If `retry` queues URLs, then they need grants, and sources do not."""
    frontier = await make_frontier(epochs=epochs_of(4), batch=10)
    await frontier.add(offered(frontier, listed(4)))
    await frontier.epochs.look()
    visit = await claim_one(frontier)
    visit.failed = [0, 1]
    await commit(frontier, [visit], lambda _: False)
    assert await frontier.retry(["failed"]) == 2
    states = await check_frontier(frontier)
    assert sorted(states[0].waiting_urls())[:2] == sorted(urls_of(visit)[:2])


async def test_quota_may_be_changed_for_later_epochs(
    make_frontier: MakeFrontier,
) -> None:
    """If another quota is given, then the next epoch has it, begun by any worker."""
    frontier = await make_frontier(epochs=epochs_of(4), batch=10)
    await frontier.keep_epochs()
    await frontier.add(offered(frontier, listed(30)))
    assert len(await crawl_epoch(frontier)) == 4
    other = await make_frontier(epochs=epochs_of(8), batch=10)
    await other.keep_epochs()
    third = await make_frontier(batch=10)
    assert third.epochs.options == epochs_of(8)
    await restart(third)
    assert len(await crawl_epoch(third)) == 8
    await third.beat("w3", {})
    await other.keep_epochs()
    with pytest.raises(ConfigError, match=r"quota=4: workers of the crawl run.*w3$"):
        await frontier.keep_epochs()


async def test_crawl_without_quotas_has_none_later(make_frontier: MakeFrontier) -> None:
    """If a crawl was begun without quotas, then it has none; else one is needed."""
    await make_frontier(crawl_id="free")
    with pytest.raises(ConfigError, match="was begun without it; -a fresh=1"):
        await make_frontier(crawl_id="free", epochs=epochs_of(4))
    await make_frontier(crawl_id="bound", epochs=epochs_of(4))
    other = await make_frontier(crawl_id="bound")
    with pytest.raises(ConfigError, match="argument quota"):
        await other.keep_epochs()
