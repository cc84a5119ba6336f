"""extruct and PyLD in their roles: damaged pages, the uniform shape, nested items."""

from __future__ import annotations

import asyncio
import json
import re
from importlib import metadata
from typing import TYPE_CHECKING, Any

import extruct
import pytest
from scrapy.http import HtmlResponse

from rdfcrawl import ConfigError, Reason, extract

if TYPE_CHECKING:
    from rdfcrawl import ExtractedRdf
    from tests.conftest import RawServer
    from tests.support.crawl_webs import Loopback
    from tests.support.project import Project
    from tests.support.project_fixtures import StartProject

URL = "http://example.org/shop"
ITEMS = """<div itemscope itemtype="http://schema.org/Product">
<span itemprop="name">Drill</span><img itemprop="image" src="/drill.png">
<div itemprop="offers" itemscope itemtype="http://schema.org/Offer">
<meta itemprop="price" content="19.50"><link itemprop="url" href="/buy"></div>
<p itemprop="review" itemscope itemtype="http://schema.org/Review">
<b itemprop="author">A</b></p><p itemprop="review" itemscope
itemtype="http://schema.org/Review"><b itemprop="author">B</b></p></div>"""
SCRIPT = """<script type="application/ld+json">{"@context": "http://schema.org",
"@type": "Product", "name": "Saw", "image": ["http://e.org/1", "http://e.org/2"],
"offers": {"@type": "Offer", "price": 19.5, "url": "http://e.org/buy"}}</script>"""
RDFA = """<div vocab="http://schema.org/" typeof="Product"><b property="name">Nail</b>
<div property="offers" typeof="Offer"><b property="price">1</b></div></div>"""
HEAD = """<html prefix="og: http://ogp.me/ns#"><head><title>Shop</title>
<meta property="og:type" content="product"><meta property="og:title" content="Drill">
<link rel="schema.DC" href="http://purl.org/dc/elements/1.1/">
<meta name="DC.title" content="Shop"><meta name="DC.type" content="Text"></head>"""
CARD = """<div class="h-card"><a class="p-name u-url" href="/ann">Ann</a></div>"""
_samples = re.compile(r'>>> html = """(.*?)"""', re.DOTALL).findall
_nan = SCRIPT.replace("19.5", "NaN")


def read(page: str, **options: Any) -> ExtractedRdf:
    """Return a page as extracted."""
    response = HtmlResponse(URL, body=page.encode(), encoding="utf-8")
    return asyncio.run(extract(response, **options))


def samples() -> list[str]:
    """Return the pages in the README of extruct."""
    readme = metadata.metadata("extruct").get_payload()
    found = _samples(str(readme))
    return [re.sub(r"(?m)^ *\.\.\. ?", "", each) for each in found]


def uniform(page: str) -> dict[str, Any]:
    """Return what extruct itself makes of a page."""
    found = extruct.extract(page, base_url=URL, uniform=True, errors="ignore")
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


@pytest.mark.parametrize("page", [*samples(), HEAD + ITEMS + CARD + SCRIPT])
def test_uniform_shape_is_that_of_extruct(page: str) -> None:
    """If a page has items of any syntax, then its uniform shape is that of extruct."""
    with read(page, uniform=True) as rdf:
        found, expected = rdf.uniform, uniform(page)
    del found["rdfa"], expected["rdfa"]  # blank nodes have new names each time
    assert found == expected
    assert any(found.values())


@pytest.mark.parametrize(
    ("page", "syntax"),
    [(ITEMS, "microdata"), (SCRIPT, "json-ld"), (samples()[0], "microdata")],
)
def test_items_are_those_of_extruct(page: str, syntax: str) -> None:
    """If a page has Microdata or JSON-LD, then its items are those of extruct."""
    with read(page) as rdf:
        assert list(rdf.items()) == uniform(page)[syntax]
