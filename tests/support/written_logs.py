"""Logs as a crawl would write them, from a list of documents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import pyoxigraph as ox

from rdfcrawl.stores.nquads import NQuadsStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


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
    """Append documents to the log in a folder, each in a member of its own."""
    asyncio.run(_write(root, documents, worker))


async def _write(root: Path, documents: Iterable[Version], worker: str) -> None:
    store = NQuadsStore(root / "quads", worker)
    await store.open()
    for each in documents:
        writer = await store.begin(each.graph, each.version_ms)
        lines = each.quads.splitlines(keepends=True)
        for first in range(0, len(lines), _LINES):
            await writer.write(b"".join(lines[first : first + _LINES]))
        await writer.end()
        await store.flush()
    await store.close()


def said_in(store: ox.Store) -> set[tuple[str, str]]:
    """Return graph and value of each statement of a store."""
    return {
        (quad.graph_name.value, quad.object.value)
        for quad in store
        if isinstance(quad.graph_name, ox.NamedNode)
        if isinstance(quad.object, ox.Literal)
    }
