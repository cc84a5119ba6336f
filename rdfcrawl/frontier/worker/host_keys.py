"""Politeness keys of hosts, by name or by address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.uri import HostGrouping, PolitenessKey

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.dns_cache import AddressBook
    from rdfcrawl.frontier.queue.options import CrawlOptions


class HostKeys:
    """Politeness keys of URLs.

    Attributes:
        keys: computation of keys.
        book: addresses of names, shared by all workers.
        is_by_address: hosts with one address share a queue.
        goes_by_address: each request goes to the address of its turn.
    """

    def __init__(self, options: CrawlOptions, book: AddressBook) -> None:
        grouping = options.keys.grouping
        self.book = book
        self.keys = PolitenessKey(grouping, book.address)
        self.is_by_address = grouping is HostGrouping.IP
        self.goes_by_address = self.is_by_address or options.address_delay_secs > 0

    def of(self, url: str) -> str:
        """Return the politeness key of a URL that was primed."""
        return self.keys.of(url)

    async def prime(self, *urls: str) -> None:
        """Look up the hosts of URLs, if `of` needs their addresses."""
        if self.is_by_address:
            await self.book.prime(urls)
