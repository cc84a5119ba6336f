"""How a dump is written."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import pyoxigraph as ox

from rdfcrawl.core.namespaces import TRIX
from rdfcrawl.dataweb.config import DumpProfile
from rdfcrawl.dataweb.nodes.base import serialize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rdfcrawl.dataweb.nodes.base import Statement


@dataclass(frozen=True, slots=True)
class DumpSerialization:
    """How a dump is written: extension, media type, function.

    The function takes statements whose terms are all IRIs, in angle brackets.
    """

    extension: str
    media_type: str
    write: Callable[[Iterable[Statement]], bytes]


def _by_oxigraph(
    rdf_format: ox.RdfFormat,
) -> Callable[[Iterable[Statement]], bytes]:
    return partial(serialize, rdf_format=rdf_format)


def _trix(statements: Iterable[Statement]) -> bytes:
    triples = "".join(
        "<triple>" + "".join(f"<uri>{escape(term[1:-1])}</uri>" for term in terms)
        + "</triple>\n"
        for terms in statements
    )  # fmt: skip
    namespace = TRIX
    return f'<TriX xmlns="{namespace}"><graph>\n{triples}</graph></TriX>\n'.encode()


def _rdf_json(statements: Iterable[Statement]) -> bytes:
    subjects: dict[str, dict[str, list[dict[str, str]]]] = {}
    for subject, predicate, obj in statements:
        about = subjects.setdefault(subject[1:-1], {})
        value = {"type": "uri", "value": obj[1:-1]}
        about.setdefault(predicate[1:-1], []).append(value)
    return json.dumps(subjects).encode()


def _hextuples(statements: Iterable[Statement]) -> bytes:
    return "".join(
        json.dumps([*(term[1:-1] for term in terms), "globalId", "", ""]) + "\n"
        for terms in statements
    ).encode()


def _hdt(statements: Iterable[Statement]) -> bytes:
    from rdfcrawl.rdf.hdt import write_hdt  # noqa: PLC0415 (with numpy)

    out = io.BytesIO()
    lines = (f"{s} {p} {o} .\n".encode() for s, p, o in statements)
    write_hdt(lines, out, base="http://dataweb.example/")
    return out.getvalue()


# The media types of Jena, which ORCA's dump nodes state.
_ORCA = (
    DumpSerialization("ttl", "text/turtle", _by_oxigraph(ox.RdfFormat.TURTLE)),
    DumpSerialization("n3", "text/rdf+n3", _by_oxigraph(ox.RdfFormat.N3)),
    DumpSerialization("rdf", "application/rdf+xml", _by_oxigraph(ox.RdfFormat.RDF_XML)),
    DumpSerialization(
        "nt", "application/n-triples", _by_oxigraph(ox.RdfFormat.N_TRIPLES)
    ),
)
SERIALIZATIONS = {
    DumpProfile.ORCA_2020: _ORCA,
    DumpProfile.ORCA_2021: _ORCA,
    DumpProfile.EXTENDED: (
        *_ORCA,
        DumpSerialization(
            "nq", "application/n-quads", _by_oxigraph(ox.RdfFormat.N_QUADS)
        ),
        DumpSerialization("trig", "application/trig", _by_oxigraph(ox.RdfFormat.TRIG)),
        DumpSerialization(
            "jsonld", "application/ld+json", _by_oxigraph(ox.RdfFormat.JSON_LD)
        ),
        DumpSerialization("trix", "application/trix", _trix),
        DumpSerialization("rj", "application/rdf+json", _rdf_json),
        DumpSerialization("hext", "application/octet-stream", _hextuples),
        DumpSerialization("hdt", "application/vnd.hdt", _hdt),
    ),
}
"""Formats of each profile."""
