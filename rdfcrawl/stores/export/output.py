"""Files of an export: they appear under their names only when they are complete."""

from __future__ import annotations

import io
import os
import shutil
import sys
from codecs import getincrementaldecoder
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, cast

from rdfcrawl.core.errors import ConfigError, SourceFault, needed_by_operator
from rdfcrawl.core.messages import escaped
from rdfcrawl.rdf.serializing import StatementSerializer, packer
from rdfcrawl.stores.export.items import write_items
from rdfcrawl.stores.export.plan import HDT, LINES, PARQUET, ExportPlan, FileFormat
from rdfcrawl.stores.files import sync, try_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_DRAFT: Final = ".part"
_LOCK: Final = ".lock"
PIECE_BYTES: Final = 4 * 2**20
"""Statements that are written and compressed together."""
_GROUP_ROWS: Final = 128 * 1024  # smallest unit that readers of a column read


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """Name, size and checksum of a file.

    Attributes:
        name: of the file, without its folder.
        n_bytes: its length.
        sha256: its checksum, in hexadecimal digits.
        n_quads: statements in the file.
    """

    name: str
    n_bytes: int
    sha256: str
    n_quads: int


class ExportFile(io.RawIOBase):
    """A file whose bytes are counted and hashed.

    Args:
        place: path of a file to append to, or an open descriptor.
    """

    def __init__(self, place: Path | int) -> None:
        self._place = place
        self._fd = place if isinstance(place, int) else -1
        self._hash = sha256()
        self.n_bytes = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self.n_bytes

    def write(self, content: Any) -> int:
        """Write all of the bytes."""
        if self.closed:  # the destructor of a serializer writes its rest
            raise ValueError("the file is closed")
        left = memoryview(content).cast("B")
        n_bytes = len(left)
        if self._fd < 0:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(cast("Path", self._place), flags, 0o666)
        self._hash.update(left)
        self._put(left)
        self.n_bytes += n_bytes
        return n_bytes

    def _put(self, content: memoryview) -> None:
        while content:
            content = content[os.write(self._fd, content) :]

    def release(self) -> None:
        """Close the descriptor for now; more may be written later."""
        if not isinstance(self._place, int) and self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def finish(self) -> None:
        """Make the file durable on disk."""
        self.write(b"")  # opens the file
        if not isinstance(self._place, int):
            os.fsync(self._fd)
        self.release()

    def close(self) -> None:
        """Close the descriptor."""
        self.release()
        super().close()

    def report(self, name: str, n_quads: int) -> FileReport:
        """Return the report of the file so far."""
        return FileReport(
            name=name,
            n_bytes=self.n_bytes,
            sha256=self._hash.hexdigest(),
            n_quads=n_quads,
        )


