"""Graphs and datasets of rdflib, made of N-Quads or of a store of Oxigraph."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.namespaces import XSD
from rdfcrawl.rdf.rdf_11 import I18N, warn_of_triple_terms

if TYPE_CHECKING:
    import pyoxigraph as ox
    from rdflib import Dataset, Graph

_STRING: Final = f"{XSD}string"


def dataset_of(quads: Iterable[ox.Quad]) -> Dataset:
    """Return a dataset in memory with statements in their graphs."""
    from rdflib import Dataset, URIRef  # noqa: PLC0415 (takes 0.2 s)

    dataset = Dataset()
    graphs: dict[str, Graph] = {"": dataset.default_graph}
    for quad, (subject, predicate, obj) in _converted(quads):
        name = getattr(quad.graph_name, "value", "")
        if name not in graphs:
            graphs[name] = dataset.graph(URIRef(name))
        graphs[name].add((subject, predicate, obj))
    return dataset


def graph_of(quads: Iterable[ox.Quad]) -> Graph:
    """Return a graph in memory with the statements of all graphs."""
    from rdflib import Graph  # noqa: PLC0415

    graph = Graph()
    for _, triple in _converted(quads):
        graph.add(triple)
    return graph


def _converted(quads: Iterable[ox.Quad]) -> Iterator[tuple[ox.Quad, Any]]:
    """Yield statements with their terms in rdflib; warn of those with triple terms."""
    import pyoxigraph as ox  # noqa: PLC0415
    from rdflib import BNode, Literal, URIRef  # noqa: PLC0415

    def term(value: Any) -> Any:
        if isinstance(value, ox.NamedNode):
            return URIRef(value.value)
        if isinstance(value, ox.BlankNode):
            return BNode(value.value)
        if value.direction:  # rdflib only has RDF 1.1
            name = f"{I18N}{value.language}_{value.direction}"
            return Literal(value.value, datatype=URIRef(name))
        if value.language:
            return Literal(value.value, lang=value.language)
        datatype = value.datatype.value
        return Literal(
            value.value, datatype=None if datatype == _STRING else URIRef(datatype)
        )

    n_left_out = 0
    for quad in quads:
        if isinstance(quad.object, ox.Triple):
            n_left_out += 1
        else:
            yield quad, tuple(map(term, (quad.subject, quad.predicate, quad.object)))
    warn_of_triple_terms(n_left_out, "rdflib")


def open_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Open a store of Oxigraph that follows a crawl as a dataset, to read from it.

    The default graph is the union of all graphs. The dataset shows the store as it is
    now; a crawl may go on and write to it.

    Args:
        path: folder of the store, as `crawl/linkeddata/oxigraph`.

    Raises:
        OSError: there is no store, or it cannot be read.
    """
    import pyoxigraph as ox  # noqa: PLC0415
    from oxrdflib import OxigraphStore  # noqa: PLC0415
    from rdflib import Dataset  # noqa: PLC0415

    store = ox.Store.read_only(os.fspath(path))
    return Dataset(store=OxigraphStore(store=store), default_union=True)
