"""The N-Quads store, as a reader sees it: after rewrites, and from many workers."""

from __future__ import annotations

import asyncio
import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph
import pytest

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.core.errors import StoreFault
from rdfcrawl.stores.log.crawl_log import iter_latest
from rdfcrawl.stores.nquads import NQuadsStore, document_mark
from rdfcrawl.stores.reading import iter_quads
from rdfcrawl.stores.segments import SegmentLimits
from tests.support.pages import page_path

if TYPE_CHECKING:
    from rdfcrawl.stores.protocol import Store

DOCS = page_path("stores.md")


def quads_of(graph: str, *values: str) -> bytes:
    """Return one statement for each value."""
    return b"".join(
        f'<{graph}> <urn:p> "{value}" <{graph}> .\n'.encode() for value in values
    )


async def write(
    store: Store, graph: str, version_ms: int, *values: str, n_chunks: int = 1
) -> None:
    """Write one document, each chunk with all values."""
    document = await store.begin(graph, version_ms)
    for _ in range(n_chunks if values else 0):
        await document.write(QuadChunk(quads_of(graph, *values)))
    await document.end()


def latest_of(directory: Path) -> dict[str, bytes]:
    """Return the latest version of each document."""
    found: dict[str, bytes] = {}
    for piece in iter_latest(directory):
        found[piece.graph] = found.get(piece.graph, b"") + piece.quads
    return found


async def test_output_is_strict_nquads(tmp_path: Path) -> None:
    """If documents are stored, then an N-Quads parser reads just their statements."""
    store: Store = NQuadsStore(tmp_path / "quads", "w")
    await store.open()
    await write(store, "http://example.org/a?q=ä", 1, "x", "y")
    await write(store, "http://example.org/b", 2, "z")
    await store.close()
    content = gzip.decompress((tmp_path / "quads" / "w-00000.nq.gz").read_bytes())
    found = [
        quad.object.value
        for quad in pyoxigraph.parse(content, pyoxigraph.RdfFormat.N_QUADS)
        if isinstance(quad.object, pyoxigraph.Literal)
    ]
    assert found == ["x", "y", "z"]


async def test_latest_version_wins_whoever_wrote_it(tmp_path: Path) -> None:
    """If workers store versions of one document, then the highest time wins."""
    first, second = (NQuadsStore(tmp_path / "quads", name) for name in "ab")
    await first.open()
    await second.open()
    await write(first, "urn:d", 300, "third")
    await write(second, "urn:d", 200, "second")
    await write(first, "urn:d", 100, "first")
    await write(second, "urn:e", 100, "other")
    await first.close()
    await second.close()
    assert latest_of(tmp_path / "quads") == {
        "urn:d": quads_of("urn:d", "third"),
        "urn:e": quads_of("urn:e", "other"),
    }


async def test_document_written_twice_is_there_once(tmp_path: Path) -> None:
    """If the same version is delivered again, then it counts once."""
    for _ in range(2):
        store = NQuadsStore(tmp_path / "quads", "w")
        await store.open()
        await write(store, "urn:d", 7, "x")
        await write(store, "urn:d", 7, "x")
        await store.close()
    assert b"".join(iter_quads(tmp_path / "quads")).count(b"<urn:p>") == 4
    assert latest_of(tmp_path / "quads") == {"urn:d": quads_of("urn:d", "x")}


async def test_document_without_statements_replaces_an_older_one(
    tmp_path: Path,
) -> None:
    """If a document has lost all its statements, then the old ones do not count."""
    store = NQuadsStore(tmp_path / "quads", "w")
    await store.open()
    await write(store, "urn:d", 1, "x")
    await write(store, "urn:e", 1, "y")
    await write(store, "urn:d", 2)
    await store.close()
    latest = latest_of(tmp_path / "quads")
    assert latest == {"urn:d": b"", "urn:e": quads_of("urn:e", "y")}


async def test_long_documents_are_read_piece_by_piece(tmp_path: Path) -> None:
    """If documents span many blocks and members, then each comes back unmixed."""
    limits = SegmentLimits(member_bytes=5_000, rotate_bytes=10_000, spill_bytes=2_000)
    store = NQuadsStore(tmp_path / "quads", "w", limits)
    await store.open()
    values = [f"{i * 7919 % 10_007}" for i in range(3_000)]
    numbers = (0, 1, 2, 3, 5, 8, 13, 21, 29)
    await asyncio.gather(
        *(write(store, f"urn:{n}", n, *values[: n * 100], n_chunks=n) for n in numbers)
    )
    await store.close()
    pieces = list(iter_latest(tmp_path / "quads"))
    assert max(len(piece.quads) for piece in pieces) <= 1024 * 1024
    assert latest_of(tmp_path / "quads") == {
        f"urn:{n}": quads_of(f"urn:{n}", *values[: n * 100]) * n for n in numbers
    }


