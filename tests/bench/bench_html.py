"""Cost of reading a page, by its content, next to bare parsing.

Run: `python -m tests.bench.bench_html [N_PAGES]`.
"""

from __future__ import annotations

import gc
import json
import random
import re
import sys
import time
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf.environment import (
    DEFAULT_LIMITS,
    GC_THRESHOLDS,
    INLINE,
    ReaderContext,
)
from rdfcrawl.rdf.html.extractors import SLOW
from rdfcrawl.rdf.html.page import ParsedPage
from rdfcrawl.rdf.html.reading import PageReading
from rdfcrawl.rdf.output import QuadOutput
from tests.bench.figures import Figure, judge

if TYPE_CHECKING:
    from collections.abc import Callable


URL = "http://shop.example/articles/page"
SIZES = (50_000, 100_000, 200_000)
# Goals in pages per second and core, with pages of all sizes; 0 if none.
LEAST = {
    "nothing": 500,
    "nothing, hyperlinks": 0,
    "Open Graph": 100,
    "JSON-LD": 315,
    "Microdata": 200,
    "RDFa": 150,
}
_WORDS = re.findall(
    r"\w+",
    "the crawler reads every page that a site gives out and keeps what its "
    "publisher states of things and of their parts for those who ask",
)


def _text(rng: random.Random, n_words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=n_words))


def _head(rng: random.Random, extra: str) -> str:
    styles = "".join(
        f".c{i}{{color:#{rng.randrange(1 << 24):06x};margin:{i}px}}\n"
        for i in range(150)
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{_text(rng, 6)}</title>"
        f'<meta name="description" content="{_text(rng, 20)}">'
        '<link rel="canonical" href="/articles/page">'
        '<link rel="stylesheet" href="/s.css"><link rel="icon" href="/i.png">'
        f"{extra}<style>{styles}</style><script>"
        + "".join(
            f'window.dataLayer.push({{"event":"e{i}","value":{i}}});\n'
            for i in range(150)
        )
        + "</script></head>"
    )


def _article(rng: random.Random, number: int) -> str:
    return (
        f'<article class="card card--wide" data-id="{number}"><h2 class="title">'
        f'<a href="/articles/{number}?from=list">{_text(rng, 5)}</a></h2>'
        f'<p class="text">{_text(rng, 30)} <em>{_text(rng, 3)}</em>, '
        f'{_text(rng, 12)} <a href="http://other{number % 9}.example/x/{number}">'
        f'{_text(rng, 3)}</a>.</p><img src="/img/{number}.jpg" alt="{_text(rng, 4)}">'
        f'<ul class="tags"><li><a href="/tags/{number % 17}">{_text(rng, 1)}</a></li>'
        f'<li><a href="/tags/{number % 13}">{_text(rng, 1)}</a></li></ul></article>\n'
    )


def _microdata(rng: random.Random, number: int) -> str:
    return (
        '<div class="product" itemscope itemtype="http://schema.org/Product">'
        f'<h2><a itemprop="url" href="/p/{number}"><span itemprop="name">'
        f'{_text(rng, 5)}</span></a></h2><p itemprop="description">{_text(rng, 30)}'
        f'</p><img itemprop="image" src="/img/{number}.jpg"><div itemprop="offers" '
        'itemscope itemtype="http://schema.org/Offer"><meta itemprop="priceCurrency" '
        f'content="EUR"><span itemprop="price" content="{number}">{number} EUR</span>'
        '<link itemprop="availability" href="http://schema.org/InStock">'
        '<time itemprop="validFrom" datetime="2026-01-01">today</time></div></div>\n'
    )


def _rdfa(rng: random.Random, number: int) -> str:
    return (
        f'<div class="card" vocab="http://schema.org/" typeof="Product" '
        f'resource="#p{number}"><h2><a property="url" href="/p/{number}">'
        f'<span property="name">{_text(rng, 5)}</span></a></h2><p '
        f'property="description">{_text(rng, 30)}</p><div property="offers" '
        f'typeof="Offer"><meta property="priceCurrency" content="EUR"><span '
        f'property="price" content="{number}">{number} EUR</span></div></div>\n'
    )


