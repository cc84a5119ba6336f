"""Microdata to statements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.html import microdata
from rdfcrawl.rdf.html.microdata import (
    VocabularyRegistry,
    default_vocabularies,
    extract_microdata,
)
from rdfcrawl.rdf.html.page import ParsedPage
from tests.support.earl import assert_reported
from tests.support.examples import examples

if TYPE_CHECKING:
    from tests.support.conformance_suites import Suites

URL = "http://a.example/dir/page"
XSD = "http://www.w3.org/2001/XMLSchema#"
SCHEMA = "http://schema.org/"


def read(html: str, log: FaultLog | None = None) -> str:
    """Return the statements, checked."""
    log = log or FaultLog()
    lines = extract_microdata(ParsedPage(html.encode(), url=URL), log)
    return b"".join(iter_checked(lines, log)).decode()


def value_of(element: str) -> str:
    """Return the object of the only property in an item."""
    html = f"<html lang=en><base href=/b/><div itemscope itemid=x:y>{element}</div>"
    return read(html).removeprefix(f"<x:y> <{URL.rpartition('/dir')[0]}/b/#p> ").strip()


def test_microdata_suite_is_passed(suites: Suites) -> None:
    """If the judge runs the suite, then all of it passes, with its own registry."""
    assert_reported(suites, "microdata", least=84, total=84)


@pytest.mark.parametrize(
    ("element", "value"),
    [
        ("<b itemprop=p>a <i>b</i></b>", '"a b"@en .'),
        ("<b itemprop=p lang=fr>a</b>", '"a"@fr .'),
        ("<b itemprop=p lang=''>a</b>", '"a" .'),
        ("<meta itemprop=p content='a b'>", '"a b"@en .'),
        ("<b itemprop=p content=10.00>$10</b>", '"10.00"@en .'),
        ("<b itemprop=p content>x</b>", '""@en .'),
        ("<img itemprop=p content='a b'>", '"a b"@en .'),
        ("<link itemprop=p href=c content='a b'>", "<http://a.example/b/c> ."),
        ("<data itemprop=p value=1 content=2>3</data>", f'"1"^^<{XSD}integer> .'),
        ("<data itemprop=p content='2 kg'>3</data>", '"2 kg"@en .'),
        (
            "<time itemprop=p content=2026-01-02>x</time>",
            f'"2026-01-02"^^<{XSD}date> .',
        ),
        ("<a itemprop=p href=' c d '>x</a>", "<http://a.example/b/c%20d> ."),
        ("<a itemprop=p href='http://é.example/ü'>x</a>", "<http://é.example/ü> ."),
        ("<a itemprop=p>x</a>", '"" .'),
        ("<img itemprop=p src=c>", "<http://a.example/b/c> ."),
        ("<object itemprop=p data=c></object>", "<http://a.example/b/c> ."),
        ("<data itemprop=p value=1>one</data>", f'"1"^^<{XSD}integer> .'),
        ("<data itemprop=p value=-1.5e3>a</data>", f'"-1.5e3"^^<{XSD}double> .'),
        ("<data itemprop=p value='1 kg'>a</data>", '"1 kg"@en .'),
        ("<meter itemprop=p value=.5>a</meter>", f'".5"^^<{XSD}double> .'),
        ("<time itemprop=p>2026-01-02</time>", f'"2026-01-02"^^<{XSD}date> .'),
        ("<time itemprop=p datetime=2026>x</time>", f'"2026"^^<{XSD}gYear> .'),
        ("<time itemprop=p datetime=P1DT2H>x</time>", f'"P1DT2H"^^<{XSD}duration> .'),
        ("<time itemprop=p datetime=P>x</time>", '"P"@en .'),
        (
            "<time itemprop=p datetime=2026-01-02T03:04:05Z>x</time>",
            f'"2026-01-02T03:04:05Z"^^<{XSD}dateTime> .',
        ),
        ("<time itemprop=p>soon</time>", '"soon"@en .'),
    ],
)
def test_a_value_depends_on_its_element(element: str, value: str) -> None:
    """If a property is of an element, then HTML Standard 5.2.4 says its value."""
    assert value_of(element) == value


def test_a_language_is_not_that_of_the_element_beside() -> None:
    """If values are siblings, then each has the language of its own element."""
    values = ["<i %s xml:lang=it>a</i>", "<i %s>b</i>", "<i %s lang=''>c</i>"]
    html = "<html lang=en><p itemscope itemid=x:y>" + "".join(values * 2)
    found = read(html.replace("%s", "itemprop=a:b")).splitlines()
    expected = ['"a"@it', '"b"@en', '"c"']
    assert found == [f"<x:y> <a:b> {value} ." for value in expected * 2]


def test_template_content_is_no_part_of_the_page() -> None:
    """If an item is in a template, then it is not there."""
    assert read("<template><p itemscope itemtype=http://v/T></p></template>") == ""


def test_properties_may_be_elsewhere() -> None:
    """If an item refers to elements by id, then their properties are its own."""
    text = read(
        "<p itemscope itemid=a:a itemref='x nowhere y x' itemtype=http://v/T></p>"
        "<p itemscope itemid=b:b itemref=x></p>"
        "<div id=x><i itemprop=http://v/p>1</i></div><i id=y itemprop=q>2</i>"
    )
    assert sorted(text.splitlines()) == [
        '<a:a> <http://v/p> "1" .',
        '<a:a> <http://v/q> "2" .',
        "<a:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://v/T> .",
        '<b:b> <http://v/p> "1" .',
    ]


RING = (
    "<p id=a itemscope itemprop=p itemref=b></p>"
    "<p id=b itemscope itemprop=p itemref=a></p>"
)


@pytest.mark.parametrize(
    "html",
    [
        "<p itemscope itemref=a><i id=a itemprop=p itemscope itemref=a></i></p>",
        "<p itemscope itemref=a></p>" + RING,
    ],
    ids=["itself", "each other"],
)
def test_items_that_hold_each_other_end(html: str) -> None:
    """If items refer to each other in a loop, then each is read once."""
    log = FaultLog()
    text = read(html, log)
    assert 1 <= text.count("\n") <= 3
    assert log.count(Reason.SYNTAX) == ("itemref=b" in html)


def test_a_loop_of_thousands_of_items_is_read() -> None:
    """If 5,000 items hold the next one in a ring, then that is 5,001 statements."""
    ring = "".join(
        f"<p itemscope id=i{i} itemref=i{(i + 1) % 5000} itemprop=p></p>"
        for i in range(5000)
    )
    assert read(ring + "<p itemscope itemref=i0>").count("\n") == 5001


@pytest.mark.parametrize(
    "html",
    [
        "<p itemscope itemref=t></p>" * 3000
        + "<div id=t>"
        + "<b itemprop=a>x</b>" * 3000,
        "<p itemscope>" + "<span itemprop=a>" * 2000 + "x" * 20_000,
    ],
    ids=["itemref", "values"],
)
def test_what_makes_more_of_a_page_than_it_is_ends(html: str) -> None:
    """If a page repeats itself by reference, then it is cut and the start is kept."""
    lines = extract_microdata(ParsedPage(html.encode(), url=URL), FaultLog())
    assert next(lines)
    with pytest.raises(SourceFault) as caught:
        list(lines)
    assert caught.value.fault.reason is Reason.TOO_LARGE


@pytest.mark.parametrize(
    ("item_type", "vocabulary"),
    [
        ("http://schema.org/deep/Type", "http://schema.org/"),
        ("https://schema.org/Thing", "https://schema.org/"),
        (
            "http://microformats.org/profile/hcard",
            "http://microformats.org/profile/hcard#",
        ),
        ("http://v.example/a#T", "http://v.example/a#"),
        ("http://v.example/a/T", "http://v.example/a/"),
    ],
)
def test_a_type_has_a_vocabulary(item_type: str, vocabulary: str) -> None:
    """If a type is registered, then by its prefix; else it ends at `#` or `/`."""
    assert default_vocabularies().of_type(item_type) == vocabulary


def test_a_registry_entails_properties() -> None:
    """If the registry names super-properties, then they are stated too."""
    vocabularies = VocabularyRegistry.of(
        {"http://v/": {"properties": {"p": {"subPropertyOf": ["a:b", "c:d"]}}}}
    )
    page = ParsedPage(
        b"<p itemscope itemtype=http://v/T itemid=x:y><i itemprop=p>", url=URL
    )
    found = extract_microdata(page, FaultLog(), vocabularies=vocabularies)
    lines = "".join(found).splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["<http://v/p>", "<a:b>", "<c:d>"]


def test_deep_items_need_no_recursion() -> None:
    """If items are nested as deep as pages may be, then all are read."""
    depth = 4000
    html = "<p itemscope itemtype=http://v/T>" + "<b itemprop=p itemscope>" * depth
    assert read(html).count("\n") == depth + 1


_PIECES = st.sampled_from(
    [
        *(
            "<div itemscope>",
            "<div itemscope itemprop=a id=x>",
            "</div>",
            "<b>",
            "</b>",
        ),
        *("<p itemprop='a b' itemprop-reverse=c>", "<a itemprop=u href='%zz:'>", "t"),
        *("<div itemscope itemref='x y' id=y itemid=' a b'>", "<time itemprop=d>"),
        *("<data itemprop=n value=1e>", "<table>", "<p itemprop='http://a b'>", "\0"),
        *("<div itemscope itemtype='http://schema.org/T x: y'>", "<template>", "é"),
        *(
            "<div id=x itemprop=a lang=x_1>",
            "<img itemprop=i src='\\'>",
            "<base href=:>",
        ),
        *("<section lang=fr>", "<section xml:lang=de>", "</section>", 'a"b\\c\rd'),
        *("<p itemscope itemprop=p itemprop-reverse='r a'>", "<p itemprop=' '>"),
    ]
)


@given(st.lists(_PIECES, max_size=30).map("".join))
@settings(max_examples=examples(300), deadline=None)
def test_any_markup_gives_good_statements(html: str) -> None:
    """If markup is arbitrary, then nothing is raised and all terms are terms."""
    page = ParsedPage(html.encode(), url=URL)
    log = FaultLog()
    for lines in extract_microdata(page, log):
        assert lines.endswith(" .\n")
        assert lines.count("\n") == len(lines.split(" .\n")) - 1
    read(html)


@given(st.lists(_PIECES, max_size=30).map("".join))
@settings(max_examples=examples(300), deadline=None)
def test_reference_to_nothing_changes_nothing(html: str) -> None:
    """If items refer to missing elements, then they are read without them."""
    html = html.replace("itemref", "data-ref")
    assert read(html.replace("itemscope", "itemscope itemref=nowhere")) == read(html)


_HREFS = st.lists(
    st.sampled_from(
        ["/", "/a", "/.", "/..", ".", "%", "é", "?", "#", ":", " ", "\\", "|", '"']
    )
).map("".join)
_BASES = st.sampled_from(
    [URL, "file:///a/b", "urn:x:y", "http://e", 'http://e"/a', "//e", ""]
)


@given(_HREFS, _BASES)
@settings(max_examples=examples(600), deadline=None)
def test_paths_from_the_root_are_resolved_as_all_others(href: str, base: str) -> None:
    """If a path begins at the root, then it equals the resolved one."""
    html = "<p itemscope itemid=x:y><a itemprop=a:b href='" + href + "'>"
    found = list(extract_microdata(ParsedPage(html.encode(), url=base), FaultLog()))
    with patch.object(microdata, "_FROM_ROOT", re.compile(r"(?!)")):
        page = ParsedPage(html.encode(), url=base)
        assert list(extract_microdata(page, FaultLog())) == found
