"""The statements of a document, as the callbacks of a user get them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import pyoxigraph as ox

from rdfcrawl.rdf.framing import class_iri, iter_items
from rdfcrawl.rdf.rdflib_graphs import dataset_of, graph_of

if TYPE_CHECKING:
    import rdflib


class ReadStatements(ABC):
    """Statements in a file of N-Quads, in the objects of pyoxigraph and of rdflib."""

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

    def items(self, type: str | None = None) -> Iterator[dict[str, Any]]:  # noqa: A002
        """Yield the items of a class as nested dicts, from all syntaxes alike.

        They have `@context`, `@type` and properties by their local names. Without a
        class, they are those with any class that no other item refers to.

        Args:
            type: IRI of the class, or with a prefix, as `schema:Product`.

        Raises:
            ConfigError: the prefix is not known.
            SourceFault: `TOO_LARGE`: more than 100,000 statements.
        """
        return iter_items(self.quads(), None if type is None else class_iri(type))

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
        return graph_of(self.quads())

    def dataset(self) -> rdflib.Dataset:
        """Return the statements as a dataset of rdflib, in memory."""
        return dataset_of(self.quads())
