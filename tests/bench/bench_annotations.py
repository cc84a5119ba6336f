"""RDFa and microformats of pages, compared with other libraries.

Run: `python -m tests.bench.bench_annotations [N_PAGES]`.
"""

from __future__ import annotations

import io
import random
import sys
import time
from typing import TYPE_CHECKING

import mf2py
from pyRdfa import pyRdfa
from pyRdfa.options import Options

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf.html.microformats import extract_microformats
from rdfcrawl.rdf.html.page import ParsedPage
from rdfcrawl.rdf.html.rdfa import extract_rdfa
from tests.bench.figures import Figure, judge

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "http://shop.example/list"
SIZES = (50_000, 100_000, 200_000)
_TEXT = "the crawler reads every page that a site gives out and keeps it"
_FILLER = '<div class="row"><p class="t">{}</p><a href="/x/{}">{}</a></div>\n'
_RDFA = (
    '<div typeof="schema:Product" resource="#p{1}"><h2 property="schema:name">{0}</h2>'
    '<a property="schema:url" href="/p/{1}">more</a><p property="schema:description">'
    '{0}</p><div property="schema:offers" typeof="schema:Offer"><meta '
    'property="schema:price" content="{1}"></div></div>\n'
)
_ENTRY = (
    '<article class="h-entry"><h2 class="p-name">{0}</h2><a class="p-author h-card" '
    'href="/me">Me</a><time class="dt-published" datetime="2026-01-01">1</time>'
    '<div class="e-content"><p>{0}</p></div><a class="u-url" href="/e/{1}">#</a>'
    "</article>\n"
)


def _page(rng: random.Random, size: int, annotated: str, head: str) -> bytes:
    parts = [f"<!DOCTYPE html><html lang=en><title>T</title><body>{head}"]
    n_chars = number = 0
    while n_chars < size:
        number += 1
        text = " ".join(rng.choices(_TEXT.split(), k=25))
        form = annotated if number % 4 == 0 else _FILLER
        parts.append(form.format(text, number, text[:20]))
        n_chars += len(parts[-1])
    return "".join(parts).encode()


def _rate(pages: list[bytes], read: Callable[[bytes], object]) -> float:
    began = time.process_time()
    for page in pages:
        read(page)
    return len(pages) / (time.process_time() - began)


def _ours_rdfa(data: bytes) -> int:
    return sum(map(len, extract_rdfa(ParsedPage(data, url=URL), FaultLog())))


def _pyrdfa(data: bytes) -> object:
    options = Options(output_default_graph=True, output_processor_graph=False)
    parser = pyRdfa(options, base=URL, media_type="text/html")
    return parser.graph_from_source(io.StringIO(data.decode()))


def _ours_microformats(data: bytes) -> int:
    return sum(map(len, extract_microformats(ParsedPage(data, url=URL), FaultLog())))


def _mf2py(data: bytes) -> object:
    return mf2py.parse(doc=data.decode(), url=URL, html_parser="html5lib")


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Return how many times as fast as its library each is."""
    given = sys.argv[1:] if arguments is None else arguments
    n_pages = int(given[0]) if given else 12
    rng = random.Random(7)
    sizes = [SIZES[i % len(SIZES)] for i in range(n_pages)]
    rdfa = [_page(rng, size, _RDFA, "") for size in sizes]
    feed = '<div class="h-feed">'
    formats = [_page(rng, size, _ENTRY, feed) for size in sizes]
    print(f"{n_pages} pages of {SIZES[0] // 1000} to {SIZES[-1] // 1000} KB")
    figures = []
    for name, pages, ours, library, theirs, least in (
        ("RDFa", rdfa, _ours_rdfa, "pyRdfa", _pyrdfa, 8.0),
        ("microformats", formats, _ours_microformats, "mf2py, html5lib", _mf2py, None),
    ):
        bare = _rate(pages[:3], theirs)
        rate = _rate(pages, ours)
        print(
            f"{name:14}{rate:8.1f} pages/s; {library} {bare:.1f}; "
            f"ratio {rate / bare:.1f}"
        )
        figures.append(Figure(name, rate / bare, f"x {library}", at_least=least))
    return figures


if __name__ == "__main__":
    sys.exit(judge(main()))
