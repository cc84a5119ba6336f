"""Notation 3: the part that is RDF, and the part that is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import NeedsSandbox, Reason
from rdfcrawl.rdf.environment import INLINE, ReaderContext
from rdfcrawl.rdf.n3 import FormulaMarker
from rdfcrawl.rdf.parse import parse
from tests.support.examples import examples

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.rdf.parse import DocumentParser

URL = "http://e.example/doc"
P = "@prefix : <http://e/>. "
LAST = " :d :e :f ."
END = "<http://e/d> <http://e/e> <http://e/f> .\n"
BOUNDED = ReaderContext(is_bounded=True)


def read(body: str, environment: ReaderContext = BOUNDED) -> tuple[str, DocumentParser]:
    """Return the N-Quads and the parse."""
    parsed = parse(
        body.encode(),
        url=URL,
        graph=None,
        media_type="text/n3",
        trust="all",
        environment=environment,
    )
    return b"".join(parsed).decode(), parsed


def reasons(parsed: DocumentParser) -> dict[Reason, int]:
    """Return how often each fault was counted."""
    return {fault.reason: fault.count for fault in parsed.faults}


@pytest.mark.parametrize(
    ("body", "n_quads"),
    [
        (":a :b :c, 1, 'x'@en .", 3),
        (":a = :b .", 1),
        (":a is :b of :c .", 1),
        (":a has :b :c .", 1),
        (":a <- :b :c .", 1),
        (":a!:b :c :d . :a^:b :c :d .", 4),
        (":a :b (1 2) .", 5),
        (":a :b '{' , \"?x @forAll\" . # { @forAll", 2),
        (":a :b '''{ \" ''' , <http://e/x#{> .", 2),
    ],
)
def test_statements_of_n3_are_read(body: str, n_quads: int) -> None:
    """If N3 has no logic, then all that it says is read without bounds."""
    text, _ = read(f"{P}{body}\n{LAST}", INLINE)
    assert text.count("\n") == n_quads + 1
    assert text.endswith(END)


@pytest.mark.parametrize(
    ("body", "n_left_out"),
    [
        ("{:x :y :z} => {:x :p :q} .", 3),
        (":me :says {:x :y :z. [] :q :r} .", 3),
        (":a :b {} .", 1),
        ("{} => {} .", 1),
        ("{ } a :Nothing .", 1),
        (":a :b {:c :d {:e :f :g}} .", 3),
        ("{:x :y '}'} a :T; :p 1 .", 3),
        (":a :b {:x :y <http://a b#{>} .", 1),
    ],
)
def test_nothing_comes_out_of_formulas(body: str, n_left_out: int) -> None:
    """If there are formulas, neither they nor statements about them are written."""
    text, parsed = read(f"{P}:a :b :c. {body} {LAST}")
    assert text == "<http://e/a> <http://e/b> <http://e/c> .\n" + END
    assert reasons(parsed)[Reason.N3_FORMULA] == n_left_out
    assert not parsed.is_partial


@pytest.mark.parametrize(
    "body", ["?x :y :z .", ":a :b ?x .", "{?x :y :z} => {?x :a ?y} ."]
)
def test_nothing_comes_out_of_variables(body: str) -> None:
    """If there are variables, then statements with them are left out."""
    text, parsed = read(f"{P}{body}{LAST}")
    assert text == END
    assert reasons(parsed).keys() == {Reason.N3_FORMULA}


@pytest.mark.parametrize(
    ("body", "n_left_out"),
    [
        ("", 0),
        ("{ :a :b :c } => { :d :e :f } .", 3),
        ("?x :y :z . :a :b ?x .", 2),
        ("{ ?x :p :o } => { ?x :q :o } .", 3),
        ("@prefix x: <http://e/> . x:a x:b {} .", 1),
    ],
)
@pytest.mark.parametrize("is_file", [True, False])
def test_empty_prefix_needs_no_declaration(
    body: str, n_left_out: int, tmp_path: Path, *, is_file: bool
) -> None:
    """If `:` is not declared, then it is `<#>`, with any other content."""
    text = f':a :b "1" . {body} :g :h "i" .'
    path = tmp_path / "a.n3"
    path.write_text(text)
    parsed = parse(
        path if is_file else text.encode(),
        url=URL,
        graph=None,
        media_type="text/n3",
        environment=INLINE,
    )
    found = b"".join(parsed).decode()
    assert found == f'<{URL}#a> <{URL}#b> "1" .\n<{URL}#g> <{URL}#h> "i" .\n'
    assert reasons(parsed).get(Reason.N3_FORMULA, 0) == n_left_out
    assert not parsed.is_partial


@pytest.mark.parametrize(
    "body",
    [
        "{ @forAll :x . :x :b :c } => { :d :e :f } .",
        "{ @forSome :x, <http://e/y> . :x :b { @forAll :z } } a :F .",
        ":a :b { @forAll :x } , { {} @a {@forAll :x . @forSome :y .} } .",
        ":a :says { :b :c '}' . @forAll :x . # }\n :x :y '{' . } .",
    ],
)
def test_quantifiers_in_formulas_end_nothing(body: str) -> None:
    """If a quantifier is in a formula, then only the formula is left out."""
    text, parsed = read(f"{P}{LAST} {body.replace('@a', 'a')}{LAST}")
    assert text == END + END
    assert reasons(parsed).keys() == {Reason.N3_FORMULA}
    assert not parsed.is_partial


def test_variables_in_older_syntax_are_counted() -> None:
    """If older syntax comes with variables, then left out statements are counted."""
    text, parsed = read(f"{P} ?x @a :y . :a @a ?z .{LAST}")
    assert text == END
    assert reasons(parsed) == {Reason.REPAIRED: 2, Reason.N3_FORMULA: 2}
    assert not parsed.is_partial


@pytest.mark.parametrize("quantifier", ["@forAll", "@forSome"])
@pytest.mark.parametrize(
    ("names", "n_left_out"),
    [
        (":x .", 4),
        (":x, :y .", 5),
        (":x , <http://e/y>.", 5),
        (":x . { :y :says :x } => { :x :p 1 } .", 7),
        (":x . :m :says { :n :o '}' } .", 6),
    ],
)
def test_quantifiers_cost_statements_with_their_names(
    quantifier: str, names: str, n_left_out: int
) -> None:
    """If names are quantified, then only later statements with them are left out."""
    body = ":x :y :z . :a :x 1 . :a :b :x . :a :b '<http://e/x>' ."
    text, parsed = read(f"{P}:x :b '{quantifier}'. {quantifier} {names} {body}{LAST}")
    kept = f'<http://e/x> <http://e/b> "{quantifier}" .\n'
    assert text == f'{kept}<http://e/a> <http://e/b> "<http://e/x>" .\n{END}'
    assert reasons(parsed) == {Reason.N3_FORMULA: n_left_out}
    assert not parsed.is_partial


@pytest.mark.parametrize("names", [" .", " 5 .", " :x :y .", " :x", " :x, .", " [] ."])
def test_broken_quantifier_leaves_other_statements(names: str) -> None:
    """If a quantifier is not well-formed, then the statements after it are read."""
    text, parsed = read(f"{P}:a :b :c . @forAll{names}\n:a :b 2 .{LAST}")
    assert text.startswith("<http://e/a> <http://e/b> <http://e/c> .\n")
    assert text.endswith(END)
    assert parsed.faults


def test_statements_that_are_no_rdf_are_left_out() -> None:
    """If a literal is a subject or a blank node a predicate, it is counted."""
    text, parsed = read(f"{P}'x' :b :c . :a _:b :c . :a 'p' :c .{LAST}")
    assert text == END
    assert reasons(parsed) == {Reason.BAD_TERM: 3}


OLD = {
    "keywords": "@keywords a, is, of. b a c . d e f .",
    "is of": ":a @is :b @of :c .",
    "has": ":a @has :b :c .",
    "a": ":a @a :b .",
}


@pytest.mark.parametrize("body", OLD.values(), ids=OLD)
def test_older_syntax_is_read(body: str) -> None:
    """If the parser refuses older syntax, then it is mended, or rdflib reads it."""
    text, parsed = read(f"@prefix : <http://e/>. @prefix x: <{URL}#>. {body} {LAST}")
    assert END in text
    assert text.count("\n") >= 2
    assert reasons(parsed).keys() == {Reason.REPAIRED}
    assert not parsed.is_partial


def test_rdflib_takes_literals_as_they_are() -> None:
    """If rdflib reads numbers, then it does not write them in another way."""
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    body = f'{OLD["keywords"]} b c "007"^^<{integer}> .'
    text, _ = read(f"@prefix : <http://e/>. @prefix x: <{URL}#>. {body} {LAST}")
    assert f'"007"^^<{integer}>' in text


def test_rdflib_runs_within_bounds_alone() -> None:
    """If there are no bounds, then rdflib is not run, and nothing was yielded."""
    chunks = iter(
        parse(
            (P + OLD["keywords"] + LAST).encode(),
            url=URL,
            graph=None,
            media_type="text/n3",
        )
    )
    with pytest.raises(NeedsSandbox):
        next(chunks)


def test_older_syntax_beside_logic_is_read() -> None:
    """If older syntax comes with formulas, then only the formulas are left out."""
    text, parsed = read(f"{P}{LAST} {{:a :b :c}} => {{:a :b :d}} . :x @has :y :z .")
    assert text == f"{END}<http://e/x> <http://e/y> <http://e/z> .\n"
    assert reasons(parsed) == {Reason.N3_FORMULA: 3, Reason.REPAIRED: 1}


def test_errors_cost_their_statement() -> None:
    """If N3 has an error, then the statements around it are read."""
    text, parsed = read(f"{P}{LAST} :a :b ]]] .{LAST} \n{{:a :b :c}} => <x y.\n{LAST}")
    assert text == 3 * END
    assert reasons(parsed).keys() >= {Reason.REPAIRED, Reason.BAD_TERM}


def test_formulas_are_known_in_streams(tmp_path: Path) -> None:
    """If formulas and strings cross the borders of blocks, they are distinguished."""
    one = P + ":me :says {} , '{ \"' , {:x :y 'z {'} . # {\n :d :e '''{ ' ''' .\n"
    path = tmp_path / "a.n3"
    path.write_text(one * 9000)
    parsed = parse(path, url=URL, graph=None, media_type="text/n3", environment=BOUNDED)
    text = b"".join(parsed).decode()
    assert text.count("\n") == 2 * 9000
    assert reasons(parsed) == {Reason.N3_FORMULA: 3 * 9000}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("{", "}"),
        ("{:a :b ", "}"),
        ("[:b ", "]"),
        ("(", ")"),
        ("<<( :a :b ", ")>>"),
        (":a!", ""),
    ],
)
@pytest.mark.parametrize("is_closed", [True, False])
def test_deep_nesting_is_read_or_refused(
    opening: str, closing: str, is_closed: bool
) -> None:
    """If something is nested 20,000 deep, it is read, or it is a named fault."""
    n = 20_000
    ends = closing * n if is_closed else ""
    _, parsed = read(f"{P}{LAST} :a :b {opening * n}:c {ends} .")
    known = {Reason.N3_FORMULA, Reason.SYNTAX, Reason.REPAIRED, Reason.BAD_TERM}
    assert reasons(parsed).keys() <= known


def test_long_literals_are_dropped() -> None:
    """If a literal has 4 MB, then its statement is dropped."""
    text, parsed = read(f"{P}:a :b '{'x' * 4_000_000}' .{LAST}")
    assert text == END
    assert reasons(parsed) == {Reason.LITERAL_TOO_LONG: 1}


pieces = st.sampled_from(
    [
        *("{", "}", "[", "]", "(", ")", ".", ";", ",", "!", "^", "=>", "<=", "="),
        *(":a", ":b ", "_:x ", "?v ", "'x'", '"', "'", '"""', "\\", "\n", "# c\n"),
        *("@forAll ", "@forSome ", "@en", "@a ", "a ", "is ", "of ", "<-", "1.5"),
        *("<http://e/x>", "<a b>", "<", ">", "\0", "é", "@prefix : <http://f/> ."),
    ]
)
FORMULA_ONLY = "{:in :formula :only} a :F ."


@given(st.lists(pieces, max_size=10).map(" ".join), st.booleans())
@settings(max_examples=examples(250), deadline=None)
def test_whatever_comes_formulas_stay_inside(content: str, is_first: bool) -> None:
    """If anything stands around a formula, then no statement of it comes out."""
    parts = [P, FORMULA_ONLY, content] if is_first else [P, content, FORMULA_ONLY]
    text, _ = read(" ".join(parts))
    assert "formula>" not in text or "<http://e/in> <http://e/formula>" not in text


@given(st.lists(pieces, max_size=12).map("".join), st.integers(1, 7))
@settings(max_examples=examples(250), deadline=None)
def test_blocks_are_marked_like_the_whole(content: str, size: int) -> None:
    """If text comes in blocks of any size, then it is marked as when it is one."""
    data = content.encode()
    whole, blocks = FormulaMarker(), FormulaMarker()
    parts = [
        blocks.feed(data[begin : begin + size], is_last=False)
        for begin in range(0, len(data), size)
    ]
    parts.append(blocks.feed(b"", is_last=True))
    assert b"".join(parts) == whole.feed(data, is_last=True)
    assert blocks.has_formulas is whole.has_formulas
