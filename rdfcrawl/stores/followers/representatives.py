"""Table of duplicates in one store, and of the documents that represent them.

Of documents with the same statements, one *represents* the others, its *duplicates*.
The invariant at the end of each transaction: the representative of a duplicate has the
same statements as the duplicate, and is not a duplicate itself. All changes are marked
as *pending* in the same transaction, until the store has them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

from rdfcrawl.stores.followers.local_disk import DurableFile, key_of
from rdfcrawl.stores.followers.statements import StatementHash, hash_statements
from rdfcrawl.stores.log.documents import DocumentPlace, LogDocument

# A document is identified by its key. content: hash of its statements, if comparable.
# turn: in which its representative was chosen.
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS documents (
    key BLOB PRIMARY KEY, iri TEXT NOT NULL, version INTEGER NOT NULL,
    digest BLOB NOT NULL, content BLOB, n_statements INTEGER NOT NULL,
    n_bytes INTEGER NOT NULL, representative BLOB, turn INTEGER NOT NULL,
    is_pending INTEGER NOT NULL, generation INTEGER NOT NULL, segment TEXT NOT NULL,
    "offset" INTEGER NOT NULL, length INTEGER NOT NULL, ordinal INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS duplicates ON documents (
    representative, n_statements, n_bytes) WHERE representative IS NOT NULL;
CREATE INDEX IF NOT EXISTS pending ON documents (key) WHERE is_pending;
CREATE TABLE IF NOT EXISTS contents (
    content BLOB PRIMARY KEY, representative BLOB NOT NULL,
    n_duplicates INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS turns (
    id INTEGER NOT NULL, prepared INTEGER NOT NULL, settled INTEGER NOT NULL
);
"""
_PUT: Final = """
INSERT OR REPLACE INTO documents
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
"""
_ROW: Final = (
    "SELECT key, iri, version, digest, content, representative, turn, generation,"
    ' segment, "offset", length, ordinal FROM documents'
)
MAX_DUPLICATES: Final = 1000
"""Limit of one representative: when it changes, all of them are rewritten."""


class KnownDocument(NamedTuple):
    """A document and its latest known version.

    Attributes:
        key: of its IRI.
        iri: of the document.
        version_ms: of its latest version.
        digest: of that version.
        content: hash of its statements; None: not comparable.
        representative: key of its representative; None: not a duplicate.
        turn: in which the representative was chosen.
        generation: of the log that has the version.
        place: of the version in that log.
    """

    key: bytes
    iri: str
    version_ms: int
    digest: bytes
    content: bytes | None
    representative: bytes | None
    turn: int
    generation: int
    place: DocumentPlace

    @classmethod
    def of(cls, row: tuple[object, ...]) -> Self:
        """Return the document of a row."""
        return cls(*row[:8], DocumentPlace(*row[8:]))  # type: ignore[arg-type, call-arg]

    @property
    def version(self) -> tuple[int, bytes]:
        """Order of the versions of a document."""
        return self.version_ms, self.digest


class DuplicateTotals(NamedTuple):
    """Size of the duplicates, which are stored once.

    Attributes:
        n_documents: duplicates.
        n_statements: in them.
        n_bytes: length of these statements, as N-Quads.
    """

    n_documents: int = 0
    n_statements: int = 0
    n_bytes: int = 0


