"""Which extractors a page needs, its charset, its weight."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.html import prescan
from rdfcrawl.rdf.html.extractors import Extractor, scan
from rdfcrawl.rdf.html.page import ParsedPage
from rdfcrawl.rdf.html.page_links import has_links_in_body
from rdfcrawl.rdf.html.prescan import (
    MAX_DEPTH,
    check_weight,
    declared_charset,
    is_heavy,
)
from tests.support.cpu_time import takes_at_most
from tests.support.examples import examples

URL = "http://a.example/dir/page"


@pytest.mark.parametrize(
    ("page", "needed"),
    [
        ('<script type="application/ld+json">{}</script>', {Extractor.JSON_LD}),
        ("<div ITEMSCOPE>", {Extractor.MICRODATA}),
        ('<meta property="og:title" content=a>', {Extractor.OPEN_GRAPH}),
        ("<meta property=og:title content=a>", {Extractor.OPEN_GRAPH}),
        ("<meta property='fb:app_id' content=1>", {Extractor.OPEN_GRAPH}),
        (
            "<meta property='foo:a' content=1>",
            {Extractor.OPEN_GRAPH, Extractor.RDFA},
        ),
        ('<meta name="DC.title" content=a>', {Extractor.DUBLIN_CORE}),
        ("<link rel=dcterms.relation href=a>", {Extractor.DUBLIN_CORE}),
        ('<p vocab="http://schema.org/" about="#a">', {Extractor.RDFA}),
        ('<p typeof="Person">', {Extractor.RDFA}),
        ('<p property = "name">', {Extractor.RDFA}),
        ('<a rel="nofollow license" href="/l">', {Extractor.RDFA}),
        ('<a rel="cc:license" href="/l">', {Extractor.RDFA}),
        ('<a rev="foaf:made" href="/l">', {Extractor.RDFA}),
        ('<p class="box h-card">', {Extractor.MICROFORMATS}),
        ("<p class=vcard>", {Extractor.MICROFORMATS}),
        ("<p class='a hlisting'>", {Extractor.MICROFORMATS}),
        ("<a rel=me href=/x>", {Extractor.MICROFORMATS}),
        ("<a href=/x rel='nofollow Co-Worker'>", {Extractor.MICROFORMATS}),
        ('<a rel="next" title=x rel=a:b href="/l">', {Extractor.RDFA}),
        ('<p class="a hreview-aggregate b">', {Extractor.MICROFORMATS}),
    ],
)
def test_an_annotation_calls_its_extractor(page: str, needed: set[Extractor]) -> None:
    """If a page has an annotation, then just its extractors are called for."""
    assert scan(ParsedPage(page.encode(), url=URL).lower) == needed
    assert scan(ParsedPage(page.encode("utf-16"), url=URL).lower) == needed


@pytest.mark.parametrize(
    "page",
    [
        "",
        "<p>The property of type about a vocab, related.</p>",
        '<a rel="nofollow noopener" href="/a">b</a><link rel="stylesheet" href=c>',
        '<p class="h-4 h-full with-h-card">x</p>',
        "<script>if (typeof x === 'a') x.property = 1</script>",
        '<meta name="description" content="abc.def">',
    ],
)
def test_what_only_looks_like_one_calls_none(page: str) -> None:
    """If words or classes only resemble annotations, then no extractor runs."""
    assert scan(ParsedPage(page.encode(), url=URL).lower) == set()


@given(st.binary(max_size=300))
@settings(max_examples=examples(200), deadline=None)
def test_any_bytes_are_scanned(data: bytes) -> None:
    """If a page is any bytes, then scanning and decoding it raise nothing."""
    scan(data)
    page = ParsedPage(data, url=URL)
    assert page.utf8.decode("utf-8", "strict") == page.text
    assert page.base
    check_weight(data)
    is_heavy(data)


# -- charset -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        (codecs.BOM_UTF8 + "é".encode(), "iso-8859-1", "é"),
        ("é".encode("utf-16"), "", "é"),
        ("<p>é".encode("utf-16-le"), "", "<p>é"),
        ("<p>é".encode("utf-16-be"), "utf-16", "<p>é"),
        (" <p>é".encode("utf-16-le"), "utf-16", " <p>é"),
        (" <p>é".encode("utf-16-le"), "u16", " <p>é"),
        (" <p>é".encode("utf-32-le"), "utf-32", " <p>é"),
        ("<p>é".encode(), "utf-16", "<p>é"),
        ("<meta charset=u16>é".encode(), "UTF-32", "<meta charset=u16>é"),
        (b"\xe9", "iso-8859-1", "é"),
        (b"\x80", "ISO-8859-1", "€"),  # Encoding Standard: it means windows-1252
        (b"\x80\xe9", "", "€é"),
        ("é".encode(), "", "é"),
        ("é".encode(), "utf8", "é"),
        (b"<meta charset=iso-8859-5>\xd6", "", "<meta charset=iso-8859-5>ж"),
        (
            b"<meta charset=iso-8859-5>\xd0",
            "windows-1252",
            "<meta charset=iso-8859-5>Ð",
        ),
        ("<meta charset=gb2312>中".encode("gb18030"), "", "<meta charset=gb2312>中"),
        (
            "<meta http-equiv=content-type content='text/html; charset=Shift_JIS'>中"
            "".encode("cp932"),
            "",
            "<meta http-equiv=content-type content='text/html; charset=Shift_JIS'>中",
        ),
    ],
)
def test_a_page_is_decoded_as_browsers_do(data: bytes, charset: str, text: str) -> None:
    """If a mark, the header or the page say a charset, then in this order."""
    assert ParsedPage(data, url=URL, charset=charset).text == text


@pytest.mark.parametrize(
    ("head", "is_xml", "label"),
    [
        (b"<meta charset='UTF-16LE'>", False, "utf-8"),
        (b"<!-- <meta charset=a> --><META CHARSET = b>", False, "b"),
        (b"<?xml version='1.0' encoding='KOI8-R'?><meta charset=l1>", False, "l1"),
        (b"<?xml version='1.0' encoding='KOI8-R'?><meta charset=b>", True, "koi8-r"),
        (b"<?xml version='1.0' encoding='KOI8-R'?><p>", False, "koi8-r"),
        (b" " * 1024 + b"<meta charset=late>", False, ""),
    ],
)
def test_the_declared_charset_is_found(head: bytes, is_xml: bool, label: str) -> None:
    """If a page declares a charset in its first 1024 bytes, then it is known."""
    assert declared_charset(head, is_xml=is_xml) == label


def test_bytes_that_are_no_text_are_marked() -> None:
    """If bytes are not valid in the declared charset, then it is a named fault."""
    page = ParsedPage(b"a\xffb", url=URL, charset="utf-8")
    assert page.text == "a\ufdd0b"
    assert [fault.reason for fault in page.faults.all()] == [Reason.BAD_CHARSET]


# -- base, language ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "base"),
    [
        ("<p>", URL),
        ("<base href='/b/#f'><base href='/c/'>", "http://a.example/b/"),
        ("<base target=x><base href=' http://b.example/é '>", "http://b.example/é"),
        ("<head></head><body><base href=d/>", "http://a.example/dir/d/"),
        ("<base href='data:text/plain,a'>", URL),
        ("<base href=''>", URL),
        ("<base>", URL),
        ("<base href='" + "a" * 5000 + "'>", URL),
    ],
)
def test_the_base_is_that_of_the_first_href(html: str, base: str) -> None:
    """If a page has a base, then links are relative to it, unless it cannot be."""
    page = ParsedPage(html.encode(), url=URL)
    assert page.tree
    assert page.base == base


def test_the_language_is_that_of_the_nearest_element() -> None:
    """If `lang` is set, then it applies to the content, up to the next `lang`."""
    page = ParsedPage(
        b"<html lang=en_US><body><p id=a><p lang=fr><b id=b>x</b><i lang='' id=c>x</i>"
        b"<u xml:lang=de><s id=d>",
        url=URL,
    )
    found = [
        page.language_of(node)
        for name in ("#a", "#b", "#c", "#d")
        for node in page.tree.css(name)
    ]
    assert found == ["en-US", "fr", "", "de"]


@pytest.mark.parametrize(
    ("html", "language"),
    [
        (b"<html lang=en><p>x", "en"),
        (b"<html lang=''><p>x", ""),
        (b"<html><body><b lang=en>y</b><p>x", ""),
        (b"<html lang=en><svg xml:lang=fr><desc><p>x", "fr"),
        (b"<svg lang=fr xml:lang=de><desc><p>x", "fr"),
        (b"<html xml:lang=fr><p>x", "fr"),
    ],
)
def test_the_language_of_a_page_that_states_one(html: bytes, language: str) -> None:
    """If one element has a language, then it applies to its content alone."""
    page = ParsedPage(html, url=URL)
    node = page.tree.css_first("p")
    assert node is not None
    assert page.language_of(node) == language


def test_the_language_may_come_from_a_meta() -> None:
    """If no element has `lang`, then the pragma's language holds, if it is one."""
    one = b"<meta http-equiv=Content-Language content=nl><p>"
    two = b"<meta http-equiv=Content-Language content='nl, en'><p>"
    for html, language in ((one, "nl"), (two, "")):
        page = ParsedPage(html, url=URL)
        node = page.tree.css_first("p")
        assert node is not None
        assert page.language_of(node) == language


