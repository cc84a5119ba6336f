"""Generated documents of benchmarks."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import CanonicalizationAlgorithm, Dataset, RdfFormat

from tests.bench.documents.dumps import WRITERS, descriptions, write_dump
from tests.bench.documents.pages import FORMS, page
from tests.bench.documents.resources import resource
from tests.bench.documents.sites import SYNTAXES, linked_data
from tests.bench.documents.writers import write_n_triples

if TYPE_CHECKING:
    from pathlib import Path


def _statements(text: str, media_type: str) -> Dataset:
    form = RdfFormat.from_media_type(media_type)
    assert form is not None
    found = Dataset(pyoxigraph.parse(text, format=form))
    found.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return found


def test_each_syntax_has_the_same_statements() -> None:
    """If resources are written in several syntaxes, then all state the same."""
    rng = random.Random(5)
    nodes = [resource(rng, f"http://h.example/{n}", lambda: "x:y") for n in range(40)]
    lines = "".join(write_n_triples(nodes))
    wanted = _statements(lines, "application/n-triples")
    assert len(wanted) > 500
    for media_type, write in SYNTAXES.items():
        assert _statements("".join(write(nodes)), media_type) == wanted


def test_documents_are_the_same_in_each_run() -> None:
    """If documents are generated twice, then the second ones equal the first."""
    one, other = (linked_data(80, "text/turtle", n_hosts=2, a_host=9) for _ in "12")
    assert one == other
    assert [*descriptions(20)] == [*descriptions(20)]
    for form in FORMS:
        assert page(1, form) == page(1, form)
        assert 45_000 < len(page(2, form)) < 160_000


def test_dumps_have_as_many_statements_in_each_serialization(tmp_path: Path) -> None:
    """If a dump is written in each serialization, then all have as many statements."""
    counts = set()
    for suffix in (".nq", *WRITERS):
        form = RdfFormat.from_extension(suffix[1:])
        assert form is not None
        write_dump(tmp_path / f"dump{suffix}", 30, graphs="http://d.example/g/")
        found = pyoxigraph.parse(path=tmp_path / f"dump{suffix}", format=form)
        counts.add(len([*found]))
    assert len(counts) == 1
