"""Documents of every format with statements longer than a chunk."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from html import escape
from random import Random
from typing import TYPE_CHECKING, Final

import pyoxigraph as ox

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.core.namespaces import TRIX
from rdfcrawl.dataweb.config import DumpProfile
from rdfcrawl.dataweb.nodes.packings import PACKINGS
from rdfcrawl.rdf.output import CHUNK_BYTES
from tests.support.hdt_files import hdt_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.core.records import Document

NAME: Final = "http://e.example/name"
N_SHORT: Final = 10  # before, between and behind long ones
Statement = tuple[str, str]  # subject, and value of its name


def statements(*n_chunks: int) -> list[Statement]:
    """Return short statements, and between them one of each number of chunks.

    The first and the last one are long.
    """
    found: list[Statement] = []
    for number, n in enumerate(n_chunks):
        if number:
            found += [(f"short{number}-{i}", f"v{i}") for i in range(N_SHORT)]
        # Of random digits, so that no packing looks like a bomb.
        text = Random(number).randbytes(n * CHUNK_BYTES // 2).hex()
        found.append((f"long{number}", text))
    return [(f"http://e.example/{subject}", text) for subject, text in found]


def _lines(found: list[Statement]) -> bytes:
    return "".join(f'<{s}> <{NAME}> "{text}" .\n' for s, text in found).encode()


def _turtle(found: list[Statement]) -> bytes:
    return b"@prefix e: <http://e.example/> .\n" + _lines(found)


def _rdf_xml(found: list[Statement]) -> bytes:
    name = ox.NamedNode(NAME)
    triples = [ox.Triple(ox.NamedNode(s), name, ox.Literal(x)) for s, x in found]
    return ox.serialize(triples, format=ox.RdfFormat.RDF_XML) or b""


def _json_ld(found: list[Statement]) -> bytes:
    return json.dumps([{"@id": s, NAME: text} for s, text in found]).encode()


def _rdf_json(found: list[Statement]) -> bytes:
    values = {s: {NAME: [{"type": "literal", "value": x}]} for s, x in found}
    return json.dumps(values).encode()


def _hextuples(found: list[Statement]) -> bytes:
    string = "http://www.w3.org/2001/XMLSchema#string"
    rows = (json.dumps([s, NAME, text, string, "", ""]) for s, text in found)
    return "\n".join(rows).encode()


def _trix(found: list[Statement]) -> bytes:
    triples = "".join(
        f"<triple><uri>{s}</uri><uri>{NAME}</uri>"
        f"<plainLiteral>{escape(text)}</plainLiteral></triple>"
        for s, text in found
    )
    return f'<TriX xmlns="{TRIX}"><graph>{triples}</graph></TriX>'.encode()


def _hdt(found: list[Statement]) -> bytes:
    return hdt_of(_lines(found).splitlines(keepends=True))


def _elements(form: str, found: list[Statement]) -> bytes:
    elements = (form.format(subject=s, text=text, name=NAME) for s, text in found)
    return f"<!doctype html><body>{''.join(elements)}</body>".encode()


def _page_of_scripts(found: list[Statement]) -> bytes:
    """Return a page with JSON-LD, followed by data for other extractors."""
    script = (
        b'<script type="application/ld+json">' + _json_ld(found[:-2]) + b"</script>"
    )
    return script + _elements(_FORMS["rdfa.html"], found[-2:])


_QUICK_PACKINGS: Final = {".gz", ".zip", ".tar", ".tar.gz", ".zst"}
_FORMS: Final = {
    "rdfa.html": '<p about="{subject}" property="{name}" content="{text}"></p>',
    "microdata.html": '<p itemscope itemid="{subject}" itemtype="http://e.example/T">'
    '<meta itemprop="{name}" content="{text}"></p>',
    "opengraph.html": '<meta property="og:description" content="{text}">',
    "dublincore.html": '<meta name="DC.title" content="{text}">',
    "microformats.html": '<p class="h-card"><b class="p-name">{text}</b></p>',
}
WRITERS: Final[dict[str, tuple[str, Callable[[list[Statement]], bytes]]]] = {
    "nt": ("application/n-triples", _lines),
    "nq": ("application/n-quads", _lines),
    "ttl": ("text/turtle", _turtle),
    "trig": ("application/trig", _turtle),
    "n3": ("text/n3", _turtle),
    "rdf": ("application/rdf+xml", _rdf_xml),
    "jsonld": ("application/ld+json", _json_ld),
    "rj": ("application/rdf+json", _rdf_json),
    "hext": ("application/octet-stream", _hextuples),
    "trix": ("application/trix", _trix),
    "hdt": ("application/vnd.hdt", _hdt),
    "scripts.html": ("text/html", _page_of_scripts),
    **{name: ("text/html", partial(_elements, form)) for name, form in _FORMS.items()},
}
"""By extension: media type, and a function that writes a document."""


def packed(found: list[Statement]) -> dict[str, tuple[str, bytes]]:
    """Return the statements in some packings, by extension, with the media type."""
    return {
        f"nt{each.extension}": (each.media_type, each.pack(_lines(found)))
        for each in PACKINGS[DumpProfile.EXTENDED]
        if each.extension in _QUICK_PACKINGS
    }


class EmptyChunks:
    """Pipeline of a user that passes the statements on, with nothing between them."""

    def process_item(self, item: Document) -> Document:
        """Wrap the statements of a document."""
        if item.chunks is not None:
            item.chunks = _with_nothing(item.chunks)
        return item


async def _with_nothing(
    chunks: AsyncIterator[QuadChunk],
) -> AsyncIterator[QuadChunk]:
    async for chunk in chunks:
        yield QuadChunk(b"")
        yield chunk
    yield QuadChunk(b"")
