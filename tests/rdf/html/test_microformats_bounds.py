"""Microformats that fail, are too deep or multiply, and any other markup."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, NeedsSandbox, Reason
from rdfcrawl.rdf.html.microformats import extract_microformats, gathering
from rdfcrawl.rdf.html.microformats.gathering import MAX_DEPTH, item_types
from rdfcrawl.rdf.html.page import ParsedPage
from tests.support.examples import examples
from tests.support.microformat_lines import URL, lines


def test_failing_item_loses_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """If mf2py fails on an item, then the others are read and the fault is named."""
    import mf2py

    parse = mf2py.parse

    def fail_once(**kwargs: object) -> object:
        if "bad" in str(kwargs["doc"]):
            raise ValueError("bad")
        return parse(**kwargs)

    monkeypatch.setattr(mf2py, "parse", fail_once)
    log = FaultLog()
    html = '<p class="h-card">bad</p><p class="h-card">good</p>'
    assert '_:mf1 vcard:fn "good"' in lines(html, log)
    assert log.count(Reason.PARSE_CRASH) == 1


def test_deep_item_is_cut() -> None:
    """If an item is nested too deeply, then the deeper part is left out and named."""
    log = FaultLog()
    deep = "<div>" * (MAX_DEPTH + 5) + '<b class="p-note">deep</b>'
    html = f'<div class="h-card"><b class="p-name">A</b>{deep}</div>'
    found = lines(html, log)
    assert '_:mf1 vcard:fn "A"' in found
    assert not any("deep" in line for line in found)
    assert log.count(Reason.TOO_DEEP)


@pytest.mark.parametrize(
    "item",
    [
        '<div class="p-author u-author e-author dt-author h-card">',
        '<div class="p-aa p-bb p-cc p-dd h-card">',
        f'<div class="h-card {" ".join(f"p-{x}" for x in "abcdefghijklmnop")}">',
    ],
)
def test_items_that_multiply_are_bounded(item: str) -> None:
    """If items within items are each read many times, then an end is made of it."""
    log = FaultLog()
    lines(item * 60 + "x", log)
    assert log.all()


def test_many_pieces_of_text_are_bounded() -> None:
    """If joining the text of an item would take the square of it, it is left out."""
    log = FaultLog()
    html = '<p class="h-card"><b class="p-name">' + " <br>" * 30_000 + "</b></p>"
    page = ParsedPage(html.encode(), url=URL)
    page.__dict__["is_heavy"] = False
    assert list(extract_microformats(page, log)) == []
    assert log.count(Reason.TOO_LARGE)


@pytest.mark.parametrize(
    "html",
    [
        '<div class="p-aa p-bb p-cc p-dd h-card">' * 20,
        f'<div class="h-card">{"<div>" * (MAX_DEPTH + 5)}',
        f'<p class="h-card"><b class="p-name">{" <br>" * 9000}</b></p>',
        '<p class="vcard"><b class="fn">a</b></p>' * 1000,
    ],
)
def test_process_without_bounds_reads_no_slow_page(html: str) -> None:
    """If a page may take long, then a process without bounds leaves it to a child."""
    page = ParsedPage(html.encode(), url=URL)
    with pytest.raises(NeedsSandbox):
        list(extract_microformats(page, FaultLog(), is_bounded=False))


CLASSES = [*item_types(), "vcard", "adr", "geo", "vevent", "hreview", "hentry", "fn"]
CLASSES += ["p-name", "u-url", "dt-start", "e-content", "p-author", "item", "value"]


CLASSES += ["entry-title", "entry-content", "published", "author", "updated", "url"]


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["p", "div", "a", "abbr", "time", "/div", "img", "base"]),
            st.lists(st.sampled_from(CLASSES), max_size=3),
            st.text(max_size=12),
        ),
        max_size=25,
    )
)
def test_any_markup_gives_statements_as_on_trees_of_the_library(
    tags: list[tuple[str, list[str], str]],
) -> None:
    """If any markup is read, then our elements give mf2py's result for its own."""
    html = "".join(
        f'<{name} class="{" ".join(classes)}" title="{text}" href="{text}" rel="tag"'
        f' lang="{text}" id="{text}">{text}'
        for name, classes, text in tags
    )
    page = ParsedPage(html.encode("utf-8", "replace"), url=URL, charset="utf-8")
    found = [*extract_microformats(page, FaultLog())]
    assert all(line.endswith(" .\n") and line.count("\n") == 1 for line in found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, "_ELEMENTS", {})
        assert [*extract_microformats(page, FaultLog())] == found
