"""A base class for spiders with callbacks whose requests are in the frontier."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import chain
from typing import Any

from scrapy import FormRequest
from scrapy.http import Response

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.records import Record, Urgency
from rdfcrawl.spiders.base import SEEDS_AT_ONCE, RdfSpider


class FrontierSpider(RdfSpider):
    """Base of spiders with callbacks, whose requests are in the frontier.

    All workers of the crawl share the requests, and these survive the end of any
    worker. Requests to one host are spaced by its delay. `seeds` and `start_urls` are
    requested first, for `parse`.
    """

    makes_documents = False

    def request_of(
        self, url: str, /, *, method: str = "GET", meta: Any = None, **form: Any
    ) -> Record:
        """Return the record of a seed; the arguments are the keys of scrapy-redis.

        Raises:
            UnqueueableError, TypeError, ValueError: an argument is of a wrong type.
        """
        from rdfcrawl.frontier.queue.queued_records import record_of

        method = str(method).upper()
        return record_of(
            FormRequest(url, method=method, meta=meta, formdata=form), self
        )

    async def start(self) -> AsyncIterator[Any]:
        """Queue requests for the seeds; yield documents for invalid ones."""
        from rdfcrawl.frontier.arguments.seeds import (
            SeedFilter,
            iter_seeds,
            iter_start_urls,
        )

        schemes = self.options.crawl.schemes.of_seeds
        seeds = SeedFilter(self.options.fetch.guard)
        given = iter_seeds(self.arguments.seeds, schemes)
        urls = seeds.allowed(chain(given, iter_start_urls(self.start_urls, schemes)))
        for group in in_batches(urls, SEEDS_AT_ONCE):
            requests = [(self.request_of(url), Urgency.SOON) for url in group]
            await self.joined().seeds.add_requests(requests)
        for document in seeds.refused():
            yield document

    def parse(self, response: Response) -> Any:
        """Parse the response to a request without a callback, in a subclass."""
        raise NotImplementedError(f"{type(self).__name__}.parse is not defined")
