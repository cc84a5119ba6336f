"""HexTuples, through the public `parse` and by its reader alone."""

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
from rdfcrawl.rdf.json_formats import read_hextuples
from rdfcrawl.rdf.parse import parse
from tests.support.examples import examples

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.rdf.parse import DocumentParser

URL = "http://e.example/doc"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
GOOD = ["http://e/a", "http://e/b", "good", XSD + "string", "", ""]
LINE = '<http://e/a> <http://e/b> "good" .\n'


def read(
    *lines: Any, limits: ParseLimits | None = None, end: str = "\n"
) -> tuple[str, DocumentParser]:
    """Return the N-Quads and the parse; text is not made JSON again."""
    body = end.join(x if isinstance(x, str) else json.dumps(x) for x in lines)
    parsed = parse(
        body.encode(),
        url=URL,
        graph=None,
        media_type="application/hex+x-ndjson",
        trust="all",
        limits=limits or ParseLimits(),
    )
    return b"".join(parsed).decode(), parsed


def reasons(parsed: DocumentParser) -> dict[Reason, int]:
    """Return how often each fault was counted."""
    return {fault.reason: fault.count for fault in parsed.faults}


@pytest.mark.parametrize(
    ("fields", "written"),
    [
        (["http://e/c", "globalId", "", ""], "<http://e/c> ."),
        (["http://e/c", RDF + "namedNode", "", ""], "<http://e/c> ."),
        (["x", XSD + "string", "", ""], '"x" .'),
        (["x", "", "", ""], '"x" .'),
        (["x", RDF + "langString", "en", ""], '"x"@en .'),
        (["x", XSD + "string", "en", ""], '"x"@en .'),
        (["01", XSD + "integer", "", ""], f'"01"^^<{XSD}integer> .'),
        (['a\n"', XSD + "string", "", "http://g/"], '"a\\n\\"" <http://g/> .'),
    ],
)
def test_values_are_read(fields: list[str], written: str) -> None:
    """If a line has a value of some type, then it is that term."""
    text, parsed = read(["http://e/a", "http://e/b", *fields])
    assert text == f"<http://e/a> <http://e/b> {written}\n"
    assert (parsed.faults, parsed.is_partial) == ([], False)


@pytest.mark.parametrize("kind", ["localId", RDF + "blankNode"])
def test_blank_nodes_are_equal_by_label(kind: str) -> None:
    """If a blank node comes as subject, value and graph, then it is one node."""
    text, _ = read(["_:x", "http://e/b", "_:x", kind, "", "_:x"])
    terms = text.split()
    assert terms[0] == terms[2] == terms[3]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n  \n"])
def test_lines_may_end_as_they_like(end: str) -> None:
    """If lines end in any usual way, then they are separated."""
    text, parsed = read(GOOD, GOOD, end=end)
    assert text == LINE * 2
    assert parsed.faults == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (GOOD[:5], Reason.SYNTAX),
        ([*GOOD, ""], Reason.SYNTAX),
        ([*GOOD[:5], 7], Reason.SYNTAX),
        ({"a": 1}, Reason.SYNTAX),
        ("[", Reason.REPAIRED),
        ("nul", Reason.SYNTAX),
        (json.dumps(GOOD[:5]) + ",", Reason.SYNTAX),
        ("[" * 100_000, Reason.SYNTAX),
        ("9" * 10_000, Reason.SYNTAX),
        (["a", *GOOD[1:]], Reason.BAD_TERM),
        (["http://e/a", "_:b", *GOOD[2:]], Reason.BAD_TERM),
        (["http://a> <http://b", *GOOD[1:]], Reason.BAD_TERM),
        ([*GOOD[:3], RDF + "langString", "e n", ""], Reason.BAD_TERM),
        ([*GOOD[:3], "a b", "", ""], Reason.BAD_TERM),
    ],
)
def test_bad_lines_cost_no_good_one(bad: Any, reason: Reason) -> None:
    """If a line is bad, then it is left out and counted."""
    text, parsed = read(GOOD, bad, GOOD)
    assert text == LINE * 2
    assert reasons(parsed) == {reason: 1}
    assert not parsed.is_partial


def test_errors_have_an_end() -> None:
    """If too many lines are bad, then the rest is given up."""
    limits = ParseLimits(n_errors=20)
    text, parsed = read(*["bad"] * 50, GOOD, limits=limits)
    assert text == ""
    assert reasons(parsed) == {Reason.SYNTAX: 21}
    assert parsed.is_partial


def test_long_lines_are_dropped() -> None:
    """If a line has 4 MB, then it is dropped unread."""
    long = [*GOOD[:2], "x" * 4_000_000, *GOOD[3:]]
    text, parsed = read(GOOD, long, GOOD)
    assert text == LINE * 2
    assert reasons(parsed) == {Reason.LITERAL_TOO_LONG: 1}


def test_truncated_document_keeps_its_lines(tmp_path: Path) -> None:
    """If a file breaks off inside of a line, then those before are read."""
    path = tmp_path / "a.hext"
    line = json.dumps(GOOD)
    path.write_text(f"{line}\n" * 10_000 + line[:30])
    parsed = parse(path, url=URL, graph=None)
    assert sum(chunk.count(b"\n") for chunk in parsed) == 10_000
    assert reasons(parsed) == {Reason.SYNTAX: 1}


fields = st.sampled_from(
    ["http://e/a", "_:b", "globalId", "localId", "", "en", "> <x", '" .\n', "\ud800"]
)


@given(st.lists(st.lists(fields, min_size=5, max_size=7), max_size=4), st.binary())
@settings(max_examples=examples(300), deadline=None)
def test_whatever_comes_ends_as_a_fault(lines: list[list[str]], tail: bytes) -> None:
    """If anything is read, then it is statements or a `SourceFault`."""
    log = FaultLog()
    body = b"\n".join(json.dumps(line).encode() for line in lines) + tail
    statements = read_hextuples(io.BytesIO(body), limits=ParseLimits(), log=log)
    try:
        for block in iter_checked(statements, log):
            assert not block or block.endswith(b" .\n")
    except SourceFault:
        pass
