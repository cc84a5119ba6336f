"""RDF/JSON, through the public `parse` and by its reader alone."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.environment import ParseLimits
from rdfcrawl.rdf.json_formats import read_rdf_json
from rdfcrawl.rdf.parse import parse
from tests.support.examples import examples

if TYPE_CHECKING:
    from rdfcrawl.rdf.parse import DocumentParser

URL = "http://e.example/doc"
GOOD = {"type": "literal", "value": "good"}
LINE = '<http://e/a> <http://e/b> "good" .\n'
XSD = "http://www.w3.org/2001/XMLSchema#"


def read(document: Any) -> tuple[str, DocumentParser]:
    """Return the N-Quads and the parse; text is not made JSON again."""
    text = document if isinstance(document, str) else json.dumps(document)
    parsed = parse(
        text.encode(), url=URL, graph=None, media_type="application/rdf+json"
    )
    return b"".join(parsed).decode(), parsed


def reasons(parsed: DocumentParser) -> dict[Reason, int]:
    """Return how often each fault was counted."""
    return {fault.reason: fault.count for fault in parsed.faults}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"type": "uri", "value": "http://e/c"}, "<http://e/c>"),
        ({"type": "literal", "value": 'a "\n'}, '"a \\"\\n"'),
        ({"type": "literal", "value": "x", "lang": "en"}, '"x"@en'),
        (
            {"type": "literal", "value": "01", "datatype": XSD + "integer"},
            f'"01"^^<{XSD}integer>',
        ),
    ],
)
def test_objects_of_the_note_are_read(value: Any, written: str) -> None:
    """If an object is as in section 4 of the note, then it is that term."""
    text, parsed = read({"http://e/a": {"http://e/b": [value]}})
    assert text == f"<http://e/a> <http://e/b> {written} .\n"
    assert (parsed.faults, parsed.is_partial) == ([], False)


def test_example_of_the_note() -> None:
    """If section 2 of the note is read, then it gives the statements it names."""
    text, parsed = read(
        {
            "http://example.org/about": {
                "http://purl.org/dc/terms/title": [
                    {"value": "Anna's Homepage", "type": "literal", "lang": "en"}
                ],
                "http://purl.org/dc/terms/creator": [
                    {"value": "_:anna", "type": "bnode"}
                ],
            },
            "_:anna": {
                "http://xmlns.com/foaf/0.1/name": [{"value": "Anna", "type": "literal"}]
            },
        }
    )
    title, creator, name = text.splitlines()
    assert title.endswith('"Anna\'s Homepage"@en .')
    assert creator.split()[2] == name.split()[0]
    assert parsed.faults == []


@pytest.mark.parametrize(
    "bad",
    [
        "text",
        7,
        [GOOD],
        {},
        {"type": "literal"},
        {"type": "literal", "value": 7},
        {"type": "other", "value": "x"},
        {"type": "literal", "value": "x", "datatype": [XSD + "string"]},
    ],
)
def test_bad_objects_cost_no_good_one(bad: Any) -> None:
    """If an object is none of the note, then it is left out and counted."""
    text, parsed = read({"http://e/a": {"http://e/b": [GOOD, bad, GOOD]}})
    assert text == LINE * 2
    assert reasons(parsed) == {Reason.SYNTAX: 1}


def test_key_that_comes_twice_costs_its_object() -> None:
    """If an object has a duplicate key, then it is left out as ambiguous."""
    good = json.dumps(GOOD)
    bad = '{"type": "literal", "value": "x", "value": "y"}'
    text, parsed = read(f'{{"http://e/a": {{"http://e/b": [{good}, {bad}]}}}}')
    assert text == LINE
    assert reasons(parsed) == {Reason.SYNTAX: 1}


@pytest.mark.parametrize(
    "bad",
    [
        {"type": "uri", "value": "relative"},
        {"type": "uri", "value": "http://a> <http://b"},
        {"type": "literal", "value": "x", "lang": "e n"},
        {"type": "literal", "value": "x", "datatype": "a b"},
    ],
)
def test_bad_terms_cost_no_good_one(bad: Any) -> None:
    """If a term is bad, then its statement is dropped and counted."""
    text, parsed = read({"http://e/a": {"http://e/b": [GOOD, bad, GOOD]}})
    assert text == LINE * 2
    assert reasons(parsed) == {Reason.BAD_TERM: 1}


def test_bad_subjects_and_predicates_cost_no_good_ones() -> None:
    """If the value of one name is bad, then the others are read."""
    text, parsed = read(
        {
            "http://e/x": [GOOD],
            "http://e/y": {"http://e/b": "x"},
            "http://e/z": {"_:b": [GOOD]},
            "http://e/a": {"http://e/b": [GOOD]},
        }
    )
    assert text == LINE
    assert reasons(parsed) == {Reason.SYNTAX: 2, Reason.BAD_TERM: 1}


def test_names_that_come_twice_lose_nothing() -> None:
    """If a subject or predicate comes twice, then both are read."""
    one = '"http://e/b":[{"type":"literal","value":"good"}]'
    text, _ = read(f'{{"http://e/a":{{{one},{one}}},"http://e/a":{{{one}}}}}')
    assert text == LINE * 3


@pytest.mark.parametrize(
    ("tail", "n_kept"),
    [
        (',"http://e/a":{"http://e/b":[{"type":"lit', 1),
        (",", 1),
        ("}{", 1),
        ('} "x"', 1),
        ("", 1),
    ],
)
def test_truncated_documents_keep_what_is_whole(tail: str, n_kept: int) -> None:
    """If the document breaks off, then the subjects before are kept."""
    whole = json.dumps({"http://e/a": {"http://e/b": [GOOD]}})
    text, parsed = read(whole[:-1] + tail)
    assert text == LINE * n_kept
    assert reasons(parsed) == {Reason.SYNTAX: 1}
    assert parsed.is_partial


@pytest.mark.parametrize("body", ["[]", '"x"', "7", "{", "nul"])
def test_what_is_no_object_is_refused(body: str) -> None:
    """If the document is no object, then it is refused."""
    text, parsed = read(body)
    assert text == ""
    assert reasons(parsed) == {Reason.SYNTAX: 1}


@pytest.mark.parametrize(
    "body",
    [
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        '{"a":{"b":' + "[" * 100_000 + "]" * 100_000 + "}}",
        '{"a":{"b":[{"type":"literal","value":' + "[" * 100_000,
    ],
)
def test_deep_nesting_is_refused(body: str) -> None:
    """If JSON is nested 100,000 deep, then it is refused."""
    text, parsed = read(body)
    assert text == ""
    assert reasons(parsed) == {Reason.SYNTAX: 1}


def test_long_literals_are_dropped() -> None:
    """If a literal has 4 MB, then its statement is dropped."""
    long = {"type": "literal", "value": "x" * 4_000_000}
    text, parsed = read({"http://e/a": {"http://e/b": [long, GOOD]}})
    assert text == LINE
    assert reasons(parsed) == {Reason.LITERAL_TOO_LONG: 1}


def test_huge_numbers_are_not_computed() -> None:
    """If a number has a million digits, then it is only a bad value."""
    body = f'{{"http://e/a":{{"http://e/b":[{"9" * 1_000_000},{json.dumps(GOOD)}]}}}}'
    text, parsed = read(body)
    assert text == LINE
    assert reasons(parsed) == {Reason.SYNTAX: 1}


strings = st.sampled_from(
    [
        "http://e/a",
        "_:b",
        "uri",
        "literal",
        "bnode",
        "> <x",
        '" .\n',
        "\ud800",
        "",
        "en",
    ]
)
keys = st.sampled_from(["type", "value", "lang", "datatype", "http://e/b", "_:b"])
values = st.recursive(
    st.one_of(strings, st.none(), st.integers()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values, st.integers(0, 400), st.sampled_from(["", "}", "\0", ",", "é"]))
@settings(max_examples=examples(300), deadline=None)
def test_whatever_comes_ends_as_a_fault(value: Any, cut: int, tail: str) -> None:
    """If anything is read, then it is statements or a `SourceFault`."""
    log = FaultLog()
    wrapped = {"http://e/a": {"http://e/b": [value, GOOD]}, "_:x": value}
    for document in (value, wrapped):
        text = json.dumps(document)
        for body in (text, text[:cut] + tail):
            lines = read_rdf_json(
                io.BytesIO(body.encode()),
                limits=ParseLimits(),
                log=log,
            )
            try:
                for block in iter_checked(lines, log):
                    assert not block or block.endswith(b" .\n")
            except SourceFault:
                pass


@pytest.mark.parametrize(
    "bad",
    [
        {"http://e/c": 1, "http://e/d": 1, "http://e/e": 1},
        {"http://e/c": {"http://e/p": 1, "http://e/q": 1, "http://e/r": 1}},
        {"http://e/c": {"http://e/p": [1, 1, 1]}},
    ],
    ids=["subjects", "predicates", "objects"],
)
def test_too_much_that_is_no_statement_ends_reading(bad: Any) -> None:
    """If `n_errors` statements are invalid, then the statements before are kept."""
    document = {"http://e/a": {"http://e/b": [GOOD]}, **bad}
    document["http://e/z"] = {"http://e/b": [GOOD]}
    parsed = parse(
        json.dumps(document).encode(),
        url=URL,
        graph=None,
        media_type="application/rdf+json",
        limits=ParseLimits(n_errors=3),
    )
    assert b"".join(parsed).decode() == LINE
    assert reasons(parsed) == {Reason.SYNTAX: 4}
    assert parsed.is_partial
