"""The ledger of a store: which version of each document it has, and in which graphs.

Most documents write only into their own graph, which is then replaced as a unit. A
document may name other graphs, and several may write into one; such a graph is
*shared*. For a shared graph, the ledger has the statements of each document, so that a
statement leaves the graph with the last document that contains it.

Store and ledger cannot be written in one transaction. So the planned writes of a
document are noted before the store is changed, in addition to its earlier writes.
`commit` deletes the earlier ones, when the store has the new ones. At any time, the
ledger names all graphs and statements that may be in the store.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.stores.followers.local_disk import DocumentsFile, key_of
from rdfcrawl.stores.log.documents import Checkpoint, LogDocument, latest_versions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rdfcrawl.stores.crawl_folder import LogIdentity

# is_settled, is_new: see the module. A graph or document is identified by its key; that
# of a document is the key of its own graph.
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS documents (
    key BLOB PRIMARY KEY, iri TEXT NOT NULL, version INTEGER NOT NULL,
    digest BLOB NOT NULL, is_settled INTEGER NOT NULL, log TEXT, generation INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS unsettled ON documents (key) WHERE NOT is_settled;
CREATE TABLE IF NOT EXISTS writes (
    graph BLOB, document BLOB, is_new INTEGER NOT NULL, PRIMARY KEY (graph, document)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS writes_of_document ON writes (document, graph);
CREATE TABLE IF NOT EXISTS graphs (
    key BLOB PRIMARY KEY, iri TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS shared (graph BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS parts (
    document BLOB NOT NULL, is_new INTEGER NOT NULL, lines BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS parts_of_document ON parts (document);
CREATE TABLE IF NOT EXISTS claims (
    statement BLOB, document BLOB, PRIMARY KEY (statement, document)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS orphans (line BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TEMP TABLE fresh (graph BLOB, document BLOB, PRIMARY KEY (graph, document));
CREATE TEMP TABLE applied (document BLOB PRIMARY KEY);
"""
_SHARED_OF_DOCUMENT: Final = """
SELECT graph FROM writes AS mine WHERE document = ?1 AND (
    graph IN (SELECT graph FROM shared)
    OR EXISTS (SELECT 1 FROM writes WHERE graph = mine.graph AND document <> ?1)
    OR EXISTS (SELECT 1 FROM documents WHERE key = mine.graph))
UNION SELECT ?1 WHERE EXISTS (SELECT 1 FROM writes WHERE graph = ?1)
"""
_CONTRIBUTORS: Final = """
SELECT document FROM (
    SELECT document FROM writes WHERE graph = ?1
    UNION SELECT key FROM documents WHERE key = ?1)
WHERE (?1, document) NOT IN (SELECT graph, document FROM fresh)
"""
_PUT: Final = """
INSERT INTO documents VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6) ON CONFLICT (key) DO UPDATE
SET version = ?3, digest = ?4, is_settled = 0, log = ?5, generation = ?6
"""


@dataclass(frozen=True, slots=True)
class WrittenGraphs:
    """The graphs that a document writes, or has written.

    Attributes:
        former: names of graphs that may have statements of an earlier version.
        shared: keys of graphs that other documents write, too.
    """

    former: tuple[str, ...]
    shared: frozenset[bytes]


