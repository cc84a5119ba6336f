"""A user's project, typed: each public name in use, for mypy to check strictly.

`rdfcrawl.__all__` is compared with it in `tests/project/test_typing.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rdfcrawl import (
    Addon,
    CkanSpider,
    ConfigError,
    CrawlArguments,
    CustomHarvester,
    Document,
    DocumentContent,
    DocumentWriter,
    ExtractedRdf,
    Fault,
    Follower,
    FollowUp,
    FrontierSpider,
    LinkedDataSpider,
    ParsedDocument,
    ParsedPage,
    QuadChunk,
    RdfSpider,
    Reason,
    ResourceSyncSpider,
    RobotsMiddleware,
    SchemeFetcher,
    SchemeRequest,
    SchemeResponse,
    SitemapSpider,
    SourceFault,
    SparqlSpider,
    Store,
    StoreFault,
    UriFingerprinter,
    UriNormalizationMiddleware,
    __version__,
    extract,
    iri,
    literal,
    open_dataset,
    statement,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from rdfcrawl.stores.crawl_folder import LogIdentity
    from rdfcrawl.stores.log.documents import Checkpoint, LogDocument

SETTINGS: Mapping[str, object] = {
    "ADDONS": {Addon: 500},
    "BOT_VERSION": __version__,
    "DOWNLOADER_MIDDLEWARES": {RobotsMiddleware: 100},
    "REQUEST_FINGERPRINTER_CLASS": UriFingerprinter,
    "SPIDER_MIDDLEWARES": {UriNormalizationMiddleware: 100},
}
NAME = iri("http://schema.org/name")


@dataclass(frozen=True, kw_only=True)
class PeopleArguments(CrawlArguments):
    """Arguments of a project."""

    lang: str = "en"


class PeopleSpider(LinkedDataSpider):
    """A subclass with an argument and a method for documents."""

    name = "people"
    arguments_class = PeopleArguments
    arguments: PeopleArguments

    def parse_document(
        self, document: ParsedDocument
    ) -> Iterator[dict[str, str] | Request]:
        """Yield an item and a request."""
        for quad in document.quads():
            yield {"lang": self.arguments.lang, "subject": str(quad.subject)}
        yield document.response.follow("next")


class PortalSpider(CkanSpider):
    """A subclass of another spider."""

    name = "portal"


OTHERS: tuple[type[RdfSpider], ...] = (
    PortalSpider,
    ResourceSyncSpider,
    SitemapSpider,
    SparqlSpider,
)


class BooksSpider(FrontierSpider):
    """Has callbacks, and extracts RDF."""

    name = "books"

    async def parse(self, response: Response) -> AsyncIterator[dict[str, object]]:
        """Yield the statements of a page."""
        with await extract(response, settings=self.settings) as rdf:
            yield {"n": count(rdf), "withheld": rdf.withheld}
            yield {"in graph": len(rdf.graph()), "stored": len(open_dataset("stored"))}
            for item in rdf.items(type="schema:Book"):
                yield item


def count(rdf: ExtractedRdf) -> int:
    """Return the number of statements, unless something is reserved."""
    return 0 if rdf.reservations else rdf.n_quads


class Report:
    """An item pipeline."""

    def process_item(self, item: object) -> object:
        """Report faults."""
        if isinstance(item, Document):
            self.tell(*item.faults)
        return item

    def tell(self, *faults: Fault) -> list[str]:
        """Return those that are no empty documents."""
        return [each.detail for each in faults if each.reason is not Reason.EMPTY]


class NamesExtractor:
    """An extractor of a media type."""

    def extract(self, document: DocumentContent) -> Iterator[str]:
        """Yield a statement for each line."""
        if not document.text:
            raise SourceFault(Reason.SYNTAX, "no lines")
        for line in document.text.splitlines():
            yield statement(iri(document.url), NAME, literal(line))


class TitleExtractor:
    """An extractor of pages."""

    marker = "<title"

    def extract(self, page: ParsedPage) -> Iterator[str]:
        """Yield the title."""
        for node in page.tree.css("title"):
            yield statement(iri(page.url), NAME, literal(node.text()))


class LastHarvester(CustomHarvester):
    """A harvester that goes on to one page."""

    async def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Yield the page, and the response itself."""
        yield self.page(document, f"{document.url}/last")
        yield document.harvested()


class MemoryWriter:
    """Writes one document."""

    def __init__(self, documents: dict[str, bytes], graph: str) -> None:
        self.documents, self.graph, self.chunks = documents, graph, b""

    async def write(self, chunk: QuadChunk) -> None:
        """Take statements."""
        self.chunks += chunk.lines

    async def end(self) -> None:
        """Store the document."""
        self.documents[self.graph] = self.chunks

    async def abandon(self) -> None:
        """Forget it."""


class MemoryStore:
    """A store."""

    def __init__(self, uri: str) -> None:
        if uri != "memory:":
            raise ConfigError(f"STORE={uri}: want memory:")
        self.documents: dict[str, bytes] = {}

    async def open(self) -> None:
        """Do nothing."""

    async def begin(self, graph: str, version_ms: int) -> DocumentWriter:
        """Return a writer."""
        del version_ms
        return MemoryWriter(self.documents, graph)

    async def flush(self) -> None:
        """Fail, if there is too much."""
        if len(self.documents) > 1000:
            raise StoreFault("full", may_pass=True)

    async def close(self) -> None:
        """Do nothing."""


class CountingFollower(Follower):
    """A store that follows."""

    def __init__(self) -> None:
        self.n_documents = 0

    def open(self, log: LogIdentity) -> Checkpoint | None:
        """Read the log from its beginning."""
        del log
        return None

    def apply(self, documents: Sequence[LogDocument]) -> None:
        """Count documents."""
        self.n_documents += len(documents)

    def commit(self, checkpoint: Checkpoint) -> None:
        """Do nothing."""


class NothingFetcher:
    """A fetcher of a scheme."""

    async def fetch(self, request: SchemeRequest) -> SchemeResponse:
        """Return that there is nothing."""
        del request
        return SchemeResponse(status=404)

    async def close(self) -> None:
        """Do nothing."""


class FewLinks:
    """A link policy."""

    def choose(self, document: Document, urls: list[str]) -> list[str]:
        """Return some."""
        return urls[: 10 - document.record.depth]


def accepted(settings: dict[str, Any]) -> tuple[Store, SchemeFetcher]:
    """Return objects that fit the protocols."""
    return MemoryStore(settings["STORE"]), NothingFetcher()
