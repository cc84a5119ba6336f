"""What every store promises to the crawl; see `docs/how-to/own-stores.md`.

* **Whole or not at all.** A document is in the store as a whole after `end`, and
  nothing of it is after `abandon` or a crash.
* **Durable after flush.** Once `flush` has returned, every document that had ended
  before the call survives `kill -9` of this process, and power loss.
* **At least once, with the effect of exactly once.** After a crash a document may be
  written again. Of all versions written under one graph name the one with the highest
  `version_ms` counts and replaces the others, whoever wrote it; the same version
  written twice is there once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from rdfcrawl.pieces import DeflatePiece, PieceOrder


class DocumentWriter(Protocol):
    """One document on its way into one store."""

    async def write(self, chunk: bytes) -> None:
        """Take the next statements.

        Args:
            chunk: N-Quads, at most about 256 KiB, the last line ended; statements
                only, no comments.

        Raises:
            StoreFault: not taken; `abandon` the document.
        """

    async def end(self) -> None:
        """Make the document part of the store.

        Raises:
            StoreFault: it is not; `abandon` it.
        """

    async def abandon(self) -> None:
        """Forget what was written of a document; no effect after `end`."""


class Store(Protocol):
    """Takes documents as N-Quads; several may be open at once in one event loop."""

    async def open(self) -> None:
        """Prepare the store, and repair what a crash has left.

        Raises:
            ConfigError: the store cannot work as it is configured.
            StoreFault: it cannot be reached or read.
        """

    async def begin(self, graph: str, version_ms: int) -> DocumentWriter:
        """Open a document.

        Args:
            graph: IRI of the document; its statements may name other graphs too.
            version_ms: begin of its fetch, Unix time in ms. A document that was
                written with no statements is one that has none any more.

        Raises:
            StoreFault: the store takes nothing now.
        """

    async def flush(self) -> None:
        """Return when every document that has ended will survive a crash.

        Raises:
            StoreFault: they may not; what was not acknowledged is crawled again.
        """

    async def close(self) -> None:
        """Flush, and let go of the store; open documents are forgotten.

        Raises:
            StoreFault: as `flush`; the store is closed all the same.
        """


class PieceWriter(DocumentWriter, Protocol):
    """One document on its way into a store that takes packed pieces."""

    async def write_piece(self, piece: DeflatePiece) -> None:
        """Take the next statements, packed as `order` says; then only pieces.

        Raises:
            StoreFault: not taken; `abandon` the document.
        """


@runtime_checkable
class PackingStore(Store, Protocol):
    """What a store may offer beyond `Store`, to be written to at less cost.

    Its `begin` returns a `PieceWriter`.
    """

    def put(self, graph: str, version_ms: int, statements: bytes) -> None:
        """Take a whole document at once, as `begin`, `write` and `end` do.

        Args:
            graph: as for `begin`.
            version_ms: as for `begin`.
            statements: as for `DocumentWriter.write`.

        Raises:
            StoreFault: the store takes nothing now; it has nothing of the document.
        """

    def order(self, graph: str, version_ms: int) -> PieceOrder:
        """Return how the statements of a document can be packed elsewhere."""
