"""Lines that need no parser are read as the parser reads them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf import checking
from rdfcrawl.rdf.checking import CanonicalRun, GraphUse, iter_runs
from rdfcrawl.rdf.environment import ParseLimits
from rdfcrawl.rdf.parse import parse
from tests.support.examples import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.core.errors import Fault

URL = "http://e.org/dump"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
MEDIA_TYPES = ("application/n-triples", "application/n-quads")


def for_the_parser(block: bytes, *, has_graphs: bool) -> Iterator[CanonicalRun]:
    """Leave all lines to the parser."""
    del has_graphs
    yield CanonicalRun(block, is_canonical=False, begin=0)


def no_short_way(block: bytes, *, has_graphs: bool) -> None:
    """Let no document go past the parser."""
    del block, has_graphs


def read(
    data: bytes, media_type: str, limits: ParseLimits
) -> tuple[bytes, list[Fault], int, bool]:
    """Return the complete result of reading a document.

    Of messages about bad lines, only the line number: the message about an open IRI
    depends on whether the parser sees a further line.
    """
    document = parse(data, url=URL, graph=URL, media_type=media_type, limits=limits)
    lines = b"".join(document)
    faults = [
        replace(fault, detail=fault.detail.partition(": ")[0])
        for fault in document.faults
    ]
    return lines, faults, document.n_quads, document.is_partial


def assert_is_read_alike(
    data: bytes, media_type: str, limits: ParseLimits | None = None
) -> None:
    """Check that a document is read as the parser alone reads it."""
    limits = limits or ParseLimits()
    found = read(data, media_type, limits)
    with (
        patch.object(checking, "iter_runs", for_the_parser),
        patch.object(checking, "canonical", no_short_way),
    ):
        assert found == read(data, media_type, limits)


PIECES = st.one_of(
    st.sampled_from(
        [
            *("http://e.org/a", "HTTP://E.org", "urn:a:b", "a:", "http:", "http://"),
            *("http://e:80/", "http://e:8x/", "http://u@e/", "http://[::1]/a", "rel"),
            *("#a", "#", "?a=b&c", "%41", "%4", "%zz", "//a", "/..", "é", "\x80"),
            *("\xa0", "\ud7ff", "\ue000", "\ufdd0", "\ufffe", "\uffff", "\U0001f600"),
            *("\U0001fffe", "\U000e0001", "\U00100000", " ", "\t", '"', "'", "\\"),
            *("<", ">", "^", "`", "{", "|", "[", "_:", "_:b", " .", ".", "@en", "^^"),
            *("\\t", "\\n", "\\u0041", "\\u0000", "\\U0001F600", '\\"', "\\\\", "\\'"),
            *("\0", "\x1f", "\x7f", "\r", "\n", "<<(", ")>>", "(", "·", "-", "ÿ", "Ā"),
            *('"@EN', '\\"@EN', '\\"@en-US <a:> .', '\\\\"@DE _:b'),
        ]
    ),
    st.text(max_size=3),
)
TEXTS = st.lists(PIECES, max_size=4).map("".join)
IRIS = st.one_of(
    st.sampled_from(["<http://e.org/a>", "<http://e.org/b#c>", "<urn:x:é%C3%A9?a>"]),
    st.tuples(st.sampled_from(["", "http://e.org/", "http://e", "urn:"]), TEXTS).map(
        lambda pair: f"<{pair[0]}{pair[1]}>"
    ),
)
BLANKS = st.one_of(
    st.sampled_from(["_:a", "_:0", "_:b-1", "_:b.c", "_:c.", "_:_", "_:é", "_:abcdef"]),
    TEXTS.map(lambda text: f"_:{text}"),
)
TAGS = st.one_of(
    st.sampled_from(
        [
            *("en", "en-US", "en-us", "zh-hans", "zh-hans-cn", "de-1996", "x-a", "e"),
            *("ast", "abcd", "en-a", "en--ltr", "EN", "en-", "i-klingon", "eng-abcde"),
            *("pt-BR", "zh-Hant-TW", "De-ch", "EN-GB-oed", "aBc-Latn"),
        ]
    ),
    st.text("abAB1-_ é", max_size=6),
)
DATATYPES = st.one_of(
    st.sampled_from([f"<{XSD}string>", f"<{XSD}integer>", f"<{XSD}strings>"]),
    st.sampled_from([f"<{RDF}langString>", f"<{RDF}dirLangString>", f"<{RDF}HTML>"]),
    IRIS,
)
LITERALS = st.tuples(
    TEXTS,
    st.one_of(
        st.just(""), TAGS.map(lambda tag: "@" + tag), DATATYPES.map(lambda x: "^^" + x)
    ),
).map(lambda pair: f'"{pair[0]}"{pair[1]}')
TERMS = st.one_of(IRIS, BLANKS, LITERALS, st.just("<<( <a:> <b:> <c:> )>>"))
SPACES = st.sampled_from([" ", " ", " ", " ", "", "  ", "\t", "\n"])
ENDS = st.sampled_from([" .\n"] * 5 + [".\n", " .", " .\r\n", " .\r", "\n", " . #x\n"])
LINES = st.one_of(
    st.tuples(
        st.one_of(IRIS, IRIS, BLANKS, TERMS), SPACES, IRIS, SPACES, TERMS, ENDS
    ).map("".join),
    st.tuples(IRIS, IRIS, TERMS, st.one_of(IRIS, BLANKS, TERMS), ENDS).map(
        lambda parts: " ".join(parts[:4]) + parts[4]
    ),
    st.sampled_from(["\n", "# c\n", " \t\n", "<http://e.org/a> <b:> "]),
)
GOOD = "<http://e.org/a> <http://e.org/p> <http://e.org/b> .\n"


@pytest.mark.in_turn(2)
@settings(max_examples=examples(600), deadline=None)
@given(
    st.lists(st.one_of(LINES, st.just(GOOD)), max_size=8).map("".join),
    st.sampled_from(MEDIA_TYPES),
    st.sampled_from([ParseLimits(), ParseLimits(n_errors=2, literal_bytes=40)]),
)
def test_any_lines_are_read_alike(
    text: str, media_type: str, limits: ParseLimits
) -> None:
    """If lines are of any kind, then all that comes out is as the parser has it."""
    assert_is_read_alike(text.encode("utf-8", "replace"), media_type, limits)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.one_of(LINES, st.binary(max_size=9)), max_size=6), st.data())
def test_damaged_lines_are_read_alike(
    parts: list[str | bytes], data: st.DataObject
) -> None:
    """If bytes are changed anywhere, then all is read as the parser has it."""
    text = b"".join(
        x.encode("utf-8", "replace") if isinstance(x, str) else x for x in parts
    )
    text += GOOD.encode()
    at = data.draw(st.integers(0, len(text) - 1))
    text = text[:at] + data.draw(st.binary(max_size=2)) + text[at + 1 :]
    for media_type in MEDIA_TYPES:
        assert_is_read_alike(text, media_type)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("begin", range(0, 0x110000, 0x8000), ids=hex)
def test_every_character_is_read_alike(begin: int) -> None:
    """If a character stands in an IRI, label or string, then as the parser has it."""
    step = 1 if begin < 0x10000 else 61  # the planes behind are alike, but for ends
    codes = {*range(begin, begin + 0x8000, step), begin + 0x7FFE, begin + 0x7FFF}
    text = "".join(
        f'<http://e.org/{chr(code)}> <http://e.org/?{chr(code)}> "{chr(code)}" .\n'
        f"_:a{chr(code)}b <http://e.org/#{chr(code)}> _:{chr(code)} .\n"
        for code in sorted(codes)
        if not 0xD800 <= code < 0xE000
    )
    limits = ParseLimits(n_errors=10**6)
    assert_is_read_alike(text.encode(), MEDIA_TYPES[0], limits)


def test_ordinary_lines_need_no_parser() -> None:
    """If lines are as in most dumps, then none is left to the parser."""
    lines = (
        f"<http://e.org/a> <{RDF}type> <http://e.org/ont#C> .\n"
        '<http://e.org/a> <http://e.org/p> "see _:b \\"x\\" é"@en .\n'
        f'<http://e.org/a> <http://e.org/p> "1"^^<{XSD}integer> .\n'
        f'_:b1 <http://e.org/p> "x"^^<{XSD}string> .\n'
        "<urn:isbn:1> <http://e.org/p> _:b1 .\n"
    ).encode()
    assert [run.is_canonical for run in iter_runs(lines, has_graphs=False)] == [True]
    quads = lines.replace(b" .\n", b" <http://e.org/g> .\n")
    runs = list(iter_runs(quads, has_graphs=True))
    assert [run.lines.count(b"\n") for run in runs if not run.is_canonical] == [1]


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([b" .\n"] * 3, GraphUse.NONE),
        ([b" <http://e.org/g> .\n", b" _:g .\n"], GraphUse.ALL),
        ([b" <http://e.org/g> .\n", b" .\n"], GraphUse.SOME),
        ([b" .\n", b" <http://e.org/g> .\n"], GraphUse.SOME),
    ],
)
def test_it_is_known_which_lines_name_a_graph(
    ends: list[bytes], expected: GraphUse
) -> None:
    """If lines are canonical, then it is known if all, some or none have graphs."""
    block = b"".join(b'<http://e.org/a> <http://e.org/p> "x _:b"' + x for x in ends)
    runs = list(iter_runs(block, has_graphs=True))
    assert [(run.lines, run.graphs) for run in runs] == [(block, expected)]


@pytest.mark.parametrize("charset", ["", "utf-8", "UTF-8", "latin-1", "utf-7", "bogus"])
@pytest.mark.parametrize("text", [b"x", "é".encode(), b"\xe9"], ids=ascii)
def test_canonical_documents_are_decoded_alike(text: bytes, charset: str) -> None:
    """If lines look canonical, then the charset and bad bytes count all the same."""
    data = b'<http://e.org/s> <http://e.org/p> "%s" .\n' % text

    def read_all() -> tuple[bytes, list[Fault], bool]:
        document = parse(
            data, url=URL, graph=URL, media_type=MEDIA_TYPES[0], charset=charset
        )
        return b"".join(document), document.faults, document.is_partial

    found = read_all()
    with patch.object(checking, "canonical", no_short_way):
        assert found == read_all()


def test_canonical_document_has_its_limit() -> None:
    """If a document is longer than its limit, then it is cut there."""
    data = b'<http://e.org/s> <http://e.org/p> "x" .\n' * 9
    limits = ParseLimits(doc_bytes=len(data) // 3)
    lines, faults, n_quads, is_partial = read(data, MEDIA_TYPES[0], limits)
    assert (lines.count(b"\n"), n_quads, is_partial) == (3, 3, True)
    assert [fault.reason for fault in faults] == [Reason.TOO_LARGE]


def test_lines_of_another_kind_cost_little() -> None:
    """If no line of a block is canonical, then the search for one is soon given up."""
    block = b"<http://e.org/a> <http://e.org/p> <http://e.org/b> .\r\n" * 4000
    assert [run.lines for run in iter_runs(block, has_graphs=False)] == [block]
