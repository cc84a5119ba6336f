"""Other readers of the field: the statements that each finds in a document."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import tempfile
import warnings
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import pyoxigraph as ox
import rdflib
from extruct.jsonld import JsonLdExtractor
from pyld import jsonld
from pyRdfa import pyRdfa
from pyRdfa.options import Options

from rdfcrawl.core.formats import FORMATS, HTML, JSON_LD
from tests.support.sparql_services import FUSEKI, find_jar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rdflib.term import Node

_RIOT: Final = Path(__file__).with_name("Riot.java")
_RDFLIB_NAMES: Final = {
    "N-Triples": "nt11",
    "N-Quads": "nquads",
    "Turtle": "turtle",
    "TriG": "trig",
    "N3": "n3",
    "RDF/XML": "xml",
    "JSON-LD": "json-ld",
    "TriX": "trix",
    "HexTuples": "hext",
}
_bad_in_iris = re.compile(r"[\x00-\x20<>\"{}|^`\\]").sub
Quads = frozenset[ox.Quad]


def read_by_others(
    documents: Sequence[tuple[bytes, str, str]],
) -> dict[str, list[Quads | None]]:
    """Return the statements that each reader finds in each document.

    Args:
        documents: content, name of the format, and URL of each.

    Returns:
        For each reader its results in order; None for a format that it does not read.
    """
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {
                name: [_read_with(reader, *document) for document in documents]
                for name, reader in _READERS.items()
            }
    finally:
        logging.disable(logging.NOTSET)
    found["riot"] = list(_read_with_riot(documents))
    return found


def _read_with(
    reader: Callable[[bytes, str, str], Iterable[str] | None],
    body: bytes,
    format_name: str,
    url: str,
) -> Quads | None:
    lines: list[str] = []
    with suppress(Exception):  # each reader fails in its own way, after some statements
        found = reader(body, format_name, url)
        if found is None:
            return None
        for line in found:
            lines.append(line)  # noqa: PERF402 (those before an error are kept)
    return _quads("".join(lines).encode(errors="replace"), url)


def _quads(n_quads: bytes, url: str) -> Quads:
    """Return the well-formed statements; those in the graph of the document in none."""
    own, quads = ox.NamedNode(url), set()
    for line in n_quads.split(b"\n"):
        with suppress(SyntaxError, ValueError):
            for quad in ox.parse(line, format=ox.RdfFormat.N_QUADS):
                is_own = quad.graph_name == own
                quads.add(ox.Quad(*tuple(quad)[:3]) if is_own else quad)
    return frozenset(quads)


def _read_with_oxigraph(
    body: bytes, format_name: str, url: str
) -> Iterator[str] | None:
    parser = {each.name: each.parser for each in FORMATS}[format_name]
    if parser is None:
        return None
    quads = ox.parse(body, format=parser, base_iri=url)
    return (f"{quad} .\n" for quad in quads)


def _read_with_rdflib(body: bytes, format_name: str, url: str) -> Iterator[str] | None:
    name = _RDFLIB_NAMES.get(format_name)
    return _rdflib_lines(body, name, url) if name else None


def _rdflib_lines(body: bytes, name: str, url: str) -> Iterator[str]:
    dataset = rdflib.Dataset()
    with patch.object(rdflib, "NORMALIZE_LITERALS", new=False), suppress(Exception):
        dataset.parse(data=body, format=name, publicID=url)
    for subject, predicate, value, graph in dataset.quads():
        is_default = graph is None or str(graph) == "urn:x-rdflib:default"
        terms = (subject, predicate, value, *(() if is_default else (graph,)))
        yield " ".join(map(_rdflib_term, terms)) + " .\n"


def _rdflib_term(term: Node | None) -> str:
    if isinstance(term, rdflib.Literal):
        text = json.dumps(str(term), ensure_ascii=False)
        kind = f"^^{_rdflib_term(term.datatype)}" if term.datatype else ""
        return text + (f"@{term.language}" if term.language else kind)
    if isinstance(term, rdflib.BNode):
        return f"_:b{term.encode().hex()}"
    escaped = _bad_in_iris(lambda found: f"%{ord(found[0]):02X}", str(term))
    return f"<{escaped}>"


def _read_with_pyld(body: bytes, format_name: str, url: str) -> Iterator[str] | None:
    if format_name != JSON_LD.name:
        return None
    return _pyld_lines(json.loads(body), url)


def _pyld_lines(value: Any, url: str) -> Iterator[str]:
    """Yield the statements of JSON-LD; contexts of the web are not loaded."""

    def refuse(context: str, _: object) -> Any:
        raise jsonld.JsonLdError("not loaded", "loading", {"url": context})

    options = {"base": url, "format": "application/n-quads", "documentLoader": refuse}
    yield jsonld.to_rdf(value, options)


def _read_with_extruct(body: bytes, format_name: str, url: str) -> Iterator[str] | None:
    """Return the statements of a page's JSON-LD."""
    if format_name != HTML.name:
        return None
    blocks = JsonLdExtractor().extract(body.decode(), base_url=url)
    return (line for block in blocks for line in _pyld_lines(block, url))


def _read_with_pyrdfa(body: bytes, format_name: str, url: str) -> Iterator[str] | None:
    if format_name != HTML.name:
        return None
    graph = rdflib.Graph()
    pyRdfa(Options(), url, "text/html").graph_from_source(
        StringIO(body.decode()), graph
    )
    return (" ".join(map(_rdflib_term, triple)) + " .\n" for triple in graph)


def _read_with_riot(
    documents: Sequence[tuple[bytes, str, str]],
) -> Iterator[Quads | None]:
    jar = find_jar(FUSEKI)
    if jar is None:
        yield from (None for _ in documents)
        return
    types = {each.name: each.media_types[0] for each in FORMATS if each.media_types}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = []
        for n, (body, format_name, url) in enumerate(documents):
            (folder / f"{n}.in").write_bytes(body)
            media_type = types.get(format_name, "")  # unknown to Riot
            words = (str(folder / f"{n}.in"), media_type, url)
            lines.append("\t".join((*words, str(folder / f"{n}.nq"))) + "\n")
        command = ["java", "-XX:TieredStopAtLevel=1", "-cp", str(jar), str(_RIOT)]
        subprocess.run(
            command,
            input="".join(lines).encode(),
            stderr=subprocess.DEVNULL,
            check=True,
        )
        for n, (_, _, url) in enumerate(documents):
            written = folder / f"{n}.nq"
            yield _quads(written.read_bytes(), url) if written.exists() else None


_READERS: Final[dict[str, Callable[[bytes, str, str], Iterable[str] | None]]] = {
    "pyoxigraph": _read_with_oxigraph,
    "rdflib": _read_with_rdflib,
    "pyld": _read_with_pyld,
    "extruct": _read_with_extruct,
    "pyrdfa": _read_with_pyrdfa,
}