class _TerminalFile(ExportFile):
    """A terminal; control characters are escaped."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def _put(self, content: memoryview) -> None:
        text = self._decoder.decode(content.tobytes())
        super()._put(memoryview(escaped(text).encode()))


@contextmanager
def draft_file(path: Path) -> Iterator[ExportFile]:
    """Yield a draft that is renamed to `path` at the end, unless the context raises.

    A draft of a killed process is overwritten.

    Raises:
        ConfigError: another process is writing it.
        OSError: the disk is full, or cannot be written.
    """
    draft = path.with_name(path.name + _DRAFT)
    with _exclusive(draft) as lock:
        os.truncate(lock, 0)
        file = ExportFile(draft)
        try:
            yield file
            file.finish()
            draft.replace(path)
        finally:
            file.close()
    sync(path.parent)


@contextmanager
def draft_folder(path: Path) -> Iterator[Path]:
    """Yield a draft that is renamed to `path` at the end, unless the context raises.

    Raises:
        ConfigError: another process is writing it.
        OSError: the disk is full, or `path` has files.
    """
    draft = path.with_name(path.name + _DRAFT)
    lock_path = draft.with_name(draft.name + _LOCK)
    with _exclusive(lock_path):
        try:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            yield draft
            sync(draft)
            draft.replace(path)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        finally:
            lock_path.unlink(missing_ok=True)
    sync(path.parent)


@contextmanager
def _exclusive(path: Path) -> Iterator[int]:
    """Hold the lock of a file, which is created if missing, and deleted on failure."""
    fd, is_held = -1, False
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        _check_lock(fd, path)
        is_held = True
        yield fd
    except BaseException:
        # The signal to end may have come after any of the three lines above.
        with suppress(ConfigError, OSError):
            if fd < 0:
                fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            if not is_held:
                _check_lock(fd, path)
            path.unlink(missing_ok=True)
        raise
    finally:
        if fd >= 0:
            os.close(fd)


def _check_lock(fd: int, path: Path) -> None:
    """Take the lock of an open file.

    Raises:
        ConfigError: another process holds it, or has renamed the file since.
    """
    if not try_lock(fd):
        raise ConfigError(f"{path}: another export is writing it")
    if not path.exists() or not os.path.samestat(os.fstat(fd), path.stat()):
        raise ConfigError(f"{path}: another export has just written it")


def standard_output() -> ExportFile:
    """Return standard output.

    Raises:
        ConfigError: it is closed.
    """
    try:
        sys.stdout.flush()
        kind = _TerminalFile if sys.stdout.isatty() else ExportFile
        return kind(sys.stdout.fileno())
    except (AttributeError, ValueError, OSError) as error:
        raise ConfigError(f"--to -: standard output: {error}") from error


def as_binary(file: ExportFile) -> BinaryIO:
    """Return a file in the type that other writers accept."""
    return cast("BinaryIO", file)


class DocumentPiece(NamedTuple):
    """Some statements of a document.

    Attributes:
        graph: of the document.
        version_ms: of the document.
        quads: complete lines.
    """

    graph: str
    version_ms: int
    quads: bytes


class TextWriter:
    """Writer of a format to which statements can be appended.

    Args:
        file: to write to.
        file_format: of the file.

    Attributes:
        n_pending: bytes that are not written yet.
        n_quads: statements in the file.
    """

    def __init__(self, file: ExportFile, file_format: FileFormat) -> None:
        self.file = file
        name = "nq" if file_format.name in LINES else file_format.name  # as they are
        self._serializer = StatementSerializer(name)
        self._pack = packer(file_format.packing)
        self._pending: list[bytes] = []
        self.n_pending = self._n_taken = 0

    def add(self, quads: bytes) -> None:
        """Add complete lines of N-Quads; write when enough are pending."""
        self._pending.append(quads)
        self.n_pending += len(quads)
        self._n_taken += quads.count(b"\n")
        if self.n_pending >= PIECE_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the pending lines."""
        if self._pending:
            content = self._serializer.write(b"".join(self._pending))
            self._pending.clear()
            self.n_pending = 0
            if content:
                self.file.write(self._pack(content))
            self.file.release()

    def end(self) -> None:
        """Write the rest, and end the file."""
        self.flush()
        end = self._serializer.end()
        if end or not self.file.n_bytes:
            self.file.write(self._pack(end))

    @property
    def n_quads(self) -> int:
        """Statements in the file, when all are written."""
        return self._n_taken - self._serializer.n_left_out

    @property
    def left_out(self) -> Counter[str]:
        """Number of statements that the format cannot express, by reason."""
        return self._serializer.left_out


def write_packed(
    pieces: Iterable[DocumentPiece], file: ExportFile, plan: ExportPlan, *, base: str
) -> tuple[int, Counter[str]]:
    """Write a format to which statements cannot be appended.

    Args:
        pieces: of documents.
        file: to write to.
        plan: with the format.
        base: IRI of the dataset.

    Returns:
        The statements in the file, and those that the format cannot express, by reason.

    Raises:
        ConfigError: a library is missing.
        OSError: the disk is full.
    """
    if plan.format.is_of_items:
        lines = (each.quads for each in pieces)
        return write_items(lines, file.write, plan.format, plan.scratch), Counter()
    if plan.format.name == PARQUET:
        return _write_parquet(pieces, file), Counter()
    return _write_hdt(pieces, file, plan, base)


def _write_hdt(
    pieces: Iterable[DocumentPiece], file: ExportFile, plan: ExportPlan, base: str
) -> tuple[int, Counter[str]]:
    """Write the distinct triples of all graphs."""
    with needed_by_operator(HDT, "--format hdt"):
        from rdfcrawl.rdf.hdt import write_hdt  # noqa: PLC0415

    triples = StatementSerializer("nt")
    try:
        report = write_hdt(
            (triples.write(piece.quads) for piece in pieces),
            as_binary(file),
            base=base,
            temp_dir=plan.scratch,
            memory_bytes=plan.memory_bytes,
        )
    except SourceFault as error:
        raise ConfigError(f"--format hdt: {error}") from error
    return report.n_triples, Counter(
        {each.detail: each.count for each in report.faults}
    )


def _write_parquet(pieces: Iterable[DocumentPiece], file: ExportFile) -> int:
    """Write a row for each statement, and return their number."""
    with needed_by_operator(PARQUET, "--format parquet"):
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

    from rdfcrawl.stores.columns.rows import SCHEMA, iter_batches  # noqa: PLC0415

    batches: list[pa.RecordBatch] = []
    n_rows = n_waiting = 0
    with pq.ParquetWriter(as_binary(file), SCHEMA, compression="zstd") as writer:

        def write() -> None:
            writer.write_table(pa.Table.from_batches(batches, SCHEMA))
            batches.clear()

        documents = ((each.graph, each.version_ms, (each.quads,)) for each in pieces)
        for batch in iter_batches(documents):
            batches.append(batch)
            n_rows += batch.num_rows
            n_waiting += batch.num_rows
            if n_waiting >= _GROUP_ROWS:
                write()
                n_waiting = 0
        if batches:
            write()
    return n_rows
