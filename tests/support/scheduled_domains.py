"""Steps of tests of quotas: offer URLs of both ways, and crawl by epochs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, cast

from rdfcrawl.core.records import Record
from rdfcrawl.core.tasks import ListedPage
from rdfcrawl.frontier.queue.options import EpochOptions
from rdfcrawl.frontier.worker.link_ingest import LINK_BAND
from rdfcrawl.uri import partition_of, registered_domain
from tests.support.frontier_claims import claim
from tests.support.frontier_state import new_ingest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.queue.candidate import Candidate
    from rdfcrawl.frontier.queue.frontier_client import Frontier


def epochs_of(quota: int, secs: float = 0.0) -> EpochOptions:
    """Return options by which an epoch ends when its quota is spent, or by its time."""
    return EpochOptions(quota=quota, secs=secs)


def offered(
    frontier: Frontier, listed: Iterable[str] = (), linked: Iterable[str] = ()
) -> list[Candidate]:
    """Return the candidates of URLs that a sitemap lists, and of links."""
    ingest = new_ingest(frontier)
    ingest.use_epochs()
    task = ListedPage(5000, 1)
    return [
        *(ingest.candidate(Record(url, task=task), LINK_BAND) for url in listed),
        *(ingest.candidate(Record(url), LINK_BAND) for url in linked),
    ]


async def epoch_fields(frontier: Frontier, domain: str) -> dict[str, str]:
    """Return the state of the epoch of a domain."""
    prefix = frontier._prefixes[partition_of(domain, frontier.partitions)]
    found = await frontier.redis.hgetall(f"{prefix}:e:{domain}")
    pairs = cast("dict[bytes, bytes]", found).items()
    return {name.decode(): value.decode() for name, value in pairs}


async def commit(
    frontier: Frontier, visits: Sequence[Visit], is_worth_it: Callable[[str], bool]
) -> None:
    """Let all records of visits have been fetched, and commit them."""
    for visit in visits:
        for index, record in enumerate(visit.records):
            found = record.url if is_worth_it(record.url) else ""
            visit.outcomes[index] = found
    await frontier.release(visits)
    await frontier.ack(visits)


async def crawl_epoch(
    frontier: Frontier, is_worth_it: Callable[[str], bool] = lambda _: True
) -> list[str]:
    """Fetch all that the open epochs grant, and nothing of the next ones; return it."""
    urls: list[str] = []
    await frontier.epochs.look()
    while True:
        while visits := await claim(frontier):
            urls += [record.url for visit in visits for record in visit.records]
            await commit(frontier, visits, is_worth_it)
        if not await _has_room(frontier):
            return urls
        await frontier.epochs.look()


async def _has_room(frontier: Frontier) -> bool:
    """Return whether an open epoch has something to grant still."""
    for prefix in frontier._prefixes:
        async for name in frontier.redis.scan_iter(match=f"{prefix}:e:*"):
            found = await frontier.redis.hmget(name, "q", "c", "gs", "gd", "gf")
            quota, *spent = (int(n or 0) for n in found)
            waiting = name.replace(b":e:", b":ew:")
            if sum(spent) < quota and await frontier.redis.exists(waiting):
                return True
    return False


async def let_time_pass(frontier: Frontier, secs: int = 3600) -> None:
    """Move the begin of the epochs back."""
    for prefix in frontier._prefixes:
        async for name in frontier.redis.scan_iter(match=f"{prefix}:e:*"):
            await frontier.redis.hincrby(name, "at", -1000 * secs)
        async for domain in frontier.redis.scan_iter(match=f"{prefix}:ew:*"):
            member = domain.decode().removeprefix(f"{prefix}:ew:")
            await frontier.redis.zadd(f"{prefix}:epochs", {member: 0})


class RequestLedger:
    """Counts the requests of each domain in each of its epochs, as a server would."""

    def __init__(self) -> None:
        self.n_requests: Counter[tuple[str, str]] = Counter()

    async def note(self, frontier: Frontier, url: str) -> None:
        """Count a request that is made now."""
        domain = registered_domain(url.split("/")[2])
        number = (await epoch_fields(frontier, domain))["ep"]
        self.n_requests[domain, number] += 1
