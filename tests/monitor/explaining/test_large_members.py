"""Members of logs that inflate to much are searched in little memory."""

from __future__ import annotations

import asyncio
import tracemalloc
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pytest
from scrapy.settings import Settings

from rdfcrawl.analysis.crawl_index.building import IndexBuilder
from rdfcrawl.analysis.crawl_index.tallies import all_tallies
from rdfcrawl.core.records import Record
from rdfcrawl.monitor.explaining.explanation import explain
from rdfcrawl.stores.nquads import DECISION_IRI, NQuadsStore, document_mark
from rdfcrawl.stores.segments import QuadSegments
from rdfcrawl.uri import NormalForm
from tests.support.described_documents import block_of, document
from tests.support.written_logs import put

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rdfcrawl.monitor.explaining.values import UriExplanation

A, B = "http://a.example/a", "http://b.example/b"
MOST_BYTES: Final = 48 * 2**20
"""Of memory; each log has more in one member, and the last one in one line."""
_FILLING: Final = b"".join(
    b"<urn:p> <http://other.example/%d%s>\n" % (n, b"x" * 2000) for n in range(100)
)
_N_FILLINGS: Final = 260  # of 200 kB


async def write_member(root: Path, kind: str, pieces: Iterable[bytes]) -> None:
    """Write a log of one member, and its seal."""
    segments = QuadSegments(root / kind, "w")
    member = segments.begin()
    for piece in pieces:
        segments.write(member, piece)
    segments.end(member)
    await segments.flush()
    await segments.close()


async def write_logs(root: Path) -> None:
    """Write mentions of A at the start and of B at the end of large members."""
    first, last = (
        block_of(document(record=Record(url=url), n_quads=1)) for url in (A, B)
    )
    urls = (f"http://other.example/{'x' * 200}/{n}" for n in range(1000))
    block = block_of(*(document(record=Record(url=url)) for url in urls))
    others = (block for _ in range(52 * 2**20 // len(block)))
    await write_member(root, "provenance", (first, *others, last))
    filling = (_FILLING for _ in range(_N_FILLINGS))
    end = f"<urn:p> <{B}>\n".encode()
    await write_member(root, "links", (document_mark(A, 1), *filling, end))
    mark = document_mark(A, 1)
    long_line = (b"<http://b.example/" + b"x" * 10**6 for _ in range(52))
    decision = f"\n<{B}> <{DECISION_IRI}too_deep>\n".encode()
    await write_member(root, "decisions", (mark, *long_line, decision))
    store = NQuadsStore(root / "quads", "w")
    await store.open()
    value = b"x" * 900_000
    for url in (A, *(f"http://other.example/{n}" for n in range(58)), B):
        await put(
            store, url, 1, b'<urn:s> <urn:p> "%s" <%s> .\n' % (value, url.encode())
        )
    await store.flush()
    await store.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a crawl with large members, which has no index yet."""
    folder = tmp_path_factory.mktemp("large")
    asyncio.run(write_logs(folder / "c"))
    return folder


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("has_index", [False, True])
def test_large_members_take_little_memory(folder: Path, *, has_index: bool) -> None:
    """If members inflate to much, then answers and index take little memory."""
    tracemalloc.start()
    try:
        if has_index:
            tallies = all_tallies(NormalForm())
            with closing(IndexBuilder(folder / "c", tallies)) as builder:
                builder.catch_up()
        first, last = (ask(folder, url) for url in (A, B))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MOST_BYTES
    for found in (first, last):
        assert (found.n_fetches, found.n_versions) == (1, 1)
        assert not found.damages
    assert first.n_targets == 100 * _N_FILLINGS + 1
    assert [each.document for each in last.links] == [A]
    assert [(x.parent, x.reason) for x in last.decisions] == [(A, "too_deep")]


def ask(folder: Path, url: str) -> UriExplanation:
    """Return the output of `scrapy explain --offline`."""
    settings = Settings({"CRAWL_DIR": str(folder), "CRAWL_ID": "c"})
    return asyncio.run(explain(settings, url, with_frontier=False))
