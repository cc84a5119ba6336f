"""Tests of `rdfcrawl.rdf.wanted`."""

from __future__ import annotations

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.rdf.wanted import (
    MAX_TERMS,
    shape_targets,
    statement_counter,
    wanted_iris,
)

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


@pytest.mark.parametrize(
    ("line", "n"),
    [
        (f"<urn:a> <{RDF}> <http://schema.org/Product> <urn:g> .", 1),
        (f"_:b1 <{RDF}> <https://schema.org/Product> <urn:g> .", 1),
        ('<urn:a> <https://schema.org/price> "1" <urn:g> .', 1),
        ("<urn:a> <urn:p> <http://schema.org/Product> <urn:g> .", 0),
        (f"<urn:a> <{RDF}> <http://schema.org/ProductGroup> .", 0),
        (f'<urn:a> <urn:p> "<urn:a> <{RDF}> <http://schema.org/Product> ." .', 0),
        (f"<http://schema.org/price> <{RDF}> <urn:c> .", 0),
    ],
)
def test_statements_are_counted_by_their_terms(line: str, n: int) -> None:
    """If a statement has a wanted class or property, in any spelling, then it counts.

    Its subject and its literals do not matter.
    """
    count = statement_counter(
        wanted_iris(("schema:Product", "https://schema.org/price"))
    )
    assert count(f"{line}\n".encode()) == n
    assert count(f"{line}\n".encode() * 3) == 3 * n


def test_targets_of_shapes_are_wanted() -> None:
    """If a file has shapes, then their targets of all kinds are wanted."""
    turtle = b"""
    @prefix sh: <http://www.w3.org/ns/shacl#> . @prefix s: <https://schema.org/> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    [] a sh:NodeShape ; sh:targetClass s:Product ; sh:targetSubjectsOf s:price .
    s:Offer a sh:NodeShape, rdfs:Class .
    s:Person a sh:NodeShape .
    """
    names = ("Product", "price", "Offer")
    wanted = {f"http://schema.org/{name}" for name in names}
    assert shape_targets(turtle) == frozenset(wanted)


@pytest.mark.parametrize("turtle", [b"<a", b"<urn:a> <urn:b> <urn:c> .", b"\xff"])
def test_files_without_targets_are_refused(turtle: bytes) -> None:
    """If a file has no shape with a target, then the error says what it must have."""
    with pytest.raises(ConfigError, match="must be SHACL shapes"):
        shape_targets(turtle)


@pytest.mark.parametrize("word", ["shop:Product", "schema:", "schema:a b", "a/b"])
def test_other_words_are_refused(word: str) -> None:
    """If a word is no IRI and has no known prefix, then it is refused."""
    with pytest.raises(ConfigError, match="IRI"):
        wanted_iris((word,))


def test_all_is_no_class() -> None:
    """If everything is wanted, as by `items=all`, then the word is refused."""
    with pytest.raises(ConfigError, match="must be classes or properties"):
        wanted_iris(("all",))


def test_there_is_a_limit() -> None:
    """If there are too many terms, then they are refused."""
    words = tuple(f"urn:c:{i}" for i in range(MAX_TERMS + 1))
    assert len(wanted_iris(words[1:])) == MAX_TERMS
    with pytest.raises(ConfigError, match="at most"):
        wanted_iris(words)
