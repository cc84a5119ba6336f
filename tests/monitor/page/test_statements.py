"""Statements of documents as texts, in bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyoxigraph as ox

from rdfcrawl.monitor.page.uri_reading import first_lines, turtle_of
from rdfcrawl.stores.changes.patch import compare_versions
from tests.support.written_logs import RawVersion, versions_in, write_log

if TYPE_CHECKING:
    from pathlib import Path

G = "http://e.example/"


def quads(*values: str, graph: str = G) -> bytes:
    """Return a statement for each value."""
    lines = (f'<{G}s> <http://schema.org/p> "{x}" <{graph}> .\n' for x in values)
    return "".join(lines).encode()


def test_first_lines_end_at_either_bound() -> None:
    """If there are too many statements or bytes, then complete lines are left."""
    pieces = [quads("a", "b"), quads("c")]
    assert first_lines(pieces, most=3, most_bytes=999) == (quads(*"abc"), 3, False)
    assert first_lines(pieces, most=2, most_bytes=999) == (quads(*"ab"), 2, True)
    few = len(quads("a")) + 1
    assert first_lines(pieces, most=3, most_bytes=few) == (quads("a"), 1, True)


def test_turtle_says_the_same() -> None:
    """If statements are written as Turtle or TriG, then they are the same ones."""
    turtle = turtle_of(quads("a", "b"), G)
    assert turtle.startswith("@prefix schema: <http://schema.org/> .\n")
    found = {x.object.value for x in ox.parse(turtle, format=ox.RdfFormat.TURTLE)}
    assert found == {"a", "b"}
    lines = quads("a") + quads("b", graph=f"{G}other")
    trig = turtle_of(lines, G)
    expected = set(ox.parse(lines, format=ox.RdfFormat.N_QUADS))
    assert set(ox.parse(trig, format=ox.RdfFormat.TRIG)) == expected


def test_long_literal_is_cut_for_people() -> None:
    """If a literal is too long, then the number of omitted characters is shown."""
    turtle = turtle_of(quads("x" * 5000), G, most_chars=10)
    assert '"xxxxxxxxxx... (4,990 more characters)"' in turtle


def test_versions_differ_by_statements(tmp_path: Path) -> None:
    """If two versions are compared, then each statement counts once, within bounds."""
    some = quads("a", "b", "b", "c"), quads("c", "d", "e", "a")
    write_log(tmp_path, [RawVersion(G, n, each) for n, each in enumerate(some)])
    former, now = versions_in(tmp_path)
    found = compare_versions(former, now, most_bytes=10_000, most_listed=1)
    assert (found.n_added, found.n_removed, found.n_kept) == (2, 1, 2)
    assert found.added == (quads("d").decode().rstrip(),)
    assert found.removed == (quads("b").decode().rstrip(),)
    assert not found.is_cut
    cut = compare_versions(former, now, most_bytes=len(quads("a")) + 2, most_listed=9)
    assert cut.is_cut
    assert (cut.n_added, cut.n_removed, cut.n_kept) == (1, 1, 0)
