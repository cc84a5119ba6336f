"""Results of the validation of each document: a table in SQLite, and its report."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Final, TextIO

from rdfcrawl.core.messages import counted
from rdfcrawl.stores.followers.ledger import key_of
from rdfcrawl.stores.followers.local_disk import (
    CHECKPOINT_TABLES,
    read_checkpoint,
    write_checkpoint,
)
from rdfcrawl.uri.hosts import host_of_iri

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdfcrawl.stores.crawl_folder import LogIdentity
    from rdfcrawl.stores.log.documents import Checkpoint, LogDocument
    from rdfcrawl.stores.shapes.validator import ShapeFindings

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS shapes (digest BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS documents (
    key BLOB PRIMARY KEY, iri TEXT NOT NULL, host TEXT NOT NULL,
    version INTEGER NOT NULL, digest BLOB NOT NULL, log TEXT, generation INTEGER,
    is_gone INTEGER NOT NULL, n_violations INTEGER NOT NULL,
    n_warnings INTEGER NOT NULL, n_others INTEGER NOT NULL,
    skipped TEXT NOT NULL, detail TEXT NOT NULL, named TEXT NOT NULL
) WITHOUT ROWID;
"""
_COUNTS: Final = """
SELECT host, COUNT(*), SUM(skipped <> ''), SUM(n_violations > 0), SUM(n_violations),
    SUM(n_warnings), SUM(n_others)
FROM documents WHERE NOT is_gone GROUP BY host ORDER BY SUM(n_violations) DESC, host
"""
_COLUMNS: Final = (
    *("documents", "skipped", "violating", "violations", "warnings", "others"),
)
_MAX_DOCUMENTS: Final = 10_000  # in the report
_SHOWN_HOSTS: Final = 50
_FOUND: Final = """
SELECT iri, skipped, detail, n_violations, n_warnings, n_others, named FROM documents
WHERE NOT is_gone AND (n_violations + n_warnings + n_others > 0 OR skipped <> '')
ORDER BY n_violations DESC, iri LIMIT ?
"""


class FindingsTable:
    """Table of the results for the latest version of each document.

    Changes are durable after `commit`.

    Args:
        path: of the database.
        shapes: digest of the shapes; results of other shapes are deleted.
    """

    def __init__(self, path: Path, shapes: bytes) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        try:
            self._prepare(shapes)
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, shapes: bytes) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.executescript(CHECKPOINT_TABLES + _SCHEMA)
        known = self._db.execute("SELECT digest FROM shapes").fetchone()
        if known != (shapes,):
            self.begin()
            for table in ("shapes", "documents", "logs", "offsets"):
                self._db.execute(f"DELETE FROM {table}")  # noqa: S608  # our names
            self._db.execute("INSERT INTO shapes VALUES (?)", [shapes])
            self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the table without committing."""
        self._db.close()

    def checkpoint(self, log: str) -> Checkpoint | None:
        """Return the checkpoint of the last commit for a log."""
        return read_checkpoint(self._db, log)

    def begin(self) -> None:
        """Begin a transaction, unless one is open."""
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def undo(self) -> None:
        """Undo all changes since the last commit."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def commit(self, checkpoint: Checkpoint) -> None:
        """Make all changes durable, with a checkpoint."""
        self.begin()
        write_checkpoint(self._db, checkpoint)
        self._db.execute("COMMIT")

    def needs_validation(self, document: LogDocument, log: LogIdentity) -> bool:
        """Return whether to validate a version; update the time of an equal one."""
        key = key_of(document.graph.encode())
        found = self._db.execute(
            "SELECT version, digest FROM documents WHERE key = ?", [key]
        ).fetchone()
        if found is not None and document.version <= found:
            return False
        if found is not None and document.digest == found[1]:
            self._db.execute(
                "UPDATE documents SET version = ?, log = ?, generation = ?"
                " WHERE key = ?",
                [document.version_ms, log.log, log.generation, key],
            )
            return False
        return True

    def put(
        self, document: LogDocument, found: ShapeFindings, log: LogIdentity
    ) -> None:
        """Replace the results for a document."""
        counts = dict(found.counts)
        violations = counts.pop("Violation", 0)
        warnings = counts.pop("Warning", 0)
        iri = document.graph.encode()
        self._db.execute(
            "INSERT OR REPLACE INTO documents VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            [
                *(key_of(iri), document.graph, host_of_iri(iri).decode()),
                *(*document.version, log.log, log.generation, document.is_tombstone),
                *(violations, warnings, sum(counts.values())),
                *(found.skipped, found.detail, json.dumps(found.named)),
            ],
        )

    def earlier(self, log: LogIdentity) -> Iterator[tuple[str, int]]:
        """Yield documents of earlier generations of a log, and their versions."""
        last = b""
        while rows := self._db.execute(
            "SELECT key, iri, version FROM documents WHERE key > ? AND log = ?"
            " AND generation < ? AND NOT is_gone ORDER BY key LIMIT 1000",
            [last, log.log, log.generation],
        ).fetchall():
            yield from ((iri, version) for _, iri, version in rows)
            last = rows[-1][0]

    def total(self) -> dict[str, int]:
        """Return the sums over all hosts."""
        rows = [row[1:] for row in self._db.execute(_COUNTS)]
        sums = map(sum, zip(*rows, strict=True)) if rows else (0,) * len(_COLUMNS)
        return dict(zip(_COLUMNS, sums, strict=True))

    def write_table(self, file: TextIO) -> None:
        """Write a line for each host, most violations first."""
        rows = [(row[0] or "(no host)", *row[1:]) for row in self._db.execute(_COUNTS)]
        shown = [*rows[:_SHOWN_HOSTS], ("all", *self.total().values())]
        width = max(len(row[0]) for row in shown)
        file.write(f"{'host':<{width}}{''.join(f'{x:>12}' for x in _COLUMNS)}\n")
        for name, *numbers in shown:
            cells = "".join(f"{number:>12,}" for number in numbers)
            file.write(f"{name:<{width}}{cells}\n")
        if len(rows) > _SHOWN_HOSTS:
            file.write(
                f"the JSON has {counted(len(rows) - _SHOWN_HOSTS, 'more host')}\n"
            )

    def write_json(self, file: TextIO) -> None:
        """Write one object: numbers by host, and documents with results."""
        file.write(f'{{"total": {json.dumps(self.total())}, "hosts": {{')
        for number, (host, *counts) in enumerate(self._db.execute(_COUNTS)):
            found = json.dumps(dict(zip(_COLUMNS, counts, strict=True)))
            file.write(f"{',' if number else ''}\n{json.dumps(host)}: {found}")
        file.write('}, "documents": [')
        rows = self._db.execute(_FOUND, [_MAX_DOCUMENTS])
        for number, (iri, skipped, detail, *counts, named) in enumerate(rows):
            members = {
                "document": iri,
                **({"skipped": skipped, "detail": detail} if skipped else {}),
                **dict(zip(_COLUMNS[3:], counts, strict=True)),
                "results": json.loads(named),
            }
            file.write(f"{',' if number else ''}\n{json.dumps(members)}")
        file.write("]}\n")
