"""Write and rewrite the Parquet files of one version of a dataset."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rdfcrawl.stores.columns.rows import SCHEMA, iter_batches, iter_lines
from rdfcrawl.stores.followers.document_table import DocumentTable, StoredDocument

FULL_ROWS: Final = 1 << 20
"""A file with so many rows is full: no other documents are added."""

_GROUP_ROWS: Final = 1 << 17  # some 40 MB in memory
_READ_ROWS: Final = 1 << 16
_MOST_DOCUMENTS: Final = 100_000  # of a file
_SMALLER: Final = 2  # merge a file into one of at least half its rows

FILE_TABLES: Final = """
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY AUTOINCREMENT, part TEXT NOT NULL, n_rows INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS files_of_part ON files (part);
CREATE TEMP TABLE moved (old INTEGER PRIMARY KEY, new INTEGER);
CREATE TEMP TABLE placed (document BLOB PRIMARY KEY, file INTEGER) WITHOUT ROWID;
"""
"""Tables that the functions here use with those of `DocumentTable`."""

_TOUCHED: Final = """
SELECT part FROM documents WHERE is_changed
UNION SELECT files.part FROM documents JOIN files ON file = id WHERE is_changed
"""
_OF_PART: Final = """
SELECT id, n_rows, EXISTS (SELECT 1 FROM documents WHERE file = id AND is_changed)
FROM files WHERE part = ? ORDER BY n_rows
"""
_SETTLE: Final = """
UPDATE documents SET file = (SELECT new FROM moved WHERE old = file)
WHERE file IN (SELECT old FROM moved) AND NOT is_changed;
UPDATE documents SET is_changed = 0,
    file = (SELECT placed.file FROM placed WHERE document = key) WHERE is_changed;