# -- weight --------------------------------------------------------------------------

DEEP = {
    "div": b"<div>" * 100_000,
    "closed": b"<div>" * 100_000 + b"</div>" * 100_000,
    "svg": b"<svg>" + b"<g>" * 100_000,
    "template": b"<template>" * 100_000,
    "not in scope": b"<div><object></div></object>" * 50_000,
    "fonts": b"".join(b"<font color=%d><p>" % i for i in range(30_000)),
    "after an empty comment": b"<!-->" + b"<div>" * 100_000,
    "li in svg": b"<svg>" + b"<li>" * 100_000,
}


@pytest.mark.parametrize("data", DEEP.values(), ids=DEEP)
def test_deep_nesting_is_a_named_fault(data: bytes) -> None:
    """If elements are nested 100,000 deep, then the page is not parsed."""
    page = ParsedPage(data, url=URL)
    assert page.is_heavy
    for _ in range(2):
        with pytest.raises(SourceFault) as caught:
            _ = page.tree
        assert caught.value.fault.reason is Reason.TOO_DEEP


FLAT = {
    "li": b"<ul>" + b"<li>x" * 30_000,
    "p": b"<p>x" * 30_000,
    "rows": b"<table>" + b"<tr><td>x<td><b>y</b>" * 10_000,
    "void": b"<br>" * 30_000,
    "svg": b"<svg><path d='a'/><g></g></svg>" * 10_000,
    "script": b"<script>" + b"a='<div>';" * 30_000 + b"</script>",
    "links": b"<a href=x>y" * 30_000,
    "unclosed in closed": b"<section><div></section>" * 2_000 + b"<br>" * 20_000,
}


