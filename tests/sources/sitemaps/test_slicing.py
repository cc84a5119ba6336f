"""Dumps cut into descriptions, and samples compared with them."""

from __future__ import annotations

import resource as usage
import subprocess
import sys
from typing import TYPE_CHECKING

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.sources.sitemaps.semantic import Slicing, UriPrefix
from rdfcrawl.sources.sitemaps.slicing import compare_sample, slice_dump

if TYPE_CHECKING:
    from pathlib import Path

E = "http://e/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
PREFIX = UriPrefix(E, E)
DUMP = """x p "literal \\" . <http://e/no>"@en
x p y
x q _:b1
_:b1 p _:b2
_:b2 p "end"
y p x
z p _:b1
_:b3 p x
_:b4 p _:b3
_:b3 r "more"
x#part p "fragment"
_:s rdf:subject x
_:s rdf:predicate p
_:s rdf:object y
_:s q "a statement about it"
_:t rdf:subject x
_:t rdf:predicate p
_:t rdf:object z
http://other/ p x
http://other/ p "elsewhere"
"""


def term(text: str) -> str:
    """Return a term of a short text."""
    if text.startswith(("_:", '"')):
        return text
    if text.startswith("rdf:"):
        return f"<{RDF}{text[4:]}>"
    return f"<{text}>" if text.startswith("http:") else f"<{E}{text}>"


def lines(text: str, graph: str = "") -> list[str]:
    """Return N-Quads of short triples."""
    end = f" <{graph}> .\n" if graph else " .\n"
    return [" ".join(map(term, line.split(" ", 2))) + end for line in text.splitlines()]


def cut(
    dump: str, slicing: Slicing, prefix: UriPrefix = PREFIX, max_triples: int = 1000
) -> tuple[dict[str, list[str]], FaultLog]:
    """Return the triples of each description."""
    log = FaultLog()
    chunks = ["".join(lines(dump)).encode()]
    found = slice_dump(
        chunks, [prefix], slicing=slicing, log=log, max_triples=max_triples
    )
    return {url: block.decode().splitlines(keepends=True) for url, block in found}, log


SUBJECT = [0, 1, 2, 10]
BACK = [5, 7, 11, 15, 18]
EXPECTED = {
    Slicing.SUBJECT: SUBJECT,
    Slicing.SUBJECT_OBJECT: SUBJECT + BACK,
    Slicing.CBD: [*SUBJECT, 3, 4, 11, 12, 13, 14],
    Slicing.SYMMETRIC_CBD: [*SUBJECT, *BACK, 3, 4, 8, 12, 13, 14],
    Slicing.MSG: [*SUBJECT, *BACK, 3, 4, 6, 8, 9, 12, 13, 14, 16, 17],
}


@pytest.mark.parametrize("slicing", Slicing)
def test_slicing_methods(slicing: Slicing) -> None:
    """If a dump is sliced, then each description follows its method, in its graph."""
    found, log = cut(DUMP, slicing)
    whole = lines(DUMP, f"{E}x")
    assert found[f"{E}x"] == sorted(whole[n] for n in EXPECTED[slicing])
    assert not log.all()
    for url, described in found.items():
        block = "".join(described).encode()
        quads = list(pyoxigraph.parse(block, pyoxigraph.RdfFormat.N_QUADS))
        assert {quad.graph_name for quad in quads} == {pyoxigraph.NamedNode(url)}


def test_each_document_has_one_description() -> None:
    """If resources differ by a fragment, then one document describes them."""
    found, _ = cut(DUMP, Slicing.SUBJECT)
    assert list(found) == [f"{E}x", f"{E}y", f"{E}z"]
    both = "a#1 p _:x\na-b p _:x\na/b p _:x\na p _:x\na#2 p _:x\nc#1 p _:x\nc#2 p _:x\n"
    found, _ = cut(both, Slicing.SUBJECT)
    assert {url.removeprefix(E): len(x) for url, x in found.items()} == {
        "a-b": 1,
        "a/b": 1,
        "a": 3,
        "c": 2,
    }


