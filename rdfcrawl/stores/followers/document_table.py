"""Table of the latest version of each document, with statements: a SQLite file.

For stores that publish documents in other files. The table has the documents taken from
logs, in one transaction with the checkpoint, and marks documents that differ from the
published ones: the *changed* ones. Documents are in *parts*; each part is published in
separate files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyoxigraph as ox
from lz4 import block

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.followers.local_disk import DocumentsFile, key_of
from rdfcrawl.stores.followers.protocol import DocumentRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from rdfcrawl.stores.crawl_folder import LogIdentity
    from rdfcrawl.stores.log.documents import LogDocument

# version, log, generation: of the version read last. since_ms: the first version with
# the same statements. file: number of a published file.
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS layout (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
    key BLOB PRIMARY KEY, iri TEXT NOT NULL, part TEXT NOT NULL,
    version INTEGER NOT NULL, digest BLOB NOT NULL, since_ms INTEGER NOT NULL,
    n_statements INTEGER NOT NULL, log TEXT, generation INTEGER,
    is_changed INTEGER NOT NULL, file INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS changed ON documents (part, iri) WHERE is_changed;
CREATE INDEX IF NOT EXISTS shown ON documents (file) WHERE file IS NOT NULL;
CREATE TABLE IF NOT EXISTS pieces (
    document BLOB NOT NULL, number INTEGER NOT NULL, lines BLOB NOT NULL,
    PRIMARY KEY (document, number)
);
"""
_PUT: Final = """
INSERT INTO documents VALUES (?1, ?2, ?3, ?4, ?5, ?4, ?6, ?7, ?8, 1, NULL)
ON CONFLICT (key) DO UPDATE SET part = ?3, version = ?4, digest = ?5, since_ms = ?4,
    n_statements = ?6, log = ?7, generation = ?8, is_changed = 1
"""
_OF_PART: Final = """
SELECT key, iri, since_ms, n_statements FROM documents WHERE part = ? ORDER BY iri
"""
_CHANGED_OF_PART: Final = _OF_PART.replace("WHERE", "WHERE is_changed AND")
_READ_PIECES: Final = 4  # some 256 KiB each
_CACHE_KIB: Final = 32 * 1024
_HELD_BYTES: Final = 1024 * 1024  # of a document whose repeated lines are dropped
# RDF 1.2 N-Quads, "Canonical Form", in a graph; the terms themselves were checked.
_STATEMENTS: Final = re.compile(
    rb"(?:(?:<[^<> \n]*+>|_:[^ \n]++) <[^<> \n]*+> "
    rb'(?:<[^<> \n]*+>|_:[^ \n]++|"(?:[^"\\\n]++|\\(?:[tbnrf"' + rb"'" + rb"\\]|"
    rb"u(?![Dd][89A-Fa-f])[0-9A-Fa-f]{4}|U00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4}))*+"
    rb'"(?:@[A-Za-z0-9]++(?:-[A-Za-z0-9]++)*+(?:--[a-z]++)?+|\^\^<[^<> \n]*+>)?+'
    rb"|<<\( [^\n]* \)>>) <[^<> \n]*+> \.\n)*+"
).fullmatch


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document to publish.

    Attributes:
        key: of its IRI.
        iri: of the document.
        since_ms: first version with its statements.
        n_statements: in it; 0: not published.
    """

    key: bytes
    iri: str
    since_ms: int
    n_statements: int


class DocumentTable(DocumentsFile):
    """The documents of one store.

    Args:
        path: of the file.
        part_of: returns the part of a document, by IRI and version.
        layout: how the documents are published; fixed when the store is created.

    Raises:
        ConfigError: the file has another layout.
        OSError, sqlite3.DatabaseError: the file cannot be used.
    """

    def __init__(
        self, path: Path, part_of: Callable[[str, int], str], layout: dict[str, str]
    ) -> None:
        self._part_of = part_of
        super().__init__(path, f"PRAGMA cache_size = -{_CACHE_KIB};{_SCHEMA}")
        try:
            self._check(path, layout)
        except BaseException:
            self.db.close()
            raise

    def _check(self, path: Path, layout: dict[str, str]) -> None:
        found = dict(self.db.execute("SELECT name, value FROM layout"))
        for name, value in found.items():
            if layout.get(name) != value:
                raise ConfigError(
                    f"{path.parent}: was created with {name}={value}; delete the"
                    " store to fill it with the new value"
                )
        rows = layout.items()
        self.db.executemany("INSERT OR REPLACE INTO layout VALUES (?, ?)", rows)

    def put(self, documents: Iterable[LogDocument], log: LogIdentity) -> None:
        """Replace documents with these versions, unless there are later ones.

        Raises:
            DocumentRefused: a document has lines that are not statements in a graph.
        """
        self.begin()
        try:
            for document in documents:
                self._put(document, log)
        except BaseException:
            self.roll_back()
            raise

    def _put(self, document: LogDocument, log: LogIdentity) -> None:
        if not self.lacks(document, log):
            return
        key = key_of(document.graph.encode())
        self.db.execute("DELETE FROM pieces WHERE document = ?", [key])
        n_statements = self._put_pieces(key, document)
        part = self._part_of(document.graph, document.version_ms)
        row = [key, document.graph, part, *document.version, n_statements]
        self.db.execute(_PUT, [*row, log.log, log.generation])

    def _put_pieces(self, key: bytes, document: LogDocument) -> int:
        n_statements = 0
        is_held = document.n_bytes <= _HELD_BYTES
        for number, piece in enumerate(document.pieces()):
            lines = _checked(document.graph, piece)
            if is_held:
                lines = _without_repetitions(lines)
            n_statements += lines.count(b"\n")
            packed = block.compress(lines)
            self.db.execute(
                "INSERT INTO pieces VALUES (?, ?, ?)", [key, number, packed]
            )
        return n_statements

    def pieces(self, key: bytes) -> Iterator[bytes]:
        """Yield the statements of a document in pieces of complete lines."""
        number, n_read = -1, _READ_PIECES
        while n_read == _READ_PIECES:
            rows = self.db.execute(
                "SELECT number, lines FROM pieces WHERE document = ? AND number > ?"
                " ORDER BY number LIMIT ?",
                [key, number, _READ_PIECES],
            ).fetchall()
            n_read = len(rows)
            number = rows[-1][0] if rows else number
            yield from (block.decompress(lines) for _, lines in rows)

    @property
    def has_changes(self) -> bool:
        """Whether a document differs from its published version."""
        found = self.db.execute("SELECT 1 FROM documents WHERE is_changed LIMIT 1")
        return found.fetchone() is not None

    def changed(self, part: str) -> Iterator[StoredDocument]:
        """Yield the changed documents of a part in the order of their IRIs."""
        return (
            StoredDocument(*row) for row in self.db.execute(_CHANGED_OF_PART, [part])
        )

    def changed_parts(self, n_most: int) -> list[str]:
        """Return at most `n_most` parts with changed documents."""
        rows = self.db.execute(
            "SELECT DISTINCT part FROM documents WHERE is_changed LIMIT ?", [n_most]
        )
        return [part for (part,) in rows]

    def documents(self, part: str) -> Iterator[StoredDocument]:
        """Yield all documents of a part in the order of their IRIs."""
        return (StoredDocument(*row) for row in self.db.execute(_OF_PART, [part]))

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield the IRI and part of each document."""
        return self.db.execute("SELECT iri, part FROM documents")

    def settle(self, parts: Iterable[str], *, is_kept: bool) -> None:
        """Note that parts are published.

        Args:
            parts: of documents.
            is_kept: keep their statements for later.
        """
        rows = [[part] for part in parts]
        self.begin()
        if not is_kept:
            self.db.executemany(
                "DELETE FROM pieces WHERE document IN"
                " (SELECT key FROM documents WHERE is_changed AND part = ?)",
                rows,
            )
        self.db.executemany(
            "UPDATE documents SET is_changed = 0 WHERE is_changed AND part = ?", rows
        )
        self.db.execute("COMMIT")


def _checked(document: str, piece: bytes) -> bytes:
    """Return lines of canonical N-Quads.

    Raises:
        DocumentRefused: the lines are not statements in a graph.
    """
    try:
        piece.decode()
        if _STATEMENTS(piece):
            return piece
        quads = list(ox.parse(piece, format=ox.RdfFormat.N_QUADS, lenient=True))
    except (SyntaxError, ValueError) as error:
        raise DocumentRefused(document, str(error)) from error
    lines = ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b""
    if not _STATEMENTS(lines):
        raise DocumentRefused(document, "a statement is in no graph")
    return lines


def _without_repetitions(lines: bytes) -> bytes:
    each = lines.splitlines(keepends=True)
    return lines if len(set(each)) == len(each) else b"".join(dict.fromkeys(each))
