"""What pages of collections say of each other."""

from __future__ import annotations

import random

import pyoxigraph as ox
import pytest

from rdfcrawl.sources.paging import MAX_RELATIONS, PagingScan, is_immutable

PAGE = "http://a.example/c?page=1"
PREFIXES = """
@base <http://a.example/c?page=1> .
@prefix hydra: <http://www.w3.org/ns/hydra/core#> .
@prefix tree: <https://w3id.org/tree#> .
@prefix ldes: <https://w3id.org/ldes#> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
"""


def lines(turtle: str) -> bytes:
    """Return a document as N-Quads."""
    quads = ox.parse(PREFIXES + turtle, format=ox.RdfFormat.TURTLE)
    return ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b""


def scan(turtle: str) -> PagingScan:
    """Return a scan that has seen a document."""
    found = PagingScan()
    found.feed(lines(turtle))
    return found


@pytest.mark.parametrize(
    ("turtle", "following"),
    [
        ("<> hydra:next <?page=2> .", ["?page=2"]),
        ("<> a hydra:PagedCollection ; hydra:nextPage <?page=2> .", ["?page=2"]),
        ("<> hydra:next <?page=2> . <?page=2> hydra:next <?page=3> .", ["?page=2"]),
        ("<https://a.example/c?page=1> hydra:next <?page=2> .", ["?page=2"]),
        (
            """<x> hydra:view <http://localhost/c?page=1> .
            <http://localhost/c?page=1> hydra:next <?page=2> . <y> hydra:next <z> .""",
            ["?page=2"],
        ),
        ("<x> hydra:next <y> . <y> hydra:next <z> .", []),
        ("[] hydra:nextPage <?page=2> .", ["?page=2"]),
        ("<x> hydra:first <y> .", []),
    ],
    ids=["own", "old", "others", "scheme", "view", "foreign", "blank", "first"],
)
def test_next_page_of_hydra_is_found(turtle: str, following: list[str]) -> None:
    """If a page names the next one, then that is found, and no other page's."""
    facts = scan(turtle).facts(PAGE)
    assert list(facts.following) == ["http://a.example/c" + x for x in following]


def test_next_page_may_be_a_literal() -> None:
    """If the next page is a literal, as ckanext-dcat had it, then it is found."""
    assert scan('<> hydra:nextPage "/c?page=2" .').facts(PAGE).following == (
        "/c?page=2",
    )


def test_all_relations_of_a_node_are_found() -> None:
    """If a node has relations, then all that they lead to is found, once each."""
    facts = scan(
        """<> tree:relation [ tree:node <a> ], [ tree:node <b#x> ], [ tree:node <b> ],
        [ a tree:Relation ], [ tree:node <urn:x> ] .
        <other> tree:relation [ tree:node <c> ] ."""
    ).facts(PAGE)
    assert sorted(facts.nodes) == ["http://a.example/a", "http://a.example/b"]
    assert facts.is_page


def test_relations_may_stand_in_any_order() -> None:
    """If the statements of a relation come in several chunks, then it is found."""
    rows = lines("<> tree:relation [ tree:node <a> ] .").splitlines(keepends=True)
    for order in (rows, rows[::-1]):
        found = PagingScan()
        for row in order:
            found.feed(row)
        assert found.facts(PAGE).nodes == ("http://a.example/a",)


@pytest.mark.parametrize(
    "turtle",
    ["<#c> tree:view <> .", "<> a tree:Node .", "<> a hydra:PartialCollectionView .",
     "<#c> hydra:view <> ."],
)  # fmt: skip
def test_page_without_others_is_a_page(turtle: str) -> None:
    """If a collection has one page, then it is known as such: it may grow."""
    assert scan(turtle).facts(PAGE).is_page


@pytest.mark.parametrize(
    "turtle",
    ["<x> tree:view <y> .", "<#c> hydra:member <m> .", "<x> a tree:Node .", ""],
)
def test_other_documents_are_no_pages(turtle: str) -> None:
    """If a document is not a page, then statements about others do not count."""
    assert not scan(turtle).facts(PAGE).is_page


@pytest.mark.parametrize(
    ("turtle", "expected"),
    [
        ("<> ldes:immutable true .", True),
        ("<> ldes:immutable false .", False),
        ("<x> ldes:immutable true .", False),
    ],
)
def test_page_says_that_it_never_changes(turtle: str, *, expected: bool) -> None:
    """If a page calls itself immutable, then it is."""
    assert scan(turtle).facts(PAGE).is_immutable is expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("immutable", True),
        ("max-age=1,Immutable", True),
        ("max-age=1; immutable", True),
        ("no-immutable, immutable-x", False),
        ("", False),
    ],
)
def test_header_says_that_it_never_changes(header: str, *, expected: bool) -> None:
    """If `Cache-Control` has the word, then the page is immutable."""
    assert is_immutable(header) is expected


def test_members_have_a_digest() -> None:
    """If pages have the same members in another order, then the digest is the same."""
    one, other = (
        "<#c> hydra:member <a>, <b> .",
        "<b> a dcat:Dataset . <a> a dcat:Dataset .",
    )
    assert scan(one).facts(PAGE).digest == scan(other).facts(PAGE).digest
    third = scan("<#c> tree:member <a>, <c> . <c> a dcat:Dataset .").facts(PAGE)
    assert third.digest != scan(one).facts(PAGE).digest


def test_too_many_relations_are_cut() -> None:
    """If a page has more relations than are read, then it says so and keeps some."""
    found = PagingScan()
    row = b"<%s> <https://w3id.org/tree#relation> _:r%d .\n"
    node = b"_:r%d <https://w3id.org/tree#node> <http://a.example/%d> .\n"
    for n in range(MAX_RELATIONS + 10):
        found.feed(row % (PAGE.encode(), n) + node % (n, n))
    facts = found.facts(PAGE)
    assert facts.is_cut
    assert len(facts.nodes) == MAX_RELATIONS


def test_damaged_bytes_do_no_harm() -> None:
    """If bytes are changed anywhere, then nothing is raised."""
    good = lines(
        """<> tree:relation [ tree:node <a> ] ; hydra:next <b> ; ldes:immutable true .
        <#c> tree:view <> ; hydra:view <> ; hydra:member <m> ."""
    )
    dice = random.Random(4)
    for _ in range(2000):
        data = bytearray(good)
        for _ in range(dice.randint(1, 8)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        found = PagingScan()
        found.feed(bytes(data))
        found.facts(PAGE)
