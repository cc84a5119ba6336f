"""The document that `parse_document` of a spider gets."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import pyoxigraph as ox
from scrapy import Request
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from rdfcrawl.core.errors import Fault, Reason, SourceFault
from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    import rdflib

    from rdfcrawl.core.records import Document


class ReadStatements(ABC):
    """Statements in a file of N-Quads, in the objects of pyoxigraph and of rdflib.

    Attributes:
        url: of the document.
    """

    url: str

    @abstractmethod
    def nquads(self) -> BinaryIO:
        """Return the statements as a file of N-Quads, from its beginning."""

    def quads(self) -> Iterator[ox.Quad]:
        """Yield the statements, with one at a time in memory.

        Of a document of a crawl, the graph of each is the document's URL, or another
        one of its origin. Of `extract`, statements outside of graphs of the document's
        own are in the default graph.
        """
        return cast(
            "Iterator[ox.Quad]",
            ox.parse(self.nquads(), format=ox.RdfFormat.N_QUADS, lenient=True),
        )

    def items(
        self,
        type: str | Iterable[str] = "all",  # noqa: A002
        *,
        nested: bool = False,
        lists: bool = False,
        full: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """Return an iterator over the items of a class, as nested dicts.

        They are alike for all syntaxes: `docs/how-to/items.md` has their shape. Those
        that are nested in other items of the class are left out.

        Args:
            type: name of the class in items or IRI, or several of them: `Product`,
                `schema:Product`, `foaf:Person,Event`; `all` for any class.
            nested: with items for those that are nested in other items of the class.
            lists: make each value a list.
            full: keep language and datatype of literals.

        Raises:
            ConfigError: a prefix is not known.
            SourceFault: `TOO_LARGE`: more than 100,000 statements.
        """
        from rdfcrawl.rdf.items.building import DocumentItems, ItemRule  # noqa: PLC0415 (seldom used)
        from rdfcrawl.rdf.items.description import Descriptions  # noqa: PLC0415
        from rdfcrawl.rdf.items.names import class_iris  # noqa: PLC0415

        rule = ItemRule(classes=class_iris(type), nested=nested, lists=lists, full=full)
        return iter(DocumentItems(Descriptions(self.quads(), self.url), rule))

    def canonical(self) -> str:
        """Return the statements as canonical N-Quads, by URDNA2015 of PyLD.

        They are equal for documents that differ in order and blank node labels alone.

        Raises:
            SourceFault: `TOO_LARGE`: more than 100,000 statements, or blank nodes that
                too many statements connect.
        """
        from rdfcrawl.rdf.canonical_nquads import canonical_nquads  # noqa: PLC0415 (PyLD)

        return canonical_nquads(self.quads())

    def graph(self) -> rdflib.Graph:
        """Return the statements of all graphs as a graph of rdflib, in memory."""
        from rdfcrawl.rdf.rdflib_graphs import graph_of  # noqa: PLC0415

        return graph_of(self.quads())

    def dataset(self) -> rdflib.Dataset:
        """Return the statements as a dataset of rdflib, in memory."""
        from rdfcrawl.rdf.rdflib_graphs import dataset_of  # noqa: PLC0415

        return dataset_of(self.quads())


class ParsedDocument(ReadStatements):
    """A document after fetching and reading; valid only while `parse_document` runs.

    Args:
        item: the document, after the item pipelines.
        max_bytes: longest body that `body` returns.

    Attributes:
        item: the item of the pipelines.
        url: final URL after redirects on the same host, without fragment.
        status: HTTP status.
        media_type: declared by the server, lower case, without parameters.
        depth: links followed from a seed.
        parent: URL of the document with the link; empty for seeds.
        n_quads: statements in it.
        faults: all of them, in order.
    """

    def __init__(self, item: Document, *, max_bytes: int) -> None:
        self.item = item
        self.url = item.url
        self.status = item.status
        self.media_type = item.media_type
        self.depth = item.record.depth
        self.parent = item.record.parent
        self.n_quads = item.n_quads
        self.faults: tuple[Fault, ...] = tuple(item.faults)
        self._max_bytes = max_bytes

    def __repr__(self) -> str:
        """Return status and URL in one line."""
        return f"<ParsedDocument {self.status} {self.url!r}>"

    def nquads(self) -> BinaryIO:
        """Return the statements as a file of N-Quads, from its beginning."""
        kept = self.item.kept
        return io.BytesIO() if kept is None else kept.open()

    def open(self) -> BinaryIO:
        """Return the decoded body as a file, from its beginning."""
        if self.item.response.path is not None:
            return self.item.response.path.open("rb")
        return io.BytesIO(self.item.response.body or b"")

    @cached_property
    def body(self) -> bytes:
        """The decoded body.

        Raises:
            SourceFault: `TOO_LARGE`: longer than `DOWNLOAD_MAXSIZE`; use `open`.
        """
        n_bytes = self.item.response.n_bytes
        if n_bytes > self._max_bytes:
            detail = f"{counted(n_bytes, 'byte')}; open() gives a file"
            raise SourceFault(Reason.TOO_LARGE, detail)
        with self.open() as file:
            return file.read()

    @cached_property
    def response(self) -> Response:
        """The response as in Scrapy, for selectors and `follow`; see `body`."""
        declared = self.item.response.charset
        charset = f"; charset={declared}" if declared else ""
        headers = Headers({"Content-Type": f"{self.media_type}{charset}"})
        class_ = responsetypes.from_args(headers, self.url, None, self.body[:5000])
        return class_(
            self.url,
            status=self.status or 200,
            headers=headers,
            body=self.body,
            request=Request(self.url, meta={"depth": self.depth}),
        )