def _json_ld(rng: random.Random) -> str:
    value = {
        "@context": {"@vocab": "http://schema.org/"},
        "@type": "ItemList",
        "itemListElement": [
            {
                "@type": "Product",
                "@id": f"/p/{i}",
                "name": _text(rng, 5),
                "description": _text(rng, 20),
                "offers": {"@type": "Offer", "price": i, "priceCurrency": "EUR"},
            }
            for i in range(20)
        ],
    }
    script = json.dumps(value, indent=1)
    return f'<script type="application/ld+json">{script}</script>'


def _open_graph(rng: random.Random) -> str:
    return (
        f'<meta property="og:title" content="{_text(rng, 6)}"><meta '
        'property="og:type" content="article"><meta property="og:image" '
        'content="http://shop.example/i.jpg"><meta property="article:published_time" '
        'content="2026-01-01T00:00:00Z">'
    )


def make_page(kind: str, n_bytes: int) -> bytes:
    """Return a page of about this length, with annotations of one kind."""
    rng = random.Random(f"{kind} {n_bytes}")
    annotated = {"Microdata": _microdata, "RDFa": _rdfa}.get(kind)
    in_head = {"JSON-LD": _json_ld, "Open Graph": _open_graph}.get(kind)
    parts = [_head(rng, in_head(rng) if in_head else ""), '<body><main class="m">']
    length = sum(map(len, parts))
    number = 0
    while length < n_bytes:
        number += 1
        # A list of fifty annotated things, in a page that has more to it.
        make = annotated if annotated and number <= 50 else _article
        parts.append(make(rng, number))
        length += len(parts[-1])
    parts.append("</main></body></html>")
    return "".join(parts).encode()


def read(data: bytes, *, is_bounded: bool, wants_hyperlinks: bool) -> PageReading:
    """Read one page to its end."""
    log = FaultLog()
    output = QuadOutput(url=URL, graph=URL, limits=DEFAULT_LIMITS, log=log)
    reading = PageReading(
        ParsedPage(data, url=URL, media_type="text/html"),
        extractors=None,
        excluded=frozenset() if is_bounded else SLOW,
        rules=(),
        wants_hyperlinks=wants_hyperlinks,
        environment=ReaderContext(is_bounded=True) if is_bounded else INLINE,
        limits=DEFAULT_LIMITS,
        log=log,
        output=output,
    )
    for _ in reading:
        pass
    assert not reading.is_partial, log.all()
    return reading


def _rate(work: Callable[[bytes], object], pages: list[bytes], n_pages: int) -> float:
    best = 0.0
    for _ in range(3):
        start = time.process_time()
        for number in range(n_pages):
            work(pages[number % len(pages)])
        best = max(best, n_pages / (time.process_time() - start))
    return best


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Return the rates of each kind of page."""
    given = sys.argv[1:] if arguments is None else arguments
    n_pages = int(given[0]) if given else 300
    figures = []
    gc.set_threshold(*GC_THRESHOLDS)  # as in all processes that read pages
    for kind, least in LEAST.items():
        pages = [make_page(kind.partition(",")[0], size) for size in SIZES]
        is_bounded = kind in {"RDFa", "JSON-LD"}

        def ours(
            data: bytes, *, is_bounded: bool = is_bounded, kind: str = kind
        ) -> object:
            wants_hyperlinks = "hyperlinks" in kind
            return read(data, is_bounded=is_bounded, wants_hyperlinks=wants_hyperlinks)

        n_here = n_pages // 10 if kind == "RDFa" else n_pages
        found = {
            str(name): n for name, n in read_last(pages[-1], ours).extracted.items()
        }
        bare = _rate(LexborHTMLParser, pages, n_here)
        rate = _rate(ours, pages, n_here)
        print(
            f"{kind}: {rate:.0f} pages/s, bare parse {bare:.0f} pages/s "
            f"({rate / bare:.2f} of bare); of the longest {found}"
        )
        figures.append(Figure(kind, rate, "pages/s", at_least=least or None))
    return figures


def read_last(data: bytes, work: Callable[[bytes], object]) -> PageReading:
    """Return the reading of one page."""
    reading = work(data)
    assert isinstance(reading, PageReading)
    return reading


if __name__ == "__main__":
    sys.exit(judge(main()))
