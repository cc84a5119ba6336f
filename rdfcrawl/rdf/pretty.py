"""Write statements for human readers: Turtle, or TriG if graphs are named."""

from __future__ import annotations

import io
import json
import re
from importlib.resources import files
from typing import Any, Final

import pyoxigraph
from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat, Triple

from rdfcrawl.core.namespaces import RDF_TYPE, SCHEMA_HTTPS, WGS84, XSD

_TYPE: Final = NamedNode(RDF_TYPE)
_IRI: Final = re.compile(r"<([^<>]*+)>")
# Missing in the table of RDFa; names from prefix.cc.
_MORE_PREFIXES: Final = {
    "xsd": XSD,
    "geo": WGS84,
    "dbo": "http://dbpedia.org/ontology/",
    "mf": "http://microformats.org/profile/",
}


def pretty(n_quads: bytes) -> str:
    """Return canonical N-Quads as Turtle, or as TriG if a graph is named.

    Statements are grouped by graph and subject in the order of first occurrence; blank
    nodes are numbered in that order, and follow their first reference.
    """
    quads = _ordered(list(pyoxigraph.parse(n_quads, RdfFormat.N_QUADS)))
    has_graphs = any(quad.graph_name != DefaultGraph() for quad in quads)
    out = io.BytesIO()
    pyoxigraph.serialize(
        quads,
        out,
        format=RdfFormat.TRIG if has_graphs else RdfFormat.TURTLE,
        prefixes=used_prefixes(n_quads.decode()),
    )
    return _spaced(out.getvalue().decode())


def used_prefixes(n_quads: str) -> dict[str, str]:
    """Return the usual prefixes of the IRIs in a text, with their namespaces."""
    namespaces = {_namespace_of(iri) for iri in _IRI.findall(n_quads)}
    table = json.loads(
        files("rdfcrawl.rdf.data").joinpath("rdfa_context.json").read_text()
    )
    known: dict[str, str] = {**_MORE_PREFIXES, **table["prefixes"]}
    if SCHEMA_HTTPS in namespaces and known["schema"] not in namespaces:
        known["schema"] = SCHEMA_HTTPS
    by_namespace = {namespace: prefix for prefix, namespace in known.items()}
    return {
        by_namespace[namespace]: namespace
        for namespace in sorted(namespaces & by_namespace.keys())
    }


def _namespace_of(iri: str) -> str:
    return iri[: max(iri.rfind("/"), iri.rfind("#"), iri.rfind(":")) + 1]


def _ordered(quads: list[Quad]) -> list[Quad]:
    """Return the statements grouped, with blank nodes named `b1`, `b2` and so on."""
    groups: dict[tuple[object, object], list[Quad]] = {}
    for quad in quads:
        groups.setdefault((quad.graph_name, quad.subject), []).append(quad)
    # A stack, since chains of blank nodes may be long. Unreferenced nodes come first,
    # so that each blank node can follow its reference.
    referred = {quad.object for quad in quads if isinstance(quad.object, BlankNode)}
    graphs = list(dict.fromkeys(graph for graph, _ in groups))
    waiting = sorted(
        groups, key=lambda key: (graphs.index(key[0]), key[1] in referred), reverse=True
    )
    names: dict[BlankNode, BlankNode] = {}
    ordered: list[Quad] = []
    while waiting:
        key = waiting.pop()
        group = sorted(
            groups.pop(key, ()), key=lambda x: (x.predicate != _TYPE, x.predicate.value)
        )
        ordered += (Quad(*(_rename(x, names) for x in quad)) for quad in group)
        objects = [quad.object for quad in group]
        waiting += reversed([(key[0], x) for x in objects if x in referred])
    return ordered


def _rename(term: Any, names: dict[BlankNode, BlankNode]) -> Any:
    if isinstance(term, BlankNode):
        return names.setdefault(term, BlankNode(f"b{len(names) + 1}"))
    if isinstance(term, Triple):
        return Triple(*(_rename(each, names) for each in term))
    return term


def _spaced(text: str) -> str:
    """Return the text with empty lines, without prefixes replaced by `a` or `3`."""
    lines = text.split("\n")
    n_declared = next(n for n, line in enumerate(lines) if not line.startswith("@"))
    body = re.sub(r"\n(?=[^\s}])", "\n\n", "\n".join(lines[n_declared:]))
    used = [line for line in lines[:n_declared] if line.split()[1] in body]
    return "\n".join([*used, "", body] if used else [body])
