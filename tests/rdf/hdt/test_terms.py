"""Terms of a dictionary as N-Quads: only those that the strict parser accepts."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.rdf.checking import check
from rdfcrawl.rdf.hdt.terms import TermWriter, from_n_quads
from tests.support.examples import examples

XSD = b"http://www.w3.org/2001/XMLSchema#"


def _written(*held: bytes | Reason) -> list[bytes | Reason]:
    return TermWriter().to_n_quads(held, b" ")


@pytest.mark.parametrize(
    ("held", "written"),
    [
        (b"http://e/a", b"<http://e/a>"),
        ("http://e/é".encode(), "<http://e/é>".encode()),
        (b"_:b1", b"_:b1"),
        (b"_:a_b.c-d", b"_:a_b.c-d"),
        (b'""', b'""'),
        (b'"a "b" \\ c"', b'"a \\"b\\" \\\\ c"'),
        (b'"a\n\r\t\b\f\x01\x7f"', b'"a\\n\\r\\t\\b\\f\\u0001\\u007F"'),
        (b'"a"@EN', b'"a"@en'),
        (b'"a"@en"', b'"a\\"@en"'),
        (b'"1"^^<%sinteger>' % XSD, b'"1"^^<%sinteger>' % XSD),
        (b'"1"^^<%sstring>' % XSD, b'"1"'),
    ],
)
def test_term_is_written_canonically(held: bytes, written: bytes) -> None:
    """If the dictionary holds a term, then it is written as N-Quads has it."""
    assert _written(held) == [written + b" "]
    assert _written(b"http://e/z", held, b'"z"', held)[1::2] == [written + b" "] * 2


@pytest.mark.parametrize(
    "held",
    [
        b"",
        b"relative",
        b"http://e/a b",
        b"http://e/a> <http://e/b",
        b"http://e/\n",
        b"http://e/\xff",
        b'"',
        b'"no end',
        b'"a"b',
        b'"a"@',
        b'"a"@e_n',
        b'"a"@toolonglanguage',
        b'"a"^^<relative>',
        b'"a"^^<http://e/> <http://e/g>',
        b'"a" .\n<http://e/x> <http://e/y> <http://e/z>',
        b'"\xff"',
        b'"a"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>',
    ],
)
def test_what_is_no_term_is_refused_alone(held: bytes) -> None:
    """If the dictionary has an invalid term, then its neighbours are kept."""
    bad = Reason.BAD_TERM
    assert _written(held) == [bad]
    assert _written(b'"a"', held, b"http://e/a") == [b'"a" ', bad, b"<http://e/a> "]
    good = b'"b"@en' if held[:1] == b'"' else b"http://e/b"
    first, *middle, last = _written(good, held, held, good)
    assert first == last != bad
    assert middle == [bad, bad]


def test_terms_that_could_not_be_had_stay_that() -> None:
    """If a term could not be had, then the reason stays, and others are written."""
    too_long = Reason.LITERAL_TOO_LONG
    written = _written(Reason.SYNTAX, b"http://e/a", too_long)
    assert written == [Reason.SYNTAX, b"<http://e/a> ", too_long]


def test_labels_that_n_quads_cannot_write_stay_apart() -> None:
    """If labels have any bytes, then they are written as different labels."""
    held = [b"_:", b"_:a b", b"_:a<b", b"_:\xff", b"_:.a", b"_:a.", b"_:a\nb", b"_:ab"]
    written = _written(*held)
    assert len(set(written)) == len(held)
    assert written == _written(*held)
    assert written[-1] == b"_:ab "
    assert all(isinstance(x, bytes) and b"\n" not in x for x in written)


def test_many_bad_terms_are_each_found() -> None:
    """If every other one of many terms is none, then the others are written."""
    held = [b"http://e/%d" % i if i % 2 else b"bad%d" % i for i in range(10_000)]
    written = _written(*held)
    assert written.count(Reason.BAD_TERM) == 5000
    assert written[1::2] == [b"<%b> " % term for term in held[1::2]]


_BYTES = st.binary(max_size=12).map(lambda x: x.replace(b"\0", b""))
_PARTS = st.sampled_from(
    [b'"', b"@en", b"@EN", b"^^<http://e/>", b"_:", b"http://e/", b"\\", b"\n", b" ."]
)
_HELD = st.lists(_BYTES | _PARTS, max_size=5).map(b"".join)


@given(st.lists(_HELD, max_size=8))
@example([b'"a"@en', b'"\\"@en'])
@settings(max_examples=examples(300), deadline=None)
def test_nothing_is_written_that_the_parser_refuses(held: list[bytes]) -> None:
    """If a dictionary holds any bytes, each term written passes `check` unchanged."""
    for before, written in zip(held, _written(*held), strict=True):
        if isinstance(written, Reason):
            continue
        log = FaultLog()
        line = b"<x:> <x:> " + written + b".\n"
        assert check(line, log) == line
        assert not log.all()
        if not before.startswith(b"_:") and b"@" not in before:
            assert from_n_quads([written[:-1]]) == [before]
