"""Graphs of a log and a store are compared in bounded memory and time."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pyoxigraph as ox
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.stores.followers import oxigraph, verification
from rdfcrawl.stores.followers.log_comparison import compare
from rdfcrawl.stores.followers.oxigraph import OxigraphFollower
from rdfcrawl.stores.followers.verification import is_same, is_same_text
from rdfcrawl.stores.log.crawl_log import CrawlLog
from tests.support.written_logs import RawVersion, write_log

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pytest

A, B, C, D, F = (f"http://{name}.example/" for name in "abcdf")
Pairs = list[tuple[int, int]]


def graph(pairs: Iterable[tuple[int, int]], names: list[int]) -> set[ox.Quad]:
    """Return a graph of blank nodes, by the pairs of those that are linked."""
    link = ox.NamedNode("http://e/p")
    nodes = [ox.BlankNode(f"b{name}") for name in names]
    return {ox.Quad(nodes[one], link, nodes[other]) for one, other in pairs}


def by_canonical_form(one: set[ox.Quad], other: set[ox.Quad]) -> bool:
    """Return the same by Oxigraph's canonical labels."""
    datasets = ox.Dataset(one), ox.Dataset(other)
    for each in datasets:
        each.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(datasets[0]) == set(datasets[1])


node = st.integers(0, 6)
pairs = st.lists(st.tuples(node, node), max_size=9)


@settings(max_examples=60)
@given(pairs, pairs, st.permutations(range(7)))
def test_sameness_is_that_of_canonical_forms(
    one: Pairs, other: Pairs, names: list[int]
) -> None:
    """If graphs are small, then two ways to compare them agree."""
    first, second = graph(one, list(range(7))), graph(other, names)
    assert is_same(first, second) == by_canonical_form(first, second)
    assert is_same(first, graph(one, names))


@settings(max_examples=60)
@given(pairs, pairs, st.permutations(range(7)), st.integers(0, 2**7 - 1))
def test_equal_texts_are_equal_graphs(
    one: Pairs, other: Pairs, names: list[int], marks: int
) -> None:
    """If texts differ in labels of blank nodes alone, canonical forms are equal."""

    def marked(pairs: Pairs, names: list[int]) -> set[ox.Quad]:
        kind = ox.NamedNode("http://e/kind")
        kinds = ox.Literal("1"), ox.Literal("2")
        some = {x for pair in pairs for x in pair}
        own = {
            ox.Quad(ox.BlankNode(f"b{names[x]}"), kind, kinds[marks >> x & 1])
            for x in some
        }
        return graph(pairs, names) | own

    def text(quads: set[ox.Quad]) -> list[bytes]:
        return [f"{quad} .\n".encode() for quad in quads]

    first, second = marked(one, list(range(7))), marked(other, names)
    if is_same_text(text(first), text(second)):
        assert by_canonical_form(first, second)
    trees = [(low, high) for low, high in one if low < high][:1]
    assert is_same_text(text(marked(trees, names)), text(marked(trees, names[::-1])))


def ring(*sizes: int) -> set[ox.Quad]:
    """Return rings of blank nodes."""
    found: Pairs = []
    begin = 0
    for size in sizes:
        found += [(begin + n, begin + (n + 1) % size) for n in range(size)]
        begin += size
    return graph(found, list(range(begin)))


def test_what_would_take_too_long_is_not_said() -> None:
    """If blank nodes are all linked alike, then nothing is said, and at once."""
    assert is_same(ring(3, 3), ring(6)) is False
    assert is_same(ring(30, 30), ring(60)) is None
    clique = list(permutations(range(30), 2))
    names = list(range(30))
    assert is_same(graph(clique, names), graph(clique, [x + 9 for x in names])) is None
    chain = [(n, n + 1) for n in range(300)]
    names = list(range(301))
    assert is_same(graph(chain, names), graph(chain, names[::-1]))


def test_long_graphs_are_compared_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If graphs are too long for memory, what cannot be said of them is named."""
    monkeypatch.setattr("rdfcrawl.stores.log.documents._HELD_BYTES", 3)
    monkeypatch.setattr(oxigraph, "_MAX_DUMPED_BYTES", 200)
    monkeypatch.setattr(verification, "MAX_HELD", 3)
    monkeypatch.setattr(verification, "_BATCH_LINES", 2)

    def document(name: str, subject: str, value: str = "x") -> RawVersion:
        lines = (f'{subject} <{name}> "{n}{value}" <{name}> .\n' for n in range(7))
        return RawVersion(name, 1, "".join(lines).encode())

    same = [document(A, f"<{A}>"), document(D, f"<{D}>")]
    others = [document(B, "_:b"), document(C, f"<{C}>"), document(F, "_:f")]
    write_log(tmp_path, [*same, *others])
    store = OxigraphFollower(tmp_path / "store")
    log = CrawlLog(tmp_path)
    store.open(log.identity)
    lines = [document(A, f"<{A}>"), document(B, "_:c"), document(C, f"<{C}>", "y")]
    for each in [*lines, document(F, "_:f", "y"), document("http://e/", "_:d")]:
        store.store.extend(ox.parse(each.quads, format=ox.RdfFormat.N_QUADS))
    found = compare(log, store, tmp_path)
    store.close()
    assert (found.n_graphs, found.is_equal) == (5, False)
    assert found.not_compared.names == [B]
    assert sorted(found.stale.names) == [C, F]
    assert found.missing.names == [D]
    assert found.surplus.names == ["http://e/"]
    assert not list(tmp_path.glob("verify-*"))
