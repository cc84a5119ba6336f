"""Export identical statements once, for the first document in the log."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rdfcrawl.stores.followers.statement_hash import hash_statements
from rdfcrawl.stores.followers.stored_once import linked_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.stores.log.documents import LogDocument


def iter_once(
    documents: Iterable[LogDocument], scratch: Path | None
) -> Iterator[LogDocument]:
    """Yield documents; those with the same statements as an earlier one become links.

    Args:
        documents: each once.
        scratch: folder of a temporary file; by default that of the system.

    Raises:
        OSError: a disk cannot be read, or the scratch folder is full.
    """
    with _table(scratch) as table:
        for document in documents:
            content = hash_statements(document).digest
            first = content and _first(table, content, document.graph)
            if first and first != document.graph:
                yield linked_document(document.graph, document.version_ms, first, 0)
            else:
                yield document


@contextmanager
def _table(scratch: Path | None) -> Iterator[sqlite3.Connection]:
    """Create a table of contents for the duration of the context."""
    with TemporaryDirectory(dir=scratch, prefix="export-") as name:
        table = sqlite3.connect(Path(name) / "contents.sqlite", isolation_level=None)
        try:
            table.execute("PRAGMA journal_mode = OFF")  # not used after a crash
            table.execute("PRAGMA synchronous = OFF")
            table.execute(
                "CREATE TABLE contents (content BLOB PRIMARY KEY, document TEXT)"
                " WITHOUT ROWID"
            )
            yield table
        except sqlite3.OperationalError as error:
            raise OSError(f"the scratch folder: {error}") from error
        finally:
            table.close()


def _first(table: sqlite3.Connection, content: bytes, graph: str) -> str:
    """Return the first document with this content, which may be the given one."""
    table.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", [content, graph])
    found = table.execute("SELECT document FROM contents WHERE content = ?", [content])
    return str(found.fetchone()[0])