def test_prefixes_with_a_fragment() -> None:
    """If a prefix ends with `#`, then its resources have one document."""
    prefix = UriPrefix(f"{E}onto#", f"{E}onto#")
    found, _ = cut(
        "onto p _:x\nonto#A p _:x\nonto#B p _:x\nontology p _:x\n",
        Slicing.SUBJECT,
        prefix,
    )
    assert {url: len(x) for url, x in found.items()} == {f"{E}onto": 2}


def test_a_prefix_says_how_it_is_cut() -> None:
    """If a prefix has a method of its own, then that one counts."""
    found, _ = cut(DUMP, Slicing.SUBJECT, UriPrefix(E, E, Slicing.SUBJECT_OBJECT))
    assert len(found[f"{E}x"]) == len(EXPECTED[Slicing.SUBJECT_OBJECT])


def test_names_of_graphs_and_other_lines() -> None:
    """If a dump has graphs, then they are passed over; bad lines are faults."""
    log = FaultLog()
    chunks = [
        b'<http://e/a> <http://e/p> "x" <http://g> .\nbad\n',
        b'<http://e/a> <http://e/p> "x" .\n',
    ]
    found = list(slice_dump(chunks, [PREFIX], slicing=Slicing.CBD, log=log))
    assert [x.lines for x in found] == [
        b'<http://e/a> <http://e/p> "x" <http://e/a> .\n'
    ]
    assert log.count(Reason.BAD_TERM) == 1


@pytest.mark.parametrize("slicing", Slicing)
def test_a_ring_of_blank_nodes_ends(slicing: Slicing) -> None:
    """If blank nodes are in a ring, then a description is cut once around it."""
    ring = "".join(f"_:n{n} p _:n{(n + 1) % 50}\n" for n in range(50)) + "x p _:n0\n"
    found, _ = cut(ring, slicing)
    is_whole = slicing not in (Slicing.SUBJECT, Slicing.SUBJECT_OBJECT)
    assert len(found[f"{E}x"]) == (51 if is_whole else 1)


def test_a_description_is_bounded() -> None:
    """If a description is too large, then it is left out, and others are not."""
    dump = "".join(f"x p y{n}\n" for n in range(20)) + "z p q\n"
    found, log = cut(dump, Slicing.SUBJECT, max_triples=10)
    assert list(found) == [f"{E}z"]
    assert log.count(Reason.LITERAL_TOO_LONG) == 1


