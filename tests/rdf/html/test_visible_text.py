"""The text that is seen is found in any page, in time that grows with its length."""

from __future__ import annotations

import pytest

from rdfcrawl.rdf.html.visible_text import (
    count_linked_words,
    shown_markup,
    visible_text,
)


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        (b"<title>no</title><p class='a'>one<b>two</b>", ["one", "two"]),
        (b"a<!-- <b>no</b> -->b<!-- no", ["a", "b"]),
        (b"a<script>if (1<2) {no}</script >b<style>no", ["a", "b"]),
        (b"<template><p>no</template><noscript>no</noscript>a", ["a"]),
        (
            b"&lt;b&gt; &eacute;&#233; a&amp;b &zzz;",
            ["<b>", "éé", "a&b", "&zzz;"],
        ),
        (b"a &#" + b"1" * 5000 + b"; b", ["a", "\ufffd", "b"]),
        (b"1 < 2 <unfinished", ["1", "<", "2"]),
        (b"<p>< 2<3 <a b<c>d<!doctype>e<?pi>f</p>", ["<", "2<3", "d", "e", "f"]),
        (b"a<script>1</scripts></script>b<!-- 1-->2 --->c", ["a", "b", "2", "--->c"]),
        ("é\ufeff".encode() + b"\xff", ["é\ufeff\ufffd"]),
    ],
)
def test_text_is_what_is_shown(page: bytes, seen: list[str]) -> None:
    """If a page has text between its markup, then its words are found."""
    assert visible_text(page).split() == seen


@pytest.mark.parametrize(
    "unit", [b"<", b"<!--", b"<script", b"<script>", b"</", b"<a "]
)
def test_hostile_pages_are_read_once(unit: bytes) -> None:
    """If tags never end, then a long page is read all the same."""
    assert visible_text(unit * 200_000) is not None


@pytest.mark.parametrize(
    ("page", "n_words"),
    [
        (b'<p>no <A HREF="x">two words</A> no'.lower() * 20, 40),
        (b'<a href="x">two words</a>' * 19, 0),  # these are too few
        (b"<a\nclass=c href=x>one<br>two&nbsp;three" * 20, 60),  # none is closed
        (b"<a name=x>none</a><abbr href=x>none</abbr>" * 20, 0),
        (b"<script><a href=x>no</a></script><a href=x>one</a>" * 20, 20),
        (b"<!-- <a href=x>no</a> -->" * 20, 0),
    ],
)
def test_words_within_links_are_counted(page: bytes, n_words: int) -> None:
    """If a page has twenty links or more, then the words within these are counted."""
    assert count_linked_words(shown_markup(page)) == n_words


@pytest.mark.parametrize("unit", [b"<a href", b"<a href>", b"<a href=x></", b"<a "])
def test_hostile_links_are_read_once(unit: bytes) -> None:
    """If links never end, then a long page is read all the same."""
    assert count_linked_words(shown_markup(unit * 200_000)) == 0
