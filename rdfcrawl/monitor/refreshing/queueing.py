"""Queue planned pages in the frontier of a crawl."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Final, Self

from scrapy.settings import BaseSettings

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import NO_BUDGET, Record, Urgency
from rdfcrawl.frontier.connection import FrontierConnection
from rdfcrawl.frontier.queue.candidate import (
    FORGOTTEN,
    SEEN_ONLY,
    AddedCounts,
    Candidate,
    kind_of,
)
from rdfcrawl.frontier.queue.host_addresses import AddressBook
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.queue.profiles import SpiderProfiles, keep_settings
from rdfcrawl.frontier.worker.link_ingest import LinkIngest
from rdfcrawl.monitor.refreshing.planning import PlannedFetch
from rdfcrawl.rdf.links.policy import LinkPolicy
from rdfcrawl.uri import HostGrouping, PolitenessKey, fingerprint
from rdfcrawl.uri.link_filter import CrawlExtent, CrawlScope, LinkFilter

_BATCH_SIZE: Final = 500


class RefreshQueue:
    """The frontier of a crawl, to queue pages again; `open` connects."""

    def __init__(
        self,
        connection: FrontierConnection,
        ingest_of: Callable[[int], LinkIngest],
        dns: AddressBook | None,
    ) -> None:
        self._connection = connection
        self._frontier = connection.frontier
        self._ingest_of = ingest_of
        self._dns = dns

    @classmethod
    async def open(cls, options: CrawlOptions, settings: BaseSettings) -> Self:
        """Connect to the frontier of a crawl.

        Raises:
            ConfigError: Redis cannot be used.
        """
        async with FrontierConnection.joining(options, settings) as connection:
            frontier = connection.frontier
            await frontier.open()
            options = await keep_settings(frontier, options, settings)
        connection.opened()
        dns = None
        if options.keys.grouping is HostGrouping.IP:
            dns = AddressBook(
                frontier, connection.outage, is_allowed=options.guard.allows_address
            )
        keys = PolitenessKey(options.keys.grouping, dns.address if dns else None)

        def ingest_of(profile: int) -> LinkIngest:
            return LinkIngest(
                keys=keys,
                normal_form=options.normal_form,
                link_filter=LinkFilter(CrawlScope(CrawlExtent.ANY)),
                partitions=frontier.partitions,
                max_depth=255,
                profile=profile,
                budget=NO_BUDGET,
            )

        return cls(connection, cache(ingest_of), dns)

    async def is_later_run(self) -> bool:
        """Return whether the next worker begins a run that may follow links again.

        Raises:
            ConfigError: Redis refuses.
        """
        frontier = self._frontier
        with self._connection.explaining():
            if not await frontier.begin_run() or await frontier.live_workers():
                return False
            if not await frontier.is_new_run():
                return False
            profiles = SpiderProfiles(frontier, self._connection.outage)
            await profiles.learn_all()
        none = LinkPolicy.parse("none")
        return any(each.follow != none for each in profiles.arguments.values())

    async def failed(self, *, only_owed: bool) -> frozenset[int]:
        """Return the fingerprints of URLs that were given up: see `OwedHosts`.

        Raises:
            ConfigError: Redis refuses.
        """
        with self._connection.explaining():
            urls = self._frontier.owed.failed(only_owed=only_owed)
            return frozenset([fingerprint(url) async for url in urls])

    async def add(
        self, fetches: Iterable[PlannedFetch], *, spider: str = ""
    ) -> AddedCounts:
        """Queue pages that were not queued for this change before.

        Args:
            fetches: the pages.
            spider: whose arguments their records have; empty: for each page, the spider
                that fetched it, or the first one if that is unknown.

        Raises:
            ConfigError: Redis refuses, or the crawl has no such spider.
        """
        with self._connection.explaining():
            profiles = SpiderProfiles(self._frontier, self._connection.outage)
            numbers = await profiles.numbers()
            if spider and spider not in numbers:
                there = ", ".join(numbers) or "none"
                raise ConfigError(
                    f"--spider {spider}: not of this crawl, whose spiders are {there}"
                )
            return await self._add(fetches, numbers, spider)

    async def _add(
        self, fetches: Iterable[PlannedFetch], numbers: Mapping[str, int], spider: str
    ) -> AddedCounts:
        total, run = AddedCounts(), await self._frontier.begin_run()
        for group in in_batches(fetches, _BATCH_SIZE):
            if self._dns is not None:
                await self._dns.prime(each.url for each in group)
            pages: list[Candidate] = []
            marks: list[Candidate] = []
            for each in group:
                profile = numbers.get(spider or each.spider, 0)
                page, *others = self._candidates(each, profile, run)
                pages.append(page)
                marks += others
            total += await self._queue(pages)
            await self._queue(marks)
        return total

    async def _queue(self, candidates: list[Candidate]) -> AddedCounts:
        return await self._connection.outage.persistent(
            "queue due pages", self._frontier.add, candidates
        )

    def _candidates(
        self, fetch: PlannedFetch, profile: int, run: int
    ) -> Iterator[Candidate]:
        """Yield a page, then marks to add and marks to forget.

        The frontier knows the page itself, unless its Redis was emptied: then links of
        the page to itself would queue it a second time. So would a sitemap whose date
        makes the page due in this run, or in the next one if none has begun.
        """
        record = Record(
            fetch.url,
            kind_of(fetch.url),
            fetch.depth,
            fetch.parent,
            task=fetch.task,
            change=fetch.change,
        )
        ingest = self._ingest_of(profile)
        yield ingest.request(record, Urgency.REFRESH)
        itself = ingest.request(replace(record, change=""), Urgency.REFRESH)
        yield itself._replace(item=SEEN_ONLY)
        for number, item in ((run, SEEN_ONLY), (run - 1, FORGOTTEN)):
            listed = replace(record, change=f"{fingerprint(f'run {number}'):x}")
            yield ingest.request(listed, Urgency.REFRESH)._replace(item=item)
        for change in fetch.before:
            former = ingest.request(replace(record, change=change), Urgency.REFRESH)
            yield former._replace(item=FORGOTTEN)

    async def close(self) -> None:
        """Disconnect."""
        if self._dns is not None:
            await self._dns.close()
        await self._connection.close()