PROGRAM = """
import resource, sys
from pathlib import Path
from rdfcrawl.core.errors import (FaultLog)
from rdfcrawl.sources.sitemaps.semantic import UriPrefix, Slicing
from rdfcrawl.sources.sitemaps import slicing
from rdfcrawl.sources.sitemaps.slicing import slice_dump

slicing.MEMORY_BYTES //= 16
N = 30_000
line = b'<http://e/%06d> <http://e/p> "some text of a resource that is described" .\\n'
other = b'<http://e/%06d> <http://e/q> <http://e/%06d> .\\n'
chunks = (
    b"".join(
        (line if half else other) % ((n * 7919 % N,) + (() if half else (n,)))
        for n in range(at, at + 1000)
    )
    for half in (0, 1)
    for at in range(0, N, 1000)
)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = slice_dump(
    chunks,
    [UriPrefix("http://e/", "http://e/")],
    slicing=Slicing.SUBJECT_OBJECT,
    log=FaultLog(),
    folder=Path(sys.argv[1]),
)
print(sum(x.lines.count(b"\\n") for x in found))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.in_turn(2)
def test_a_large_dump_is_cut_in_bounded_memory(tmp_path: Path) -> None:
    """If a dump is larger than memory may be, then it is cut through a file."""
    assert usage.getpagesize()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    n_lines, mebibytes = map(int, done.stdout.split())
    assert n_lines == 90_000 - sum(n * 7919 % 30_000 == n for n in range(30_000))
    assert mebibytes < 8
    assert not list(tmp_path.iterdir())


def compared(sample: str, dump: str) -> tuple[int, int]:
    """Return how many triples each side has beyond the other."""
    found = compare_sample(
        "".join(lines(sample)).encode(), "".join(lines(dump)).encode()
    )
    assert bool(found) is (found.not_in_dump != found.not_in_sample)
    return len(found.not_in_dump), len(found.not_in_sample)


@pytest.mark.parametrize(
    ("sample", "dump", "expected"),
    [
        ("a p b\n", "a p b\n", (0, 0)),
        ("a p b\na p c\n", "a p b\n", (1, 0)),
        ("a p b\n", "a p b\na p d\n", (0, 1)),
        ('a p "x"@en\n', 'a p "x"\n', (1, 1)),
        ("a p _:x\n_:x p b\n", "a p _:y\n_:y p b\n", (0, 0)),
        ("a p _:x\n_:x p b\n", "a p _:y\n_:y p c\n", (2, 2)),
        ("a p _:x\n_:x p b\nz p z\n", "a p _:y\n_:y p b\n", (1, 0)),
        ("a p _:x\na p _:y\n", "a p _:z\n", (0, 0)),
        ("_:a p _:b\n_:b p _:a\n", "_:c p _:d\n_:d p _:c\n", (0, 0)),
        ("_:a p _:b\n_:b p _:c\n_:c p _:a\n", "_:a p _:b\n_:b p _:a\n", (3, 2)),
        ("_:a p _:a\n", "_:a p _:b\n", (1, 1)),
        ("", "a p b\n", (0, 1)),
    ],
)
def test_samples(sample: str, dump: str, expected: tuple[int, int]) -> None:
    """If a sample differs from the dump, then triples of both sides are reported."""
    assert compared(sample, dump) == expected


def test_graphs_do_not_matter() -> None:
    """If a sample has another graph than the dump, then they are still equal."""
    one, two = lines("a p b\n", "http://g/1"), lines("a p b\n", "http://g/2")
    assert not compare_sample("".join(one).encode(), "".join(two).encode())


def test_large_samples_are_bounded() -> None:
    """If a side is larger than the limit, then the rest is not compared."""
    body = "".join(lines("".join(f"a p b{n}\n" for n in range(20)))).encode()
    cut_off = body[: body.index(b"b15")].rpartition(b"\n")[0] + b"\n"
    assert compare_sample(body, cut_off)
    assert not compare_sample(body, cut_off, max_triples=10)


def test_a_clique_of_blank_nodes_is_soon_compared() -> None:
    """If blank nodes are all alike, then the comparison is fast."""
    clique = "".join(
        f"_:n{i} p _:n{j}\n" for i in range(60) for j in range(60) if i != j
    )
    assert compared(clique, clique.replace("_:n", "_:m")) == (0, 0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["_:a", "_:b", "_:c", "_:d", "x", "y"]),
            st.sampled_from(["p", "q"]),
            st.sampled_from(["_:a", "_:b", "_:c", "_:d", "x", '"v"']),
        ),
        max_size=12,
    ),
    st.permutations(["_:a", "_:b", "_:c", "_:d"]),
)
def test_labels_do_not_matter(
    triples: list[tuple[str, str, str]], order: list[str]
) -> None:
    """If blank nodes are relabelled, then nothing differs."""
    names = dict(zip(["_:a", "_:b", "_:c", "_:d"], order, strict=True))
    one = "".join(f"{s} {p} {o}\n" for s, p, o in triples)
    two = "".join(
        f"{names.get(s, s)} {p} {names.get(o, o)}\n" for s, p, o in reversed(triples)
    )
    assert compared(one, two) == (0, 0)
