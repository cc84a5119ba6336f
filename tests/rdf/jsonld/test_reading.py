"""Reading JSON-LD: kept and refused documents, and the differences of PyLD."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, NeedsSandbox, Reason
from rdfcrawl.rdf.environment import INLINE
from rdfcrawl.rdf.jsonld.contexts import JsonLdReaderOptions
from rdfcrawl.rdf.jsonld.mending import mended_json
from rdfcrawl.rdf.jsonld.reading import read_json_ld, read_json_ld_value
from tests.support.cpu_time import takes_at_most
from tests.support.examples import examples
from tests.support.jsonld_reading import BASE, canonical, read

P = "http://p.example/"
DOUBLE = "http://www.w3.org/2001/XMLSchema#double"


def _node(n: int) -> dict[str, Any]:
    return {"@id": f"http://n.example/{n}", P: f"value {n}, ]}} \\"}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param([_node(0), _node(1), _node(2)], id="array"),
        pytest.param({"@context": {}, "@graph": [_node(n) for n in range(3)]}, id="g"),
    ],
)
def test_whole_nodes_of_a_cut_off_document_are_kept(document: Any) -> None:
    """If a document is cut off anywhere, then exactly its complete nodes are read."""
    data = json.dumps(document).encode()
    all_lines = read(data)[0].splitlines()
    for end in range(1, len(data)):
        lines, faults = read(data[:end])
        kept = lines.splitlines()
        assert kept == all_lines[: len(kept)]
        assert Reason.SYNTAX in {x.reason for x in faults}
    assert len(kept) == 3


def test_a_cut_off_node_says_nothing() -> None:
    """If a single node is cut off, then nothing is read: its name may be lost."""
    lines, faults = read(b'{"http://p.example/": "x", "@id": "http://n.exa')
    assert not lines
    assert [x.reason for x in faults] == [Reason.SYNTAX]


@pytest.mark.parametrize(
    "data", [b"", b"nul", b"NaN", b"1" * 5000, b"\xff", b'{"a": }']
)
def test_what_is_no_json_is_a_named_fault(data: bytes) -> None:
    """If a document is not JSON, then it is refused by name."""
    lines, faults = read(data)
    assert not lines
    assert [x.reason for x in faults] == [Reason.SYNTAX]


@pytest.mark.parametrize("data", [b'"http://c.example/"', b"5", b"true"])
def test_scalars_say_nothing_and_load_nothing(data: bytes) -> None:
    """If a document is a scalar, then it is dropped as a value without a property."""
    text, faults = read(data)
    assert text == b""
    assert [fault.reason for fault in faults] == [Reason.BAD_TERM]


def test_null_is_an_empty_document() -> None:
    """If a document is null, then it has no statements, and no faults."""
    assert read(b"null") == (b"", [])


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({"@context": 5}, "invalid local context"),
        ({"@context": {"a": 5}}, "invalid term definition"),
        ({"@id": 5}, "invalid @id value"),
        ({P: {"@value": "x", "@type": "_:b"}}, "invalid typed value"),
    ],
)
def test_errors_are_named_by_their_code(document: Any, code: str) -> None:
    """If a document is wrong, then the fault has the code of the standard."""
    lines, faults = read(document)
    assert not lines
    assert [x.reason for x in faults] == [Reason.SYNTAX]
    assert code in faults[0].detail


def test_a_bad_term_takes_its_own_statement_only() -> None:
    """If PyLD meets a bad term, then that statement is dropped and counted."""
    document = {
        "@context": {"@base": "http://b.example/"},
        "@id": "x",
        P: [{"@value": "a", "@language": "bad tag"}, {"@id": "http://a b"}, "good"],
    }
    lines, faults = read(document)
    assert lines == b'<http://b.example/x> <http://p.example/> "good" .\n'
    assert {x.reason for x in faults} <= {Reason.BAD_TERM}


def test_relative_iris_and_blank_predicates_are_dropped() -> None:
    """If there is no base for an IRI, then no statement with it is written."""
    document = {"@context": {"@base": None}, "@id": "x", P: "1", "_:p": 2, "q": 3}
    lines, faults = read(document)
    assert not lines
    assert {x.reason for x in faults} == {Reason.BAD_TERM}
    assert sum(x.count for x in faults) == 2


def test_a_list_keeps_its_place_without_a_bad_member() -> None:
    """If a list's member is not an IRI, then the list is still well-formed."""
    document = {
        "@context": {"@base": None},
        "@id": "http://n.example/",
        P: {"@list": [{"@id": "relative"}, 1]},
    }
    lines, faults = read(document)
    assert lines.count(b"#rest>") >= 1
    assert [x.reason for x in faults] == [Reason.BAD_TERM]


def test_strings_of_doubles_stay_as_they_are() -> None:
    """If the lexical form is the publisher's, then PyLD keeps it too."""
    values = [{"@value": "01", "@type": DOUBLE}, {"@value": 10, "@type": DOUBLE}]
    lines, _ = read({"@context": {"@base": "http://b.example/"}, P: values})
    assert b'"01"^^' in lines
    assert b'"1.0E1"^^' in lines


@pytest.mark.parametrize("number", ["1e400", "-1e400", "5e30"])
def test_huge_numbers_are_doubles(number: str) -> None:
    """If a number is larger than any double, then it is infinite."""
    lines, faults = read(f'{{"{P}": {number}}}'.encode())
    assert (b'INF"' in lines) is (number != "5e30")
    assert b"#double>" in lines
    assert not faults


