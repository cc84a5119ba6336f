"""What all of our spiders have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Spider

from rdfcrawl.arguments import BadSeed, CrawlArguments, iter_seeds
from rdfcrawl.errors import ConfigError
from rdfcrawl.fetch.transport import transport_of
from rdfcrawl.options import CrawlOptions
from rdfcrawl.records import Document, Record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.records import Visit


class RdfSpider(Spider):
    """A spider that visits hosts; `docs/spiders.md` lists its arguments.

    Attributes:
        arguments: what was given by `-a`, parsed.
        options: the settings, parsed.
        session: the worker's connection to its crawl, once the scheduler is open.
    """

    def __init__(
        self, *args: Any, arguments: CrawlArguments, options: CrawlOptions, **kw: Any
    ) -> None:
        super().__init__(*args, **kw)
        self.arguments = arguments
        self.options = options
        self.session: CrawlSession | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Return the spider for a crawler.

        Raises:
            ConfigError: an argument or a setting is wrong.
        """
        arguments = CrawlArguments.parse(kwargs)
        options = CrawlOptions.read(
            crawler.settings, cls.name, budget=arguments.max_per_host
        )
        return super().from_crawler(
            crawler, *args, arguments=arguments, options=options
        )

    async def start(self) -> AsyncIterator[Document]:
        """Add the seeds to the frontier; yield those that are not URLs."""
        if self.session is None:
            raise ConfigError(f"SCHEDULER: {self.name} needs a FrontierScheduler")
        bad: list[BadSeed] = []
        await self.session.add_seeds(self._good_seeds(bad))
        for seed in bad:
            where = f"{seed.path.name}:{seed.line}"
            yield Document(record=Record(where), url=where, faults=[seed.fault])

    def _good_seeds(self, bad: list[BadSeed]) -> Iterator[str]:
        for seed in iter_seeds(self.arguments):
            if isinstance(seed, BadSeed):
                bad.append(seed)
            else:
                yield seed

    async def parse(self, response: Response) -> None:
        """Send what a visit brought back through the pipelines, one by one.

        A document does not pass the spider middlewares on its way: they judge
        requests, and a visit has none, for a tenth of the cost of a document.
        """
        visit: Visit = response.meta["visit"]
        process = self.crawler.engine.scraper.start_itemproc_async
        release = transport_of(self.crawler).visitor.release
        while visit.documents:  # what is left there was not processed
            document = visit.documents[0]
            try:
                await process(document, response=response)
            finally:
                release(document)
            del visit.documents[0]