async def test_only_documents_without_statements_have_an_empty_piece(
    tmp_path: Path,
) -> None:
    """If documents end wherever blocks end, then none but empty ones look deleted."""
    store = NQuadsStore(tmp_path / "quads", "w")
    await store.open()
    for number in range(3000):
        values = [] if number % 100 == 0 else ["x" * (number % 997)]
        await write(store, f"urn:d{number}", 1, *values)
    await store.close()
    latest = iter_latest(tmp_path / "quads")
    empty = [piece.graph for piece in latest if not piece.quads]
    assert empty == [f"urn:d{number}" for number in range(0, 3000, 100)]


async def test_abandoned_document_is_not_there(tmp_path: Path) -> None:
    """If a document is abandoned, then neither it nor its mark is stored."""
    store = NQuadsStore(tmp_path / "quads", "w")
    await store.open()
    document = await store.begin("urn:d", 1)
    await document.write(QuadChunk(quads_of("urn:d", "x")))
    await document.abandon()
    await write(store, "urn:e", 1, "y")
    await store.flush()
    assert set(latest_of(tmp_path / "quads")) == {"urn:e"}
    await store.close()


async def test_open_repairs_what_a_crash_left(tmp_path: Path) -> None:
    """If an earlier run left a torn segment, then `open` cuts it."""
    (tmp_path / "quads").mkdir()
    torn = tmp_path / "quads" / "old-00000.nq.gz"
    torn.write_bytes(b"\x1f\x8b\x08\x04")
    store = NQuadsStore(tmp_path / "quads", "w")
    await store.open()
    assert not torn.exists()
    await store.close()


@pytest.mark.parametrize(
    "chunk",
    [
        b'<urn:a> <urn:p> "x" .',
        b"",
        b"#\tdocument <urn:other> 9\n",
        b'<urn:a> <urn:p> "x" .\n#\tdocument <urn:other> 9\n',
    ],
    ids=["no line feed", "empty", "mark", "mark after a statement"],
)
async def test_chunk_that_could_harm_other_documents_is_refused(
    tmp_path: Path, chunk: bytes
) -> None:
    """If a chunk has a mark or half a line, then it is refused."""
    store = NQuadsStore(tmp_path / "quads", "w")
    await store.open()
    document = await store.begin("urn:d", 1)
    with pytest.raises(ValueError, match="complete lines"):
        await document.write(QuadChunk(chunk))
    await document.abandon()
    await store.close()


async def test_mark_inside_a_literal_is_no_mark(tmp_path: Path) -> None:
    """If a literal ends in what looks like a mark, then it stays a literal."""
    store = NQuadsStore(tmp_path / "quads", "w")
    await store.open()
    document = await store.begin("urn:d", 1)
    quads = b'<urn:a> <urn:p> "x" <urn:d> . #\tdocument <urn:e> 9\n'
    await document.write(QuadChunk(quads))
    await document.end()
    await store.close()
    assert latest_of(tmp_path / "quads") == {"urn:d": quads}


@pytest.mark.parametrize(
    "graph", ["urn:a b", "urn:a>", "urn:<", "urn:\n", "urn:\ud800"]
)
def test_graph_that_would_break_its_mark_is_refused(graph: str) -> None:
    """If a graph name is not an IRI, then no mark is made of it."""
    with pytest.raises(ValueError, match="not an IRI"):
        document_mark(graph, 1)


async def test_store_that_is_not_open_says_so(tmp_path: Path) -> None:
    """If a store is used before `open` or after `close`, then it raises a fault."""
    store = NQuadsStore(tmp_path / "quads", "w")
    with pytest.raises(StoreFault, match="not open"):
        await store.begin("urn:d", 1)
    await store.open()
    await store.close()
    await store.close()
    with pytest.raises(StoreFault, match="not open"):
        await store.flush()


async def test_directory_that_cannot_be_made_is_a_fault(tmp_path: Path) -> None:
    """If a file stands where the directory should be, then `open` raises a fault."""
    (tmp_path / "quads").touch()
    with pytest.raises(StoreFault, match="quads"):
        await NQuadsStore(tmp_path / "quads", "w").open()


async def test_example_of_the_docs_writes_the_latest_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the example of the docs is run, then it writes each document once."""
    store = NQuadsStore(tmp_path / "crawl/linkeddata/quads", "w")
    await store.open()
    await write(store, "urn:d", 1, "old")
    await write(store, "urn:d", 2, "new")
    await store.close()
    example, _ = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, DOCS, "exec"), {})
    assert Path("latest.nq").read_bytes() == quads_of("urn:d", "new")


async def test_mark_of_the_docs_is_what_the_code_writes() -> None:
    """If the mark changes, then the docs have to follow."""
    mark = document_mark("http://example.org/me", 1_790_000_000_000).decode()
    assert f"```\n{mark}```\n" in DOCS.read_text()
