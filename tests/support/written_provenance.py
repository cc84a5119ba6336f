"""Provenance as a crawl would write it, from a list of documents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rdfcrawl.stores.segments import QuadSegments
from tests.support.described_documents import block_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rdfcrawl.core.records import Document


def write_provenance(
    root: Path, documents: Iterable[Document], worker: str = "w"
) -> None:
    """Append the provenance of documents to that in a folder, in one member."""
    asyncio.run(_write(root, documents, worker))


async def _write(root: Path, documents: Iterable[Document], worker: str) -> None:
    segments = QuadSegments(root / "provenance", worker, form="jsonl")
    segments.write_document(block_of(*documents))
    await segments.flush()
    await segments.close()
