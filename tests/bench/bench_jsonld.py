"""Cost of JSON-LD: our fast way, PyLD with the same contexts, bare pyoxigraph.

Run: `python -m tests.bench.bench_jsonld`.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import pyoxigraph
from pyoxigraph import RdfFormat

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf.environment import INLINE, bundled_context
from rdfcrawl.rdf.jsonld.contexts import ContextLoader, JsonLdReaderOptions
from rdfcrawl.rdf.jsonld.pyld_reading import iter_statements
from rdfcrawl.rdf.jsonld.reading import read_json_ld
from tests.bench.figures import Figure, judge

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "http://shop.example/lamp"
CONTEXT = "https://schema.org"
PRODUCT: dict[str, Any] = {
    "@context": CONTEXT,
    "@type": "Product",
    "@id": "#product",
    "name": "Lamp",
    "image": ["http://shop.example/1.jpg", "http://shop.example/2.jpg"],
    "brand": {"@type": "Brand", "name": "ACME"},
    "review": [
        {
            "@type": "Review",
            "author": {"@type": "Person", "name": f"Reader {n}"},
            "datePublished": "2026-01-01",
            "reviewRating": {"@type": "Rating", "ratingValue": 4, "bestRating": 5},
        }
        for n in range(6)
    ],
    "offers": {
        "@type": "Offer",
        "priceCurrency": "EUR",
        "price": 119.99,
        "availability": "https://schema.org/InStock",
    },
}


def _fast(data: bytes) -> None:
    blocks = read_json_ld(data, base=URL, environment=INLINE, log=FaultLog())
    assert b"".join(blocks)


def _pyld(data: bytes) -> None:
    loader = ContextLoader(INLINE.contexts, document_url=URL)
    assert list(
        iter_statements(json.loads(data), JsonLdReaderOptions(base=URL), loader)
    )


def _pyoxigraph(data: bytes) -> None:
    quads = pyoxigraph.parse(data, RdfFormat.JSON_LD, base_iri=URL)
    assert pyoxigraph.serialize(quads, format=RdfFormat.N_QUADS)


def _documents_per_sec(read: Callable[[bytes], None], data: bytes, n: int) -> float:
    read(data)
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        for _ in range(n):
            read(data)
        best = min(best, time.process_time() - began)
    return n / best


def small_blocks() -> list[Figure]:
    """Return documents per second for a block of a page that names schema.org."""
    found = bundled_context(CONTEXT)
    assert found
    data = json.dumps(PRODUCT).encode()
    inlined = json.dumps({**PRODUCT, **found[1]}).encode()
    bare = _documents_per_sec(_pyoxigraph, inlined, 50)
    print(f"product, bare pyoxigraph, full context inlined: {bare:.0f}/s")
    figures = []
    for name, read, n in (("fast way", _fast, 500), ("PyLD", _pyld, 50)):
        rate = _documents_per_sec(read, data, n)
        print(f"product, {name}: {rate:.0f}/s, {rate / bare:.2f} of bare pyoxigraph")
        figures.append(Figure(f"product, {name}", rate / bare, "x bare pyoxigraph"))
    return figures


def large_document(n: int = 20_000) -> Figure:
    """Return statements per second for a document with a small context."""
    vocabulary = {"@vocab": "http://v.example/"}
    nodes = [{"@id": f"#{i}", "name": f"node {i}", "size": i} for i in range(n)]
    data = json.dumps({"@context": vocabulary, "@graph": nodes}).encode()
    bare = _documents_per_sec(_pyoxigraph, data, 1) * 2 * n / 1000
    fast = _documents_per_sec(_fast, data, 1) * 2 * n / 1000
    print(f"dump, bare pyoxigraph: {bare:.0f} k triples/s")
    print(f"dump, fast way: {fast:.0f} k triples/s, {fast / bare:.2f} of it")
    return Figure("dump, fast way", fast / bare, "x bare pyoxigraph")


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Return the ratios to bare pyoxigraph."""
    del arguments
    return [*small_blocks(), large_document()]


if __name__ == "__main__":
    sys.exit(judge(main()))
