"""extruct and PyLD in their roles: damaged pages, canonical statements."""

from __future__ import annotations

import asyncio
import json
import re
from importlib import metadata
from typing import TYPE_CHECKING, Any

import extruct
import pytest
from scrapy.http import HtmlResponse, TextResponse

from rdfcrawl import Reason, SourceFault, extract

if TYPE_CHECKING:
    from rdfcrawl import ExtractedRdf

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


def read(page: str, **options: Any) -> ExtractedRdf:
    """Return a page as extracted."""
    response = HtmlResponse(URL, body=page.encode(), encoding="utf-8")
    return asyncio.run(extract(response, **options))


def samples() -> list[str]:
    """Return the pages in the README of extruct."""
    readme = metadata.distribution("extruct").read_text("METADATA")
    found = _samples(str(readme))
    return [re.sub(r"(?m)^ *\.\.\. ?", "", each) for each in found]


def uniform(page: str) -> dict[str, Any]:
    """Return what extruct itself makes of a page."""
    found = extruct.extract(page, base_url=URL, uniform=True, errors="ignore")
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


@pytest.mark.in_turn(2, rooms=("rdf",))
@pytest.mark.parametrize("page", [*samples(), HEAD + ITEMS + CARD + SCRIPT])
def test_uniform_shape_is_that_of_extruct(page: str) -> None:
    """If a page has items of any syntax, then its uniform shape is that of extruct."""
    with read(page, uniform=True) as rdf:
        found, expected = rdf.uniform, uniform(page)
    del found["rdfa"], expected["rdfa"]  # blank nodes have new names each time
    assert found == expected
    assert any(found.values())


def test_equal_documents_have_equal_canonical_statements() -> None:
    """If documents differ in order and labels alone, then not in canonical N-Quads."""
    nut = RDFA.replace("Nail", "Nut")
    with read(nut + RDFA) as one, read(RDFA + nut) as same, read(nut + nut) as other:
        assert one.nquads().read() != same.nquads().read()
        assert one.canonical() == same.canonical() != other.canonical()
    nodes = range(9)
    alike = "".join(f"_:n{i} <urn:p> _:n{j} . " for i in nodes for j in nodes if i != j)
    response = HtmlResponse(
        URL, body=alike.encode(), headers={"Content-Type": "text/turtle"}
    )
    with (
        asyncio.run(extract(response)) as rdf,
        pytest.raises(SourceFault, match="neighbours that are alike"),
    ):
        rdf.canonical()


def test_canonical_statements_are_a_set_with_directions() -> None:
    """If a document repeats a statement, it is there once; base directions differ."""

    def canonical(*statements: str) -> list[str]:
        body = "".join(f"_:a <urn:p> {each} .\n" for each in statements)
        kind = {"Content-Type": "text/turtle"}
        response = HtmlResponse(URL, body=body.encode(), headers=kind)
        with asyncio.run(extract(response)) as rdf:
            return rdf.canonical().splitlines()

    assert canonical('"x"@ar--rtl', '"x"@ar--ltr', '"x"@ar--rtl') == [
        f'_:c14n0 <urn:p> "x"^^<https://www.w3.org/ns/i18n#ar_{way}> .'
        for way in ("ltr", "rtl")
    ]
    assert canonical("1", "1") == canonical("1")


@pytest.mark.parametrize(
    ("page", "names", "syntaxes"),
    [
        (f"{ITEMS}{RDFA}{'<b>' * 30_000}", {"Drill", "Nail"}, {"microdata", "rdfa"}),
    ],
    ids=["deep"],
)
def test_extruct_reads_what_our_extractors_refuse(
    page: str, names: set[str], syntaxes: set[str]
) -> None:
    """If an extractor fails on a small page, then extruct reads it."""
    with read(page) as rdf:
        assert {each["name"] for each in rdf.items(type="schema:Product")} == names
        repaired = [x.detail for x in rdf.faults if x.reason is Reason.REPAIRED]
    assert {
        each.partition(": read by extruct after: ")[0] for each in repaired
    } == syntaxes
    assert bool(names) != any(x.reason is Reason.SYNTAX for x in rdf.faults)


def test_page_of_many_bytes_has_no_second_reader() -> None:
    """If a page that fails is longer than 256 KiB, then extruct does not read it."""
    with read(ITEMS + "<b>" * 90_000, uniform=True) as rdf:
        assert (rdf.n_quads, rdf.uniform) == (0, {})
        assert {x.reason for x in rdf.faults} == {Reason.TOO_DEEP, Reason.TOO_LARGE}


def test_syntax_that_extruct_fails_on_is_a_fault() -> None:
    """If extruct fails on one syntax, then the uniform shape has the others."""
    broken = SCRIPT.replace('"name":', '"name"')
    with read(f"{HEAD}{ITEMS}{broken}", uniform=True) as rdf:
        assert "json-ld" not in rdf.uniform
        assert rdf.uniform["microdata"]
        assert rdf.uniform["opengraph"]
        assert any("extruct, json-ld" in each.detail for each in rdf.faults)


def test_statements_that_libraries_cannot_express_are_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If a document has triple terms, then a warning has their number."""
    text = """VERSION "1.2"
    PREFIX : <http://e.org/>
    :a a :B ; :p <<( :s :p :o )>> , <<( :s :p :q )>> ."""
    response = TextResponse(
        URL, body=text.encode(), headers={"Content-Type": "text/turtle"}
    )
    with asyncio.run(extract(response)) as rdf:
        assert len(rdf.graph()) == 1
        assert len(list(rdf.items())) == 1
        with pytest.raises(SourceFault, match="a statement about a statement"):
            rdf.canonical()
    assert [each.getMessage() for each in caplog.records] == [
        f"2 statements with triple terms are left out: {name} has no such terms"
        for name in ("rdflib", "items")
    ]