class DocumentLedger(DocumentsFile):
    """Table of the documents in one store, in a file of SQLite.

    Args:
        path: of the file.

    Attributes:
        had_statements: the store had statements before its first document.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, _SCHEMA)
        self._has_foreign = True  # whether documents write graphs other than their own
        (found,) = self.db.execute("PRAGMA user_version").fetchone()
        self.had_statements = bool(found)

    def note_statements(self, *, had_any: bool) -> None:
        """Note whether the store had statements before its first document."""
        self.db.execute(f"PRAGMA user_version = {int(had_any)}")
        self.had_statements = had_any

    @property
    def is_empty(self) -> bool:
        """Whether the ledger has never had a document."""
        return self.db.execute("SELECT 1 FROM documents LIMIT 1").fetchone() is None

    def commit(self, checkpoint: Checkpoint) -> None:
        """Note that the store has committed everything noted before."""
        with self.transaction():
            self.db.execute(
                "DELETE FROM writes WHERE NOT is_new AND document IN applied"
            )
            self.db.execute("UPDATE documents SET is_settled = 1 WHERE key IN applied")
            self.db.execute("DELETE FROM applied")
            self.db.execute("DELETE FROM orphans")
            self.put_checkpoint(checkpoint)

    def newer(
        self, documents: Iterable[LogDocument], log: LogIdentity
    ) -> list[LogDocument]:
        """Return the latest versions among `documents` that the store lacks.

        If the statements are unchanged, only the time of the version is updated.
        """
        self.db.execute("DELETE FROM fresh")
        found = self.db.execute("SELECT 1 FROM writes LIMIT 1").fetchone()
        self._has_foreign = found is not None
        wanted = []
        for graph, document in latest_versions(documents).items():
            key = key_of(graph.encode())
            row = self.db.execute(
                "SELECT version, digest, is_settled FROM documents WHERE key = ?", [key]
            ).fetchone()
            version, digest, is_settled = row or (-1, b"", True)
            is_later = document.version > (version, digest)
            if is_settled and is_later and document.digest == digest:
                self.note_time(key, document, log)
            elif is_later or (not is_settled and document.version == (version, digest)):
                wanted.append(document)
        return wanted

    def note_planned(
        self, document: LogDocument, graphs: Iterable[str], log: LogIdentity
    ) -> None:
        """Note a version and its graphs before the store is changed."""
        key = key_of(document.graph.encode())
        self.db.execute(
            "INSERT OR IGNORE INTO fresh SELECT ?1, ?1"
            " WHERE NOT EXISTS (SELECT 1 FROM documents WHERE key = ?1)",
            [key],
        )
        if self._has_foreign:
            self.db.execute("UPDATE writes SET is_new = 0 WHERE document = ?", [key])
        for graph in graphs:
            self._note_graph(key, graph)
        row = [key, document.graph, *document.version, log.log, log.generation]
        self.db.execute(_PUT, row)

    def _note_graph(self, document: bytes, graph: str) -> None:
        self._has_foreign = True
        key = key_of(graph.encode())
        is_known = self.db.execute(
            "UPDATE writes SET is_new = 1 WHERE graph = ? AND document = ?",
            [key, document],
        ).rowcount
        if not is_known:
            self.db.execute("INSERT INTO writes VALUES (?, ?, 1)", [key, document])
            self.db.execute("INSERT INTO fresh VALUES (?, ?)", [key, document])
            self.db.execute("INSERT OR IGNORE INTO graphs VALUES (?, ?)", [key, graph])

    def note_applied(self, documents: Iterable[LogDocument]) -> None:
        """Note that the store has these documents; `commit` settles them."""
        self.db.executemany(
            "INSERT OR IGNORE INTO applied VALUES (?)",
            ([key_of(document.graph.encode())] for document in documents),
        )

    def graphs_of(self, document: LogDocument) -> WrittenGraphs:
        """Return the graphs of a document noted by `note_planned`."""
        key = key_of(document.graph.encode())
        is_new = self.db.execute(
            "SELECT 1 FROM fresh WHERE graph = ?1 AND document = ?1", [key]
        ).fetchone()
        own = [] if is_new else [document.graph]
        if not self._has_foreign:
            return WrittenGraphs((*own,), frozenset())
        former = self.db.execute(
            "SELECT iri FROM writes JOIN graphs ON graph = key WHERE document = ?1"
            " AND (graph, document) NOT IN (SELECT graph, document FROM fresh)",
            [key],
        )
        names = [iri for (iri,) in former]
        shared = self.db.execute(_SHARED_OF_DOCUMENT, [key])
        return WrittenGraphs((*own, *names), frozenset(graph for (graph,) in shared))

    def share(self, graph: bytes) -> tuple[str, bytes | None] | None:
        """Note that several documents write a graph; None if this is known.

        Returns:
            Its name, and the only document that has written it so far, if any.
        """
        noted = self.db.execute("INSERT OR IGNORE INTO shared VALUES (?)", [graph])
        if not noted.rowcount:
            return None
        name = self.db.execute(
            "SELECT iri FROM graphs WHERE key = ?1"
            " UNION SELECT iri FROM documents WHERE key = ?1",
            [graph],
        ).fetchone()[0]
        first = self.db.execute(_CONTRIBUTORS, [graph]).fetchone()
        return name, first[0] if first else None

    def supersede(self, document: bytes) -> None:
        """Mark the statements of a document in shared graphs as of an earlier version.

        `release` removes them.
        """
        self.db.execute("UPDATE parts SET is_new = 0 WHERE document = ?", [document])

    def claim(self, document: bytes, lines: bytes, *, is_new: bool) -> None:
        """Note statements of a document in shared graphs, in the form of the store."""
        if not lines:
            return
        self.db.execute(
            "INSERT INTO parts VALUES (?, ?, ?)",
            [document, is_new, zlib.compress(lines, 1)],
        )
        self.db.executemany(
            "INSERT OR IGNORE INTO claims VALUES (?, ?)",
            ((key_of(line), document) for line in lines.splitlines(keepends=True)),
        )

    def release(self, document: bytes) -> None:
        """Withdraw the former statements of a document in shared graphs."""
        kept = {
            key_of(line)
            for part in self._parts(document, is_new=True)
            for line in part.splitlines(keepends=True)
        }
        for part in self._parts(document, is_new=False):
            for line in part.splitlines(keepends=True):
                key = key_of(line)
                if key in kept:
                    continue
                self.db.execute(
                    "DELETE FROM claims WHERE statement = ? AND document = ?",
                    [key, document],
                )
                self.db.execute(
                    "INSERT OR IGNORE INTO orphans SELECT ?2 WHERE NOT EXISTS"
                    " (SELECT 1 FROM claims WHERE statement = ?1)",
                    [key, line],
                )
        self.db.execute(
            "DELETE FROM parts WHERE document = ? AND NOT is_new", [document]
        )

    def _parts(self, document: bytes, *, is_new: bool) -> list[bytes]:
        rows = self.db.execute(
            "SELECT lines FROM parts WHERE document = ? AND is_new = ?",
            [document, is_new],
        )
        return [zlib.decompress(lines) for (lines,) in rows]

    def orphans(self) -> list[bytes]:
        """Return statements of shared graphs that no document contains any longer."""
        rows = self.db.execute("SELECT line FROM orphans").fetchall()
        return [line for (line,) in rows if not self._is_claimed(line)]

    def _is_claimed(self, line: bytes) -> bool:
        query = "SELECT 1 FROM claims WHERE statement = ? LIMIT 1"
        return self.db.execute(query, [key_of(line)]).fetchone() is not None
