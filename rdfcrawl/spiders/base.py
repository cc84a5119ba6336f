"""What all of our spiders have in common."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import Spider

from rdfcrawl.errors import ConfigError, Fault, Reason
from rdfcrawl.frontier.groups import in_groups
from rdfcrawl.pipelines.chunks import closing
from rdfcrawl.records import MAX_RETRIES, Child, Document, Record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfcrawl.arguments import BadSeed, CrawlArguments
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.options import CrawlOptions
    from rdfcrawl.records import Visit
    from rdfcrawl.sources.base import Desk

logger = logging.getLogger(__name__)

_SEEDS_AT_ONCE = 500


class RdfSpider(Spider):
    """A spider that visits hosts; `docs/spiders.md` lists its arguments.

    Attributes:
        arguments: what was given by `-a`, parsed.
        options: the settings, parsed.
        sources: what turns answers of sources into documents.
        session: the worker's connection to its crawl, once the scheduler is open.
    """

    def __init__(
        self, *args: Any, arguments: CrawlArguments, options: CrawlOptions, **kw: Any
    ) -> None:
        from rdfcrawl.sources import source_of
        from rdfcrawl.sources.base import Sources

        super().__init__(*args, **kw)
        self.arguments = arguments
        self.options = options
        self.sources = Sources(source_of, self._desk, arguments.harvest)
        self.session: CrawlSession | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Return the spider for a crawler.

        Raises:
            ConfigError: an argument or a setting is wrong.
        """
        from rdfcrawl.arguments import CrawlArguments
        from rdfcrawl.options import CrawlOptions

        arguments = CrawlArguments.parse(kwargs, cls.name)
        options = CrawlOptions.read(
            crawler.settings, cls.name, budget=arguments.max_per_host
        )
        return super().from_crawler(
            crawler, *args, arguments=arguments, options=options
        )

    async def start(self) -> AsyncIterator[Document]:
        """Add the seeds to the frontier; yield those that are not URLs."""
        from rdfcrawl.arguments import iter_seeds

        session = self._joined()
        bad: list[BadSeed] = []
        await session.add_seeds(_good(iter_seeds(self.arguments.seeds), bad))
        for group in in_groups(_good(iter_seeds(self.named()), bad), _SEEDS_AT_ONCE):
            roots = [self.root(url, session.run) for url in group]
            await session.add_sources([Child(root, is_own=True) for root in roots])
        async for children in self.sources.again():
            await session.add_sources(children, widens=False)
        for seed in bad:
            where = f"{seed.path.name}:{seed.line}"
            yield Document(record=Record(where), url=where, faults=[seed.fault])

    def named(self) -> tuple[str, ...] | Path:
        """Return the sources that the operator named, or the file of them."""
        return ()

    def root(self, url: str, run: int) -> Record:
        """Return the record that the harvest of a source begins with.

        Args:
            url: that the operator named it by.
            run: of the crawl; another run gives another record.
        """
        raise NotImplementedError

    def _joined(self) -> CrawlSession:
        if self.session is None:
            raise ConfigError(f"SCHEDULER: {self.name} needs a FrontierScheduler")
        return self.session

    def _desk(self) -> Desk:
        from rdfcrawl.sources.base import Desk
        from rdfcrawl.sources.datasets import Datasets

        session = self._joined()
        return Desk(self.arguments, self.options, session, Datasets(session))

    async def parse(self, response: Response) -> None:
        """Send what a visit brought back through the pipelines, one by one.

        A document does not pass the spider middlewares on its way: they judge
        requests, and a visit has none, for a tenth of the cost of a document.
        """
        from rdfcrawl.fetch.transport import transport_of

        visit: Visit = response.meta["visit"]
        process = self.crawler.engine.scraper.start_itemproc_async
        release = transport_of(self.crawler).visitor.release
        n_failed = 0
        while len(visit.documents) > n_failed:  # what is left there was not processed
            document = visit.current = visit.documents[n_failed]
            try:
                if document.record.kind.is_source:
                    await self._harvest(document, visit, response)
                else:
                    await process(document, response=response)
            except Exception:  # the edge: a page that its source cannot read
                logger.exception("Error in the harvest of %s", document.record.url)
                n_failed += 1
            else:
                del visit.documents[n_failed]
            finally:
                visit.current = None
                release(document)

    async def _harvest(
        self, document: Document, visit: Visit, response: Response
    ) -> None:
        """Process the documents that an answer of a source stands for.

        If one of them fails, the answer is put back, and what its source would
        remember of it is left for the next time.
        """
        process = self.crawler.engine.scraper.start_itemproc_async
        index = visit.index(document)
        try:
            async with closing(self.sources.harvest(document)) as documents:
                async for each in documents:
                    await process(each, response=response)
                    if index in visit.returned:
                        return
        except Exception:
            if document.record.retries < MAX_RETRIES:
                raise
            logger.exception("%s: given up", document.record.url)
            fault = Fault(Reason.INTERNAL, "the source failed")
            document.faults.append(fault)
            document.is_read, document.chunks = True, None
            await process(document, response=response)


def _good(seeds: Iterator[str | BadSeed], bad: list[BadSeed]) -> Iterator[str]:
    from rdfcrawl.arguments import BadSeed

    for seed in seeds:
        if isinstance(seed, BadSeed):
            bad.append(seed)
        else:
            yield seed