@pytest.mark.parametrize(("sign", "lexical"), [("", b'"INF"'), ("-", b'"-INF"')])
def test_huge_integers_are_infinite_doubles(sign: str, lexical: bytes) -> None:
    """If an integer is larger than any double, then PyLD reports it, too."""
    value = f'{{"@value": {sign}1{"0" * 400}, "@type": "{DOUBLE}"}}'
    context = '"@context": {"@base": "http://b.example/"}'  # not for the fast way
    lines, faults = read(f'{{{context}, "{P}": {value}}}'.encode())
    assert lexical in lines
    assert not faults


def test_long_iris_used_often_do_not_pile_up() -> None:
    """If statements are far longer than the document, then batches have one each."""
    node = {"@context": {"@vocab": "http://v.example/" + "x" * 500_000}}
    document = {**node, **{f"p{n}": n for n in range(500)}}
    blocks = read_json_ld(
        json.dumps(document).encode(),
        base=BASE,
        environment=INLINE,
        log=FaultLog(),
    )
    n_blocks = sum(1 for block in blocks if len(block) < 2**20)
    assert n_blocks > 400


def test_lone_surrogates_become_replacement_characters() -> None:
    """If a string has half a character, then the output is UTF-8."""
    lines, faults = read(
        b'{"@id": "http://n.example/", "http://p.example/": "\\ud800"}'
    )
    assert "\ufffd" in lines.decode()
    assert [fault.reason for fault in faults] == [Reason.REPAIRED]


@pytest.mark.parametrize("extra", [{}, {"@base": "http://b.example/"}])
def test_scopes_keep_blank_nodes_apart(extra: dict[str, str]) -> None:
    """If two blocks use a label, then the same scope makes it the same node."""

    def lines(scope: str) -> bytes:
        value = {"@context": {**extra, "p": P}, "@id": "_:b0", "p": {"@id": "_:b0"}}
        blocks = read_json_ld_value(
            value,
            options=JsonLdReaderOptions(base=BASE, scope=scope),
            environment=type(INLINE)(is_bounded=True),
            log=FaultLog(),
        )
        return b"".join(blocks)

    one, two = lines("script0"), lines("script1")
    assert one.split()[0] == one.split()[2]
    assert one != two
    assert canonical(one + two) == canonical(one) or len(canonical(one + two)) == 2


def test_what_needs_pyld_needs_bounds() -> None:
    """If a document needs PyLD, then it is not read without bounds."""
    document = {"@context": {"@base": "http://b.example/"}, P: 1}
    with pytest.raises(NeedsSandbox):
        read(document, is_bounded=False)


def test_deep_documents_do_not_end_the_reader() -> None:
    """If PyLD runs out of stack, then that is a named fault."""
    document: Any = {"@context": {"@base": "http://b.example/"}, P: 1}
    inner = document
    for _ in range(450):
        inner[P] = {P: 1}
        inner = inner[P]
    lines, faults = read(document)
    assert lines or [x.reason for x in faults] == [Reason.SYNTAX]


def test_the_fast_way_never_imports_pyld() -> None:
    """If a document goes the fast way, then PyLD is not loaded."""
    program = (
        "import sys, tests.support.jsonld_reading as r\n"
        "print(r.read({'@context': 'https://schema.org', 'name': 'x'})[0].decode())\n"
        "assert 'pyld' not in sys.modules"
    )
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert "<http://schema.org/name>" in done.stdout


_BASE_TEXT = json.dumps({"@context": "https://schema.org", "@graph": [_node(1)]})


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, len(_BASE_TEXT)), st.binary(max_size=3)), max_size=4
    )
)
def test_damage_is_never_raised(changes: list[tuple[int, bytes]]) -> None:
    """If bytes of a document change, then it is read or refused by name."""
    data = _BASE_TEXT.encode()
    for place, new in changes:
        data = data[:place] + new + data[place + len(new) :]
    lines, faults = read(data)
    canonical(lines)
    assert {x.reason for x in faults} <= {
        Reason.SYNTAX,
        Reason.REMOTE_CONTEXT,
        Reason.BAD_TERM,
        Reason.REPAIRED,
    }


@pytest.mark.parametrize("bad", ["NaN", "1" * 5000, "{'a'}", "\t\x00"])
def test_nodes_around_what_is_no_json_are_kept(bad: str) -> None:
    """If one value is not JSON, then the other nodes are read."""
    node = json.dumps(_node(0))
    other = json.dumps(_node(1))
    lines, faults = read(f'[{node}, {{"{P}": {bad}}}, {other}]'.encode())
    assert lines.count(b"value 0") == lines.count(b"value 1") == 1
    assert {x.reason for x in faults} <= {Reason.SYNTAX, Reason.REPAIRED}
    assert faults


def test_values_in_lines_are_read_apart() -> None:
    """If a document has a value in each line, then a bad one costs itself."""
    first, last = (json.dumps(_node(n)).encode() for n in range(2))
    for end in (b"\n", b"\r\n", b"\n\x1e"):
        lines, faults = read(first + end + last)
        assert lines == read(first)[0] + read(last)[0]
        assert not faults
    lines, faults = read(first + b"\n{no\n" + last)
    assert lines.count(b"\n") == 2
    assert [x.reason for x in faults] == [Reason.SYNTAX]


def test_nodes_without_their_context_are_not_kept() -> None:
    """If a document is cut off before its context, then its names say nothing."""
    lines, faults = read(b'{"@graph": [{"@id": "urn:a", "p:q": "x"}], "@context": {"p')
    assert not lines
    assert [x.reason for x in faults] == [Reason.SYNTAX]


@pytest.mark.parametrize("part", ["[],", "{},", '"",', '{"a":[]},'])
def test_a_large_broken_document_is_mended_in_time(part: str) -> None:
    """If a broken document has very many members, then it is mended in seconds."""
    n_members = 250_000 // len(part)
    with takes_at_most(8):
        found = mended_json("[" + part * n_members + "x")
    assert len(found.values[0]) >= n_members - 1
