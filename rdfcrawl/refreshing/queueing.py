"""Queue what is planned in the frontier of a crawl."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.frontier.batches import in_batches
from rdfcrawl.frontier.candidate import AddedCounts
from rdfcrawl.frontier.dns_cache import AddressBook
from rdfcrawl.frontier.frontier_connection import FrontierConnection
from rdfcrawl.frontier.link_ingest import LinkIngest
from rdfcrawl.frontier.profiles import keep_settings
from rdfcrawl.frontier.url_kind import kind_of
from rdfcrawl.links.filter import CrawlExtent, CrawlScope, LinkFilter
from rdfcrawl.records import NO_BUDGET, Record, Urgency
from rdfcrawl.uri import HostGrouping, PolitenessKey

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfcrawl.frontier.candidate import Candidate
    from rdfcrawl.frontier.options import CrawlOptions
    from rdfcrawl.refreshing.planning import PlannedFetch

_AT_ONCE: Final = 500


class RefreshQueue:
    """The frontier of a crawl, for what is fetched again; `open` connects."""

    def __init__(
        self,
        connection: FrontierConnection,
        ingest: LinkIngest,
        dns: AddressBook | None,
    ) -> None:
        self._connection = connection
        self._frontier = connection.frontier
        self._ingest = ingest
        self._dns = dns

    @classmethod
    async def open(cls, options: CrawlOptions, settings: BaseSettings) -> Self:
        """Connect to the frontier of a crawl.

        Raises:
            ConfigError: Redis cannot be used.
        """
        connection = await FrontierConnection.connect(options, settings)
        frontier = connection.frontier
        try:
            with connection.explaining():
                await frontier.open()
                options = await keep_settings(frontier, options, settings)
        except BaseException:
            await connection.close()
            raise
        connection.opened()
        dns = None
        if options.keys.grouping is HostGrouping.IP:
            dns = AddressBook(
                frontier,
                connection.outage,
                is_allowed=lambda address: not options.guard.refuses_address(address),
            )
        ingest = LinkIngest(
            keys=PolitenessKey(options.keys.grouping, dns.address if dns else None),
            normal_form=options.normal_form,
            link_filter=LinkFilter(CrawlScope(CrawlExtent.ANY)),
            partitions=frontier.partitions,
            max_depth=255,
            budget=NO_BUDGET,
        )
        return cls(connection, ingest, dns)

    async def add(self, fetches: Iterable[PlannedFetch]) -> AddedCounts:
        """Queue pages, those that were not queued for this change before.

        Raises:
            ConfigError: Redis refuses.
        """
        with self._connection.explaining():
            return await self._add(fetches)

    async def _add(self, fetches: Iterable[PlannedFetch]) -> AddedCounts:
        total = AddedCounts()
        for group in in_batches(fetches, _AT_ONCE):
            if self._dns is not None:
                await self._dns.prime(each.url for each in group)
            candidates = list(map(self._candidate, group))
            total += await self._connection.outage.persistent(
                "queue what is due", self._frontier.add, candidates
            )
        return total

    def _candidate(self, fetch: PlannedFetch) -> Candidate:
        record = Record(
            fetch.url,
            kind_of(fetch.url),
            fetch.depth,
            fetch.parent,
            task=fetch.task,
            change=fetch.change,
        )
        return self._ingest.request(record, Urgency.REFRESH)

    async def close(self) -> None:
        """Disconnect."""
        if self._dns is not None:
            await self._dns.close()
        await self._connection.close()