DELETE FROM files WHERE id IN (SELECT old FROM moved);
DELETE FROM moved;
DELETE FROM placed;
DELETE FROM pieces;
"""


class VersionWriter:
    """Writer of one version; everything it notes is in one transaction of the table.

    Args:
        table: of the documents.
        before: folder of the previous version.
        folder: of this version, empty.
    """

    def __init__(self, table: DocumentTable, before: Path, folder: Path) -> None:
        self._table, self._db = table, table.db
        self._before, self._folder = before, folder

    def write(self) -> None:
        """Write all files, and note the file of each document.

        Raises:
            OSError: the disk is full, or cannot be read.
        """
        (last,) = self._db.execute("SELECT max(id) FROM files").fetchone()
        for (part,) in self._db.execute(_TOUCHED).fetchall():
            self._write_part(part)
        kept = self._db.execute(
            "SELECT id, part FROM files WHERE id <= ?"
            " AND id NOT IN (SELECT old FROM moved)",
            [last],
        )
        for number, part in kept:
            (self._folder / part).mkdir(exist_ok=True)
            os.link(
                _path(self._before, part, number), _path(self._folder, part, number)
            )
        for statement in _SETTLE.split(";"):
            self._db.execute(statement)

    def _write_part(self, part: str) -> None:
        """Write the changed documents of a part, and the rest of its files."""
        (n_new,) = self._db.execute(
            "SELECT total(n_statements) FROM documents WHERE is_changed AND part = ?",
            [part],
        ).fetchone()
        files = self._db.execute(_OF_PART, [part]).fetchall()
        large, small = _chosen(files, int(n_new))
        for number in large:
            with _PartFile(self._db, self._folder, part) as file:
                self._move(part, number, file)
        changed = _PendingDocuments(self._table.changed(part))
        first = True
        while first or changed:
            with _PartFile(self._db, self._folder, part) as file:
                for number in small if first else ():
                    self._move(part, number, file)
                self._add(changed.take(file.n_rows), file)
            first = False

    def _move(self, part: str, number: int, file: _PartFile) -> None:
        """Copy the unchanged documents of a file into another."""
        gone = self._db.execute(
            "SELECT iri FROM documents WHERE file = ? AND is_changed", [number]
        )
        names = pa.array([iri for (iri,) in gone], pa.string())
        for batch in read_batches(_path(self._before, part, number)):
            if len(names):
                is_gone = pc.is_in(batch.column("document"), value_set=names)
                batch = batch.filter(pc.invert(is_gone))  # noqa: PLW2901
            file.write(batch)
        self._db.execute("INSERT INTO moved VALUES (?, ?)", [number, file.number])

    def _add(self, documents: list[StoredDocument], file: _PartFile) -> None:
        """Write changed documents to a file."""
        stated = ((x.iri, x.since_ms, self._table.pieces(x.key)) for x in documents)
        for batch in iter_batches(stated):
            file.write(batch)
        self._db.executemany(
            "INSERT INTO placed VALUES (?, ?)",
            ((document.key, file.number) for document in documents),
        )


class _PendingDocuments:
    """Documents to write; those without statements are skipped."""

    def __init__(self, documents: Iterator[StoredDocument]) -> None:
        self._left = (each for each in documents if each.n_statements)
        self._next = next(self._left, None)

    def __bool__(self) -> bool:
        return self._next is not None

    def take(self, n_rows: int) -> list[StoredDocument]:
        """Return the next documents that fit into a file with `n_rows` rows.

        A document that is longer than a file gets a separate one.
        """
        taken: list[StoredDocument] = []
        n_free = FULL_ROWS - n_rows
        while self._next is not None and len(taken) < _MOST_DOCUMENTS:
            n_free -= self._next.n_statements
            if n_free < 0 and (taken or n_rows):
                break
            taken.append(self._next)
            self._next = next(self._left, None)
        return taken


class _PartFile:
    """A new Parquet file; not created if nothing is written.

    Attributes:
        number: of the file, after the first write.
        n_rows: number of rows in it.
    """

    def __init__(self, db: sqlite3.Connection, folder: Path, part: str) -> None:
        self._db, self._folder, self._part = db, folder, part
        self._batches: list[pa.RecordBatch] = []
        self._n_held = self.n_rows = 0
        self.number: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self.number is None:
            return
        try:
            if kind is None:
                self._write_group()
                self._writer.close()
                self._file.flush()
                os.fsync(self._file.fileno())
                self._db.execute(
                    "UPDATE files SET n_rows = ? WHERE id = ?",
                    [self.n_rows, self.number],
                )
        finally:
            self._file.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        if not len(batch):
            return
        if self.number is None:
            self._open()
        self._batches.append(batch)
        self._n_held += len(batch)
        self.n_rows += len(batch)
        if self._n_held >= _GROUP_ROWS:
            self._write_group()

    def _open(self) -> None:
        row = "INSERT INTO files (part, n_rows) VALUES (?, 0)"
        self.number = self._db.execute(row, [self._part]).lastrowid
        (self._folder / self._part).mkdir(exist_ok=True)
        path = _path(self._folder, self._part, self.number or 0)
        self._file = path.open("xb")
        self._writer = pq.ParquetWriter(self._file, SCHEMA, compression="zstd")

    def _write_group(self) -> None:
        if self._batches:
            table = pa.Table.from_batches(self._batches)
            self._writer.write_table(table, row_group_size=2 * _GROUP_ROWS)
        self._batches.clear()
        self._n_held = 0


def read_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file.

    Raises:
        OSError: the file is gone, or not Parquet.
    """
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(_READ_ROWS)


def read_statements(folder: Path) -> Iterator[bytes]:
    """Yield the statements of a version as lines of N-Quads.

    Raises:
        OSError: a file is gone, or not Parquet.
    """
    for path in sorted(folder.rglob("*.parquet")):
        for batch in read_batches(path):
            yield b"".join(iter_lines(batch))


def _path(folder: Path, part: str, number: int) -> Path:
    return folder / part / f"part-{number}.parquet"


def _chosen(
    files: list[tuple[int, int, int]], n_new: int
) -> tuple[list[int], list[int]]:
    """Return the files to rewrite separately, and those to merge.

    Args:
        files: number, rows, and whether one of its documents has changed; the smallest
            first.
        n_new: rows of changed documents.
    """
    large, small = [], []
    n_rows = n_new
    for number, n_of_file, has_changed in files:
        if n_of_file * _SMALLER > FULL_ROWS:
            large += [number] if has_changed else []
        elif has_changed or (
            n_of_file <= n_rows * _SMALLER and n_rows + n_of_file <= FULL_ROWS
        ):
            small.append(number)
            n_rows += n_of_file
    return large, small
