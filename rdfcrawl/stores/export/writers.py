"""Write the statements of documents into one file of a format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.errors import ConfigError, SourceFault
from rdfcrawl.core.extras import needed_by_operator
from rdfcrawl.rdf.serializing import StatementSerializer, packer
from rdfcrawl.stores.export.formats import HDT, JSONL, PARQUET
from rdfcrawl.stores.export.output import as_binary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfcrawl.stores.export.formats import FileFormat
    from rdfcrawl.stores.export.output import ExportFile
    from rdfcrawl.stores.export.plan import ExportPlan

PIECE_BYTES: Final = 4 * 2**20
"""Statements that are written and compressed together."""

_GROUP_ROWS: Final = 128 * 1024  # smallest unit that readers of a column read


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
        name = "nq" if file_format.name == JSONL else file_format.name  # as they are
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
    def n_left_out(self) -> int:
        """Statements that the format cannot express."""
        return self._serializer.n_left_out


def write_packed(
    pieces: Iterable[DocumentPiece], file: ExportFile, plan: ExportPlan, *, base: str
) -> tuple[int, int]:
    """Write a format to which statements cannot be appended.

    Args:
        pieces: of documents.
        file: to write to.
        plan: with the format.
        base: IRI of the dataset.

    Returns:
        The statements in the file, and those that the format cannot express.

    Raises:
        ConfigError: a library is missing.
        OSError: the disk is full.
    """
    if plan.format.name == PARQUET:
        return _write_parquet(pieces, file), 0
    return _write_hdt(pieces, file, plan, base)


def _write_hdt(
    pieces: Iterable[DocumentPiece], file: ExportFile, plan: ExportPlan, base: str
) -> tuple[int, int]:
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
    return report.n_triples, sum(fault.count for fault in report.faults)


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
