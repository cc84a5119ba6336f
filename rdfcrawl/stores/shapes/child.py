"""The process that validates documents: `python -m rdfcrawl.stores.shapes.child`.

Arguments: the file of shapes, bytes of memory, seconds of CPU for each document. Input:
frames of a length (4 bytes, big endian) and N-Quads of that length. Output: a frame of
JSON after the shapes are read, and one for each document. The process ends with its
input.
"""

from __future__ import annotations

import ctypes  # noqa: F401  # used by libraries after imports are denied
import json
import logging
import os
import resource
import sys
from pathlib import Path
from posixpath import normpath
from struct import Struct
from typing import Any, BinaryIO, Final

import pyoxigraph as ox
import pyshacl
import rdflib
from rdflib.namespace import RDF, SH

from rdfcrawl.rdf.extraction.child import deny_side_effects
from rdfcrawl.rdf.extraction.confinement import confine

LENGTH: Final = Struct(">I")
_MAX_NAMED: Final = 20  # findings of a document
_MAX_CHARACTERS: Final = 500  # of a term or message
_PARTS: Final = (
    ("focus", SH.focusNode),
    ("path", SH.resultPath),
    ("value", SH.value),
    ("shape", SH.sourceShape),
    ("message", SH.resultMessage),
)
_FORMATS: Final = {
    "nt": ox.RdfFormat.N_TRIPLES,
    "nq": ox.RdfFormat.N_QUADS,
    "trig": ox.RdfFormat.TRIG,
    "rdf": ox.RdfFormat.RDF_XML,
    "xml": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
    "json": ox.RdfFormat.JSON_LD,
}


def main() -> None:
    """Validate documents from standard input until it ends."""
    path, memory_bytes, secs = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    logging.disable(logging.CRITICAL)  # it quotes documents
    jobs, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        shapes = read_shapes(path)
        # Also imports all modules that `judge` needs.
        pyshacl.validate(rdflib.Graph(), shacl_graph=shapes, meta_shacl=True)
        judge(shapes, b"")
    except Exception as error:  # pyshacl raises many kinds
        _send(replies, {"error": f"{type(error).__name__}: {_short(str(error))}"})
        return
    _send(replies, {})
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    sys.dont_write_bytecode = True
    confine()  # as far as the kernel supports
    sys.addaudithook(deny_side_effects)
    while header := jobs.read(LENGTH.size):
        quads = jobs.read(LENGTH.unpack(header)[0])
        _allow_cpu(secs)
        try:
            found = judge(shapes, quads)
        except Exception as error:
            found = {"fault": f"{type(error).__name__}: {_short(str(error))}"}
        _send(replies, found)


def read_shapes(path: Path) -> rdflib.Graph:
    """Read a file of shapes: Turtle, unless its extension names another format."""
    kind = _FORMATS.get(path.suffix[1:].lower(), ox.RdfFormat.TURTLE)
    base = Path(normpath(path.absolute())).as_uri()
    return _graph(path.read_bytes(), kind, base)


def judge(shapes: rdflib.Graph, quads: bytes) -> dict[str, Any]:
    """Return the results for a document: counts by severity, and the first results."""
    data = _graph(quads, ox.RdfFormat.N_QUADS)
    _, report, _ = pyshacl.validate(data, shacl_graph=shapes, inplace=True)
    if not isinstance(report, rdflib.Graph):
        raise report if isinstance(report, Exception) else TypeError(str(report))
    counts: dict[str, int] = {}
    named: list[dict[str, str | None]] = []
    for result in report.subjects(RDF.type, SH.ValidationResult):
        severity = _local(report.value(result, SH.resultSeverity))
        counts[severity] = counts.get(severity, 0) + 1
        if len(named) < _MAX_NAMED:
            parts = ((name, report.value(result, term)) for name, term in _PARTS)
            constraint = _local(report.value(result, SH.sourceConstraintComponent))
            found = {name: _text(term) for name, term in parts}
            named.append({"severity": severity, "constraint": constraint, **found})
    return {"counts": counts, "named": named}


def _graph(content: bytes, kind: ox.RdfFormat, base: str | None = None) -> rdflib.Graph:
    graph = rdflib.Graph()
    for quad in ox.parse(content, format=kind, base_iri=base):
        graph.add((_term(quad.subject), _term(quad.predicate), _term(quad.object)))
    return graph


def _term(term: object) -> Any:
    if isinstance(term, ox.NamedNode):
        return rdflib.URIRef(term.value)
    if isinstance(term, ox.BlankNode):
        return rdflib.BNode(term.value)
    if isinstance(term, ox.Literal):
        if term.language:
            return rdflib.Literal(term.value, lang=term.language)
        return rdflib.Literal(term.value, datatype=rdflib.URIRef(term.datatype.value))
    raise ValueError("a statement about a statement")


def _text(term: object) -> str | None:
    return None if term is None else _short(str(term))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"


def _local(term: object) -> str:
    return str(term).rpartition("#")[2].removesuffix("ConstraintComponent")


def _allow_cpu(secs: float) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(used.ru_utime + used.ru_stime + secs) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _send(replies: BinaryIO, members: dict[str, Any]) -> None:
    payload = json.dumps(members).encode()
    replies.write(LENGTH.pack(len(payload)) + payload)
    replies.flush()


if __name__ == "__main__":
    main()
