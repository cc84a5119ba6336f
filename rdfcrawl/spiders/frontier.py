"""A base class for spiders with callbacks whose requests are in the frontier."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from scrapy import Request

from rdfcrawl.frontier.groups import in_groups
from rdfcrawl.records import Urgency
from rdfcrawl.spiders.base import RdfSpider, good_seeds, refused_seeds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response

    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.records import Record

_SEEDS_AT_ONCE = 500


class FrontierSpider(RdfSpider):
    """Has callbacks as any spider of Scrapy; its requests are those of a crawl.

    They are shared by all of its workers, politely to each host, and survive the end
    of any of them. `seeds` and `start_urls` are asked for first, for `parse`.
    """

    makes_documents = False

    def join(self, session: CrawlSession) -> None:
        """Take part in a crawl; what is pushed to it is asked for by requests."""
        super().join(session)
        session.request_of = self._request_of

    def _request_of(self, url: str) -> Record:
        from rdfcrawl.queued_requests import record_of

        return record_of(Request(url), self)

    async def start(self) -> AsyncIterator[Any]:
        """Queue requests for the seeds; yield what is wrong with others."""
        from rdfcrawl.seeds import RefusedSeeds, iter_seeds

        refused = RefusedSeeds()
        seeds = chain(iter_seeds(self.arguments.seeds), self.start_seeds())
        urls = (u for u in good_seeds(seeds, refused) if self.may_ask(u, refused))
        for group in in_groups(urls, _SEEDS_AT_ONCE):
            requests = [(self._request_of(url), Urgency.SOON) for url in group]
            await self.joined().add_requests(requests)
        for document in refused_seeds(refused):
            yield document

    def parse(self, response: Response) -> Any:
        """Parse the response to a request without a callback.

        Raises:
            NotImplementedError: a subclass has none of its own.
        """
        raise NotImplementedError(f"{type(self).__name__}.parse is not defined")
