"""Guarantees of every store; see `docs/how-to/own-stores.md`.

* **Atomic.** A document is completely in the store after `end`, and not at all after
  `abandon` or a crash.
* **Durable after flush.** When `flush` returns, every document that ended before the
  call survives `kill -9` of this process, and power loss.
* **At least once, with the effect of exactly once.** After a crash a document may be
  written again. Of all versions with one graph name the one with the highest
  `version_ms` counts and replaces the others, regardless of their writer; a version
  that is written twice counts once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rdfcrawl.core.content import QuadChunk


class DocumentWriter(Protocol):
    """Writer of one document into one store."""

    async def write(self, chunk: QuadChunk) -> None:
        """Write the next statements.

        Args:
            chunk: its `lines` are N-Quads, at most about 256 KiB, the last line
                ended; statements only, no comments.

        Raises:
            StoreFault: not written; `abandon` the document.
        """

    async def end(self) -> None:
        """Commit the document to the store.

        Raises:
            StoreFault: not committed; `abandon` the document.
        """

    async def abandon(self) -> None:
        """Discard the document; no effect after `end`."""


class Store(Protocol):
    """Store of documents as N-Quads; several may be open at once in one event loop."""

    async def open(self) -> None:
        """Prepare the store, and repair the damage of a crash.

        Raises:
            ConfigError: the configuration of the store is wrong.
            StoreFault: the store cannot be reached or read.
        """

    async def begin(self, graph: str, version_ms: int) -> DocumentWriter:
        """Open a document.

        Args:
            graph: IRI of the document; its statements may name other graphs too.
            version_ms: start of its fetch, Unix time in ms. A document written without
                statements is a tombstone.

        Raises:
            StoreFault: the store accepts no data now.
        """

    async def flush(self) -> None:
        """Return when every ended document will survive a crash.

        Raises:
            StoreFault: they may not; unacknowledged documents are crawled again.
        """

    async def close(self) -> None:
        """Flush and close the store; open documents are discarded.

        Raises:
            StoreFault: as `flush`; the store is closed anyway.
        """
