"""Logs as a crawl would write them, from a list of documents."""

from __future__ import annotations

import asyncio
import json
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import pyoxigraph as ox

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.stores.log.crawl_log import CrawlLog
from rdfcrawl.stores.nquads import NQuadsStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rdfcrawl.stores.log.documents import LogDocument


_LINES = 2000  # of a chunk


class Written(NamedTuple):
    """One version of a document: its statements have one subject and predicate.

    Attributes:
        graph: of the document.
        version_ms: when its fetch began.
        said: graph and value of each statement.
    """

    graph: str
    version_ms: int
    said: Sequence[tuple[str, str]] = ()

    @property
    def quads(self) -> bytes:
        """The statements as N-Quads."""
        return b"".join(
            f'<http://e/s> <http://e/p> "{value}" <{graph}> .\n'.encode()
            for graph, value in self.said
        )


class RawVersion(NamedTuple):
    """One version of a document, with its statements as N-Quads."""

    graph: str
    version_ms: int
    quads: bytes


Version = Written | RawVersion


def write_log(root: Path, documents: Iterable[Version], worker: str = "w") -> None:
    """Append documents to the log in a folder, each in a separate member."""
    asyncio.run(_write(root, documents, worker))


async def put(
    store: NQuadsStore, graph: str, version_ms: int, statements: bytes
) -> None:
    """Write a document of one chunk."""
    writer = await store.begin(graph, version_ms)
    await writer.write(QuadChunk(statements))
    await writer.end()


async def _write(root: Path, documents: Iterable[Version], worker: str) -> None:
    store = NQuadsStore(root / "quads", worker)
    await store.open()
    for each in documents:
        writer = await store.begin(each.graph, each.version_ms)
        lines = each.quads.splitlines(keepends=True)
        for first in range(0, len(lines), _LINES):
            await writer.write(QuadChunk(b"".join(lines[first : first + _LINES])))
        await writer.end()
        await store.flush()
    await store.close()


def tear_log(root: Path, whole: Version, torn: Version) -> None:
    """Write a log of two segments, of which one ends in half a member."""
    write_log(root, [whole])
    write_log(root, [torn], "torn")
    (segment,) = (root / "quads").glob("torn*.nq.gz")
    segment.write_bytes(segment.read_bytes()[:40])


def make_newer(root: Path) -> None:
    """Make a log one that a later version of rdfcrawl has written."""
    path = root / "quads" / "log.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))


def versions_in(root: Path) -> list[LogDocument]:
    """Return all versions that are in the log in a folder."""
    log = CrawlLog(root)
    return [
        document
        for batch in log.read(log.begin(), has_provenance=False)
        for document in batch.documents
    ]


def truth(written: Iterable[Written]) -> set[tuple[str, str]]:
    """Return graph and value of the statements of the latest versions."""

    def version(each: Written) -> tuple[int, bytes]:
        return each.version_ms, blake2b(each.quads, digest_size=16).digest()

    latest: dict[str, Written] = {}
    for each in written:
        if each.graph not in latest or version(each) > version(latest[each.graph]):
            latest[each.graph] = each
    return {said for each in latest.values() for said in each.said}


def said_in(store: Iterable[ox.Quad]) -> set[tuple[str, str]]:
    """Return graph and value of each statement of a store."""
    return {
        (quad.graph_name.value, quad.object.value)
        for quad in store
        if isinstance(quad.graph_name, ox.NamedNode)
        if isinstance(quad.object, ox.Literal)
    }