class RepresentativeTable(DurableFile):
    """The documents of one store, in a SQLite file.

    Args:
        path: of the file.

    Raises:
        sqlite3.DatabaseError: the file is damaged, or the disk cannot be used.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, _SCHEMA)

    def turns(self) -> tuple[int, int, int]:
        """Return the table's number, and the turns prepared and settled; 0 if new."""
        row = self.db.execute("SELECT id, prepared, settled FROM turns").fetchone()
        return row or (0, 0, 0)

    def note_turns(self, number: int, prepared: int, settled: int) -> None:
        """Replace the table's number, and its turns."""
        self.db.execute("DELETE FROM turns")
        self.db.execute(
            "INSERT INTO turns VALUES (?, ?, ?)", [number, prepared, settled]
        )

    def find(self, graph: str) -> KnownDocument | None:
        """Return a document by its IRI."""
        key = key_of(graph.encode())
        row = self.db.execute(f"{_ROW} WHERE key = ?", [key]).fetchone()
        return KnownDocument.of(row) if row else None

    def name_of(self, key: bytes) -> str:
        """Return the IRI of a document."""
        row = self.db.execute("SELECT iri FROM documents WHERE key = ?", [key])
        return str(row.fetchone()[0])

    def pending(self) -> Iterator[list[KnownDocument]]:
        """Yield the pending documents, at most 1,000 at a time, in order of place."""
        last = b""
        while rows := self.db.execute(
            f"{_ROW} WHERE is_pending AND key > ? ORDER BY key LIMIT 1000", [last]
        ).fetchall():
            last = rows[-1][0]
            found = [KnownDocument.of(row) for row in rows]
            yield sorted(found, key=lambda each: (each.generation, each.place))

    def settle(self, keys: Collection[bytes]) -> None:
        """Note that the store has these documents."""
        self.db.executemany(
            "UPDATE documents SET is_pending = 0 WHERE key = ?", ([x] for x in keys)
        )

    def earlier(self, generation: int) -> Iterator[tuple[str, int]]:
        """Yield documents of earlier generations that have statements."""
        return self.documents_where("generation < ? AND n_bytes > 0", generation)

    def totals(self) -> DuplicateTotals:
        """Return the size of all duplicates."""
        found = self.db.execute(
            "SELECT count(*), coalesce(sum(n_statements), 0), coalesce(sum(n_bytes), 0)"
            " FROM documents WHERE representative IS NOT NULL"
        )
        return DuplicateTotals(*found.fetchone())


