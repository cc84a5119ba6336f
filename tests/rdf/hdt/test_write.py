"""Writing HDT: statements written and left out, and the bound of memory."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyoxigraph
import pytest

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.hdt import write_hdt
from tests.support.hdt_files import BASE, hdt_of, lines_of, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

A = b'<http://e/a> <http://e/p> "x" .\n'
B = b'<http://e/b> <http://e/p> "x" .\n'


def _many(n: int) -> Iterator[bytes]:
    for i in range(n):
        s = b"<http://example.org/resource/%d>" % (i * 7919 % n)
        yield b"%s <http://e/p%d> <http://example.org/resource/%d> .\n" % (s, i % 9, i)
        yield b'%s <http://e/label> "resource %d"@en .\n' % (s, i // 3)
        yield b"%s <http://e/p1> _:b%d .\n" % (s, i % 100)


def test_each_statement_is_written_once() -> None:
    """If statements recur, then they are counted and written once."""
    out = io.BytesIO()
    report = write_hdt([A, B, A, A], out, base=BASE)
    assert (report.n_triples, report.faults) == (2, ())
    assert lines_of(out.getvalue()) == [A, B]


def test_nothing_is_a_file_too() -> None:
    """If there are no lines, then the file is sound and empty."""
    assert lines_of(hdt_of([])) == []


def test_lines_come_in_any_portions() -> None:
    """If lines come alone, in blocks or without a line feed, then all count."""
    for lines in [A, B], [A + B], [A.strip(), B.strip()], [A, b"\n", b"# no\n" + B]:
        assert lines_of(hdt_of(lines)) == [A, B]


def test_names_of_graphs_are_left_out() -> None:
    """If lines are of N-Quads, then statements of all graphs are written, once."""
    named = A.replace(b" .", b" <http://e/g> .")
    blank = B.replace(b" .", b" _:g .")
    assert lines_of(hdt_of([A, named, blank])) == [A, B]


def test_literal_that_looks_like_a_graph_stays_whole() -> None:
    """If a literal has text like the end of a quad, then it is kept."""
    tricky = b'<http://e/a> <http://e/p> "x\\" <http://e/g> ." <http://e/g> .\n'
    assert lines_of(hdt_of([tricky])) == [
        tricky.replace(b'" <http://e/g> .\n', b'" .\n')
    ]


def test_nul_in_a_literal_is_refused_by_name() -> None:
    """If a literal has U+0000, then it is left out; an escaped backslash is not it."""
    nul = b'<http://e/a> <http://e/p> "a\\u0000b" .\n'
    behind = b'<http://e/a> <http://e/p> "\\\\\\\\\\u0000" .\n'
    letters = b'<http://e/a> <http://e/p> "a\\\\u0000b" .\n'
    out = io.BytesIO()
    report = write_hdt([A, nul, letters, behind], out, base=BASE)
    assert {fault.reason: fault.count for fault in report.faults} == {
        Reason.NUL_CHARACTER: 2
    }
    assert sorted(lines_of(out.getvalue())) == sorted([A, letters])


def test_base_direction_becomes_a_datatype() -> None:
    """If a literal has a base direction, then HDT holds it as RDF 1.1 can say it."""
    begin = b'<http://e/a> <http://e/p> "a \\"@en--ltr ."'
    lines = hdt_of([begin + b"@ar-eg--rtl <http://e/g> .\n", b"_:a <x:p> _:b--rtl .\n"])
    node, told = lines_of(lines)
    assert told == begin + b"^^<https://www.w3.org/ns/i18n#ar-eg_rtl> .\n"
    assert node.startswith(b"_:a <x:p> _:")


def test_bad_lines_are_left_out() -> None:
    """If lines are no statements, or about triple terms, then only these are lost."""
    bad = [
        b"<http://e/a> <relative> <http://e/b> .\n",
        b"nonsense\n",
        b"<http://e/a> <http://e/p> <<( <http://e/a> <http://e/p> 'x' )>> .\n",
        b'<http://e/a> <http://e/p> <<( <http://e/a> <http://e/p> "x" )>> .\n',
    ]
    out = io.BytesIO()
    report = write_hdt([A, *bad, B], out, base=BASE)
    assert report.n_triples == 2
    found = {fault.reason: fault.count for fault in report.faults}
    assert found == {Reason.BAD_TERM: 4}
    assert lines_of(out.getvalue()) == [A, B]


def test_header_says_what_is_in_the_file() -> None:
    """If a file is written, then its header is RDF about the dataset and its counts."""
    data = hdt_of([A, B, b"<http://e/a> <http://e/q> <http://e/b> .\n"])
    header = pieces(data)["header"]
    quads = pyoxigraph.parse(
        data[header.begin : header.end], pyoxigraph.RdfFormat.N_TRIPLES
    )
    said = {(q.subject.value, q.predicate.value, q.object.value) for q in quads}
    void = "http://rdfs.org/ns/void#"
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    assert said == {
        (BASE, f"{rdf}type", f"{void}Dataset"),
        (BASE, f"{rdf}type", "http://purl.org/HDT/hdt#Dataset"),
        (BASE, f"{void}triples", "3"),
        (BASE, f"{void}properties", "2"),
        (BASE, f"{void}distinctSubjects", "2"),
        (BASE, f"{void}distinctObjects", "2"),
    }


def test_base_has_to_be_an_iri() -> None:
    """If the base is not an IRI, then that is said."""
    with pytest.raises(SourceFault):
        write_hdt([A], io.BytesIO(), base="no iri")


def test_little_memory_gives_the_same_bytes(tmp_path: Path) -> None:
    """If memory is short, then runs are put aside, and the file is the same."""
    lines = list(_many(5000))
    files = []
    for memory_bytes in 2**28, 2**18:
        out = io.BytesIO()
        blocks = [b"".join(lines[at : at + 100]) for at in range(0, len(lines), 100)]
        report = write_hdt(
            blocks, out, base=BASE, temp_dir=tmp_path, memory_bytes=memory_bytes
        )
        assert report.n_triples == len(set(lines))
        files.append(out.getvalue())
    assert files[0] == files[1]
    assert set(lines_of(files[0])) == set(lines)
    assert not list(tmp_path.iterdir())


def test_order_of_lines_does_not_matter() -> None:
    """If the same lines come in another order, then the file is the same."""
    lines = list(_many(500))
    assert hdt_of(lines) == hdt_of(lines[::-1])


def test_error_of_the_lines_leaves_nothing_open(tmp_path: Path) -> None:
    """If the lines end with an error, then it is raised and files are closed."""

    def broken() -> Iterator[bytes]:
        yield from _many(20_000)
        raise OSError("gone")

    out = io.BytesIO()
    with pytest.raises(OSError, match="gone"):
        write_hdt(broken(), out, base=BASE, temp_dir=tmp_path, memory_bytes=2**18)
    assert not out.getvalue()
    assert not list(tmp_path.iterdir())
