"""Validate a crawl with shapes: `shapes:FILE`, or the argument `shapes=FILE`."""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Self, TextIO

from rdfcrawl.core.errors import ConfigError, StoreFault, passing_fault
from rdfcrawl.core.messages import counted
from rdfcrawl.stores.files import replacing_file
from rdfcrawl.stores.followers.local_disk import DocumentsFile, key_of, opening_fault
from rdfcrawl.stores.followers.protocol import Follower, StoreForgot
from rdfcrawl.stores.log.documents import Checkpoint, LogDocument, latest_versions
from rdfcrawl.stores.shapes.validator import ShapeFindings, ShapesValidator
from rdfcrawl.uri.hosts import host_of_iri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rdfcrawl.stores.crawl_folder import LogIdentity

logger = logging.getLogger(__name__)

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
_MAX_SHAPES_BYTES: Final = 64 * 1024 * 1024
_FINDINGS: Final = "findings.sqlite"
_REPORT_SECS: Final = 10.0  # between two reports
_REST: Final = 4  # least pause, as a multiple of the duration of the last report


class FindingsTable(DocumentsFile):
    """Table of the results for the latest version of each document.

    Changes are durable after `commit`.

    Args:
        path: of the database.
        shapes: digest of the shapes; results of other shapes are deleted.
    """

    def __init__(self, path: Path, shapes: bytes) -> None:
        super().__init__(path, _SCHEMA)
        try:
            self._prepare(shapes)
        except BaseException:
            self.close()
            raise

    def _prepare(self, shapes: bytes) -> None:
        known = self.db.execute("SELECT digest FROM shapes").fetchone()
        if known != (shapes,):
            self.begin()
            for table in ("shapes", "documents", "logs", "offsets"):
                self.db.execute(f"DELETE FROM {table}")  # noqa: S608  # our names
            self.db.execute("INSERT INTO shapes VALUES (?)", [shapes])
            self.db.execute("COMMIT")

    def put(
        self, document: LogDocument, found: ShapeFindings, log: LogIdentity
    ) -> None:
        """Replace the results for a document."""
        counts = dict(found.counts)
        violations = counts.pop("Violation", 0)
        warnings = counts.pop("Warning", 0)
        iri = document.graph.encode()
        self.db.execute(
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
        return self.documents_where(
            "log = ? AND generation < ? AND NOT is_gone", log.log, log.generation
        )

    def total(self) -> dict[str, int]:
        """Return the sums over all hosts."""
        rows = [row[1:] for row in self.db.execute(_COUNTS)]
        sums = map(sum, zip(*rows, strict=True)) if rows else (0,) * len(_COLUMNS)
        return dict(zip(_COLUMNS, sums, strict=True))

    def write_table(self, file: TextIO) -> None:
        """Write a line for each host, most violations first."""
        rows = [(row[0] or "(no host)", *row[1:]) for row in self.db.execute(_COUNTS)]
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
        for number, (host, *counts) in enumerate(self.db.execute(_COUNTS)):
            found = json.dumps(dict(zip(_COLUMNS, counts, strict=True)))
            file.write(f"{',' if number else ''}\n{json.dumps(host)}: {found}")
        file.write('}, "documents": [')
        rows = self.db.execute(_FOUND, [_MAX_DOCUMENTS])
        for number, (iri, skipped, detail, *counts, named) in enumerate(rows):
            members = {
                "document": iri,
                **({"skipped": skipped, "detail": detail} if skipped else {}),
                **dict(zip(_COLUMNS[3:], counts, strict=True)),
                "results": json.loads(named),
            }
            file.write(f"{',' if number else ''}\n{json.dumps(members)}")
        file.write("]}\n")


_NOTHING: Final = ShapeFindings()


class ShapesFollower(Follower):
    """Judge of the latest version of each document; see `stores.followers.protocol`.

    Args:
        shapes: file of shapes.
        report: folder of the report.
        secs: of CPU time for each document.
    """

    is_store: ClassVar[bool] = False  # validates also documents stored elsewhere

    def __init__(self, shapes: Path, report: Path, *, secs: float = 10.0) -> None:
        self._shapes, self._folder = shapes, report
        self._validator = ShapesValidator(shapes, secs=secs)
        self._table: FindingsTable | None = None
        self._report_at = 0.0
        self._found: dict[str, int] | None = None  # in the last report

    @classmethod
    def from_options(cls, uri: str, options: Mapping[str, object]) -> Self:
        """Return the follower of a URI, after its shapes have been read.

        Raises:
            ConfigError: there is no such file, its shapes are wrong, pyshacl is
                missing, or an option is wrong.
        """
        unknown = sorted(options.keys() - {"report", "secs"})
        if unknown:
            raise ConfigError(f"has no option {unknown[0]!r}")
        shapes = Path(uri.partition(":")[2].removeprefix("//")).expanduser().absolute()
        secs = options.get("secs", 10.0)
        if not isinstance(secs, int | float) or not 0.1 <= secs <= 86_400:
            raise ConfigError(f"secs={secs!r}: must be 0.1 to 86400")
        report = Path(str(options.get("report") or f"{shapes}-report")).absolute()
        _content(shapes)
        with ShapesValidator(shapes, secs=secs) as validator:
            validator.start()
        return cls(shapes, report, secs=secs)

    def open(self, log: LogIdentity) -> Checkpoint | None:
        """Open the table of findings; return the checkpoint of the last commit.

        Raises:
            ConfigError: the shapes are gone, or wrong.
            StoreFault: the table cannot be used.
        """
        digest = blake2b(_content(self._shapes), digest_size=16).digest()
        path, self._log = self._folder / _FINDINGS, log
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                self._table = FindingsTable(path, digest)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):  # the disk
                    raise
                logger.warning("%s: damaged (%s), and rebuilt", path, error)
                self._set_aside()
                self._table = FindingsTable(path, digest)
            return self._table.checkpoint(log.log)
        except (OSError, sqlite3.DatabaseError) as error:
            raise opening_fault(path, error) from error

    def _set_aside(self) -> None:
        """Rename a damaged table; it is rebuilt from the log."""
        for suffix in ("-wal", "-shm"):
            (self._folder / f"{_FINDINGS}{suffix}").unlink(missing_ok=True)
        path = self._folder / _FINDINGS
        path.replace(path.with_name(f"{_FINDINGS}.damaged"))

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn errors of the disk into a `StoreFault`; set a damaged table aside.

        Raises:
            StoreForgot: the table was damaged, and is rebuilt.
            StoreFault: the disk cannot be read or written.
        """
        try:
            yield
        except (OSError, sqlite3.OperationalError) as error:
            what = f"{self._folder}: {error}"
            raise passing_fault(error) or StoreFault(what, may_pass=True) from error
        except sqlite3.DatabaseError as error:
            if self._table is not None:
                self._table.close()
                self._table = None
            self._set_aside()
            what = f"{self._folder / _FINDINGS}: damaged ({error}), and rebuilt"
            raise StoreForgot(what) from error

    @property
    def _opened(self) -> FindingsTable:
        if self._table is None:
            raise StoreFault("the findings are not open")
        return self._table

    def apply(self, documents: Sequence[LogDocument]) -> None:
        """Validate the latest versions.

        Raises:
            StoreFault: the disk is full.
        """
        table = self._opened
        with self._faults():
            table.begin()
            for document in latest_versions(documents).values():
                if table.lacks(document, self._log):
                    table.put(document, self._judge(document), self._log)

    def _judge(self, document: LogDocument) -> ShapeFindings:
        if document.is_tombstone:
            return _NOTHING
        if document.quads is None:  # see `stores.log.documents`: more than 1 MiB
            detail = counted(document.n_bytes, "byte")
            return ShapeFindings(skipped="too_large", detail=detail)
        return self._validator.judge(document.quads)

    def commit(self, checkpoint: Checkpoint) -> None:
        """Make the results durable, with the checkpoint; write the report if due.

        Raises:
            StoreFault: the disk is full.
        """
        with self._faults():
            self._opened.commit(checkpoint)
            if time.monotonic() >= self._report_at:
                self._write_report()

    def renew(self, *, at_once: bool) -> None:
        """Write the report if the end of the log has been reached.

        Raises:
            StoreFault: the disk is full.
        """
        if at_once:
            with self._faults():
                self._write_report()

    def close(self) -> None:
        """Write the report, and end the validator's process."""
        self._validator.close()
        table = self._table
        if table is None:
            return
        try:
            with self._faults():
                table.roll_back()
                self._write_report()
        finally:
            self._table = None
            table.close()

    def earlier_documents(self, log: LogIdentity) -> Iterator[tuple[str, int]]:
        """Yield documents of earlier generations of a log, and their versions."""
        return self._opened.earlier(log)

    def counts(self) -> dict[str, int]:
        """Return the sums in the last report, as statistics."""
        found = self._found or self._opened.total()
        return {f"shapes/{name}": number for name, number in found.items()}

    def summary(self) -> str:
        """Return the sums in the last report, and its path."""
        found = self._found or self._opened.total()
        skipped = f", {found['skipped']:,} skipped" if found["skipped"] else ""
        return (
            f"{counted(found['violations'], 'violation')} in {found['violating']:,} of"
            f" {counted(found['documents'], 'document')}{skipped}:"
            f" {self._folder}/report.txt"
        )

    def _write_report(self) -> None:
        began = time.monotonic()
        self._found = self._opened.total()
        self._write("report.json", self._opened.write_json)
        self._write("report.txt", self._opened.write_table)
        ended = time.monotonic()
        self._report_at = ended + max(_REPORT_SECS, _REST * (ended - began))

    def _write(self, name: str, write: Callable[[TextIO], None]) -> None:
        with replacing_file(self._folder / name) as file:
            write(file)


def _content(path: Path) -> bytes:
    """Return the bytes of a file of shapes.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_SHAPES_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"shapes: {path}: {error.strerror}") from error
    if len(content) > _MAX_SHAPES_BYTES:
        raise ConfigError(f"shapes: {path}: longer than {_MAX_SHAPES_BYTES} bytes")
    return content