class RepresentativeChoice:
    """The choice of representatives in one turn, within a transaction.

    Args:
        table: to change.
        turn: its number.
        generation: of the log.
        refused: documents that the store refuses, with the times of their versions.
        is_last: earlier generations are being dropped, and represent nothing.
    """

    def __init__(
        self,
        table: RepresentativeTable,
        turn: int,
        generation: int,
        *,
        refused: Collection[tuple[str, int]] = (),
        is_last: bool = False,
    ) -> None:
        self._table, self._db = table, table.db
        self._turn, self._generation = turn, generation
        self._refused, self._is_last = refused, is_last

    def exclude_refused(self) -> None:
        """Exclude documents that the store refuses from comparison."""
        for graph, version_ms in self._refused:
            known = self._table.find(graph)
            if known is not None and known.version_ms == version_ms:
                self._exclude(known)

    def add(self, document: LogDocument) -> bool:
        """Note a version of a document; return False if it is outdated."""
        known = self._table.find(document.graph)
        if known is not None:
            if document.version < known.version:
                return False
            if document.version == known.version:
                self._move(known, document)
                return True
        content = self._hash(document)
        representative, turn = None, self._turn
        if known is not None and known.content and known.content == content.digest:
            representative, turn = known.representative, known.turn
        else:
            if known is not None:
                self._leave_group(known)
            key = key_of(document.graph.encode())
            representative = self._join_group(content.digest, key)
        row = [key_of(document.graph.encode()), document.graph, *document.version]
        row += [content.digest, content.n_statements, document.n_bytes]
        row += [representative, turn]
        # A dropped document is in no log, so it is not read again.
        row += [self._is_last, self._generation, *document.place]
        self._db.execute(_PUT, row)
        return True

    def _hash(self, document: LogDocument) -> StatementHash:
        is_refused = (document.graph, document.version_ms) in self._refused
        if document.is_tombstone or is_refused or not may_be_hidden(document):
            return StatementHash(None, 0)
        return hash_statements(document)

    def _move(self, known: KnownDocument, document: LogDocument) -> None:
        """Note the new position of a known version, whose segment was rewritten."""
        if (known.generation, known.place) != (self._generation, document.place):
            self._db.execute(
                'UPDATE documents SET generation = ?, segment = ?, "offset" = ?,'
                " length = ?, ordinal = ? WHERE key = ?",
                [self._generation, *document.place, known.key],
            )

    def _exclude(self, known: KnownDocument) -> None:
        """Stop comparing a document with others."""
        self._leave_group(known)
        self._db.execute(
            "UPDATE documents SET content = NULL, representative = NULL WHERE key = ?",
            [known.key],
        )

    def _join_group(self, content: bytes | None, key: bytes) -> bytes | None:
        """Return the representative of a document; None if there is no other."""
        if content is None:
            return None
        row = self._db.execute(
            "SELECT representative, n_duplicates FROM contents WHERE content = ?",
            [content],
        ).fetchone()
        if row is not None and row[1] < MAX_DUPLICATES:
            self._db.execute(
                "UPDATE contents SET n_duplicates = n_duplicates + 1 WHERE content = ?",
                [content],
            )
            return bytes(row[0])
        self._db.execute(
            "INSERT OR REPLACE INTO contents VALUES (?, ?, 0)", [content, key]
        )
        return None

    def _leave_group(self, known: KnownDocument) -> None:
        """Remove a document from its group; replace it if it is the representative."""
        if known.content is None:
            return
        if known.representative is not None:
            self._db.execute(
                "UPDATE contents SET n_duplicates = n_duplicates - 1"
                " WHERE content = ? AND representative = ?",
                [known.content, known.representative],
            )
            return
        duplicates = self._duplicates_of(known.key)
        candidates = [each for each in duplicates if self._may_represent(each)]
        if not candidates:
            self._db.execute(
                "DELETE FROM contents WHERE content = ? AND representative = ?",
                [known.content, known.key],
            )
            self._dissolve(known.key)
            return
        best = min(candidates, key=lambda each: rank_of(each.iri))
        self._replace(known, best.key, len(duplicates) - 1)

    def _duplicates_of(self, key: bytes) -> list[KnownDocument]:
        rows = self._db.execute(f"{_ROW} WHERE representative = ?", [key])
        return [KnownDocument.of(row) for row in rows.fetchall()]

    def _may_represent(self, known: KnownDocument) -> bool:
        if (known.iri, known.version_ms) in self._refused:
            return False
        return not self._is_last or known.generation == self._generation

    def _dissolve(self, key: bytes) -> None:
        """Store all duplicates with their statements: none can represent others."""
        self._db.execute(
            "UPDATE documents SET content = NULL, representative = NULL, is_pending = ?"
            " WHERE representative = ?",
            [not self._is_last, key],
        )

    def _replace(self, former: KnownDocument, key: bytes, n_duplicates: int) -> None:
        """Replace a representative by another document."""
        self._db.execute(
            "UPDATE documents SET representative = NULL, is_pending = 1 WHERE key = ?",
            [key],
        )
        self._db.execute(
            "UPDATE documents SET representative = ?, turn = ?, is_pending = 1"
            " WHERE representative = ?",
            [key, self._turn, former.key],
        )
        self._db.execute(
            "UPDATE contents SET representative = ?, n_duplicates = ?"
            " WHERE content = ? AND representative = ?",
            [key, n_duplicates, former.content, former.key],
        )


def rank_of(graph: str) -> tuple[int, str]:
    """Return the rank of a representative: the shortest first, then by bytes."""
    return len(graph), graph


_HIDDEN: Final = bytes(4)


def may_be_hidden(document: LogDocument) -> bool:
    """Return whether the version sorts behind each `hidden_digest`."""
    return not document.digest.startswith(_HIDDEN)


def hidden_digest(turn: int, link: bytes) -> bytes:
    """Return the digest of a duplicate's version, without its statements.

    It sorts before the same version with its statements, and behind choices of earlier
    turns.

    Args:
        turn: in which the representative was chosen.
        link: the stored statement.
    """
    return _HIDDEN + turn.to_bytes(6, "big") + key_of(link)[:6]