@pytest.mark.parametrize("data", FLAT.values(), ids=FLAT)
def test_a_long_page_is_not_a_deep_one(data: bytes) -> None:
    """If a page has very many elements side by side, then it is parsed."""
    page = ParsedPage(data, url=URL)
    assert page.tree.root is not None


def test_a_depth_that_pages_have_is_light() -> None:
    """If a page is as deep as browsers allow, then nothing is special about it."""
    data = b"<div>" * (MAX_DEPTH // 2)
    assert not is_heavy(data)
    check_weight(data)


def test_a_million_attributes_are_a_named_fault() -> None:
    """If an element has a million attributes, then the page is not parsed."""
    data = b"<p " + b" ".join(b"a%d" % i for i in range(1_000_000)) + b">x"
    page = ParsedPage(data, url=URL)
    assert page.is_heavy
    with pytest.raises(SourceFault) as caught:
        _ = page.tree
    assert caught.value.fault.reason is Reason.TOO_LARGE


_MANY = b" ".join(b"a%d" % i for i in range(5_000))
HIDDEN = {
    'after "> in a value in single quotes': b"<p x='\">' " + _MANY + b">",
    'after "> that begins a value': b'<p x=">" ' + _MANY + b">",
    'after "> that begins a value, with blanks': b'<p x = ">" ' + _MANY + b">",
    "after > in a value": b"<p x='>' " + _MANY + b">",
    "after a quote that begins no value": b"<p ' " + _MANY + b" '>",
    "after a value without quotes": b"<p x=y' " + _MANY + b" '>",
    "after a quote in a name": b'<p =" x=" y=" ' + _MANY + b' >">',
    "among <": b"<p " + _MANY.replace(b" a", b" <a") + b">",
    "parted by slashes": b"<p/" + _MANY.replace(b" ", b"/") + b">",
    "parted by values": b"<p " + _MANY.replace(b" ", b'=""') + b">",
    "after a comment": b"<!-- <a x=' --><p x='>' " + _MANY + b">",
    "after an end tag": b"</p x=\"<a y='\"><p x='>' " + _MANY + b">",
    "of a script": b"<script x='>' " + _MANY + b"></script>",
    "in UTF-16": b"".join(b"%c\0" % c for c in b"<p " + _MANY + b">"),
}


@pytest.mark.parametrize("data", HIDDEN.values(), ids=HIDDEN)
def test_attributes_cannot_be_hidden(data: bytes) -> None:
    """If a page hides very many attributes of one element, then it is heavy still."""
    assert ParsedPage(data, url=URL).is_heavy


@pytest.mark.parametrize("data", HIDDEN.values(), ids=HIDDEN)
def test_attributes_of_a_head_cannot_be_hidden(data: bytes) -> None:
    """If just the head of a page is read, then it is weighed by itself."""
    if b"\0" in data:
        data = data.replace(b"\0", b"")
    assert ParsedPage(b"<head>" + data + b"</head>" + b"x", url=URL).is_head_heavy


_PIECES = (
    *('<p x="y">', "<p x='y'>", "<p x=y>", "<p ", ">", '">', '=">', '= ">', "='"),
    *("= '", "'", '"', "'>", '=""', "=", " ", "a", "/>", "<!--", "-->", "<b>it's</b>"),
    *("w " * 2000, "w" * 4090, "w" * 4094, 'a="b" ' * 800, " ".join(["c"] * 1100)),
)


@given(st.lists(st.sampled_from(_PIECES), max_size=14))
@settings(max_examples=examples(400), deadline=None)
def test_weighing_in_part_is_weighing_all(pieces: list[str]) -> None:
    """If only stretches where long tags may begin are searched, none is overlooked."""
    data = "".join(pieces).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prescan, "_hides_end_of_tag", lambda _: True)
        found = is_heavy(data)
    assert is_heavy(data) == found


def test_looking_for_attributes_is_bounded() -> None:
    """If 20,000 tags begin within one another, then that is found out soon."""
    data = (b"<a b='" + b"x" * 200) * 19_999
    with takes_at_most(10):
        assert is_heavy(data)


def test_long_values_are_light() -> None:
    """If a value has very many words, or is a script, then the page is light."""
    words = b"word > " * 5_000
    assert not is_heavy(b'<p data-json="' + words + b'">x')
    assert not is_heavy(b"<script>for(i=0;i<n;i++){" + b'a="<b>";' * 5_000 + b"}")


def test_one_long_attribute_is_light() -> None:
    """If one attribute is long, as of an image in a URL, then the page is light."""
    data = b"<img src='data:image/png;base64," + b"A" * 100_000 + b"'>"
    assert not is_heavy(data)


@pytest.mark.parametrize("piece", [" rel= rel=", " rel=a b", " rev=a b", " class=a b"])
def test_values_that_do_not_end_take_no_time(piece: str) -> None:
    """If very many attributes have no quotes and no tag, then they are read once."""
    data = b"<head></head>" + piece.encode() * 20_000
    with takes_at_most(15):
        scan(data)
        has_links_in_body(ParsedPage(data, url=URL), wants_hyperlinks=False)
