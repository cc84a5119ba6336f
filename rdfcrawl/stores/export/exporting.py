"""Export a crawl to a file, a folder or standard output."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import SourceFault
from rdfcrawl.rdf.framing import MAX_STATEMENTS, iter_items
from rdfcrawl.stores.export.formats import JSONL
from rdfcrawl.stores.export.output import (
    ExportFile,
    draft_file,
    draft_folder,
    standard_output,
)
from rdfcrawl.stores.export.shards import ShardWriter
from rdfcrawl.stores.export.writers import DocumentPiece, TextWriter, write_packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rdfcrawl.stores.export.output import FileReport
    from rdfcrawl.stores.export.plan import ExportPlan, ShardRule
    from rdfcrawl.stores.log.crawl_log import CrawlLog
    from rdfcrawl.stores.log.documents import LogDocument

MANIFEST: Final = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """Result of an export.

    Attributes:
        files: written files.
        n_documents: with at least one exported statement.
        n_left_out: statements that the format cannot express.
    """

    files: tuple[FileReport, ...]
    n_documents: int
    n_left_out: int

    @property
    def n_quads(self) -> int:
        """Statements in all files."""
        return sum(file.n_quads for file in self.files)

    @property
    def n_bytes(self) -> int:
        """Length of all files."""
        return sum(file.n_bytes for file in self.files)


def export(
    log: CrawlLog, plan: ExportPlan, on_document: Callable[[int], None] = lambda _: None
) -> ExportReport:
    """Export the current content of a log.

    Args:
        log: workers may write to it at the same time.
        plan: options of the export.
        on_document: called with the number of documents so far.

    Raises:
        ConfigError: a library is missing, or there are too many hosts.
        OSError: a disk is full, or standard output was closed.
        TornMember: the log is damaged.
    """
    source = _Source(log, plan, on_document)
    if plan.target is None:
        file = standard_output()
        report = _write_file(file, "-", source, plan)
    elif plan.shards is not None:
        return _write_folder(plan.target, plan.shards, source, plan)
    else:
        with draft_file(plan.target) as file:
            report = _write_file(file, plan.target.name, source, plan)
    return report


class _Source:
    """The documents of an export, and their number."""

    def __init__(
        self, log: CrawlLog, plan: ExportPlan, on_document: Callable[[int], None]
    ) -> None:
        self._log, self._plan, self._on_document = log, plan, on_document
        self.base = f"urn:rdfcrawl:log:{log.identity.log}"
        self.n_documents = 0
        self.n_left_out = 0  # statements of documents that are too large for items

    def documents(self) -> Iterator[tuple[LogDocument, Iterator[bytes]]]:
        """Yield the selected documents, with their statements in pieces."""
        selection = self._plan.selection
        for document in selection.iter_documents(self._log, self._plan.scratch):
            pieces = selection.pieces(document)
            if self._plan.format.name == JSONL:
                pieces = self._items(document, pieces)
            first = next(pieces, None)
            if first is not None:
                self.n_documents += 1
                yield document, _chained(first, pieces)
                self._on_document(self.n_documents)

    def _items(self, document: LogDocument, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the items of a document, a line each."""
        import pyoxigraph as ox  # noqa: PLC0415

        quads = chain.from_iterable(
            ox.parse(piece, format=ox.RdfFormat.N_QUADS, lenient=True)
            for piece in pieces
        )
        try:
            for item in iter_items(quads, self._plan.item_class):
                item["@source"] = document.graph
                yield f"{json.dumps(item, ensure_ascii=False)}\n".encode()
        except SourceFault:
            self.n_left_out += MAX_STATEMENTS + 1 + sum(1 for _ in quads)

    def pieces(self) -> Iterator[DocumentPiece]:
        """Yield all statements."""
        for document, pieces in self.documents():
            for quads in pieces:
                yield DocumentPiece(document.graph, document.version_ms, quads)


def _chained(first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from others


def _write_file(
    file: ExportFile, name: str, source: _Source, plan: ExportPlan
) -> ExportReport:
    if plan.format.is_text:
        writer = TextWriter(file, plan.format)
        for piece in source.pieces():
            writer.add(piece.quads)
        writer.end()
        n_quads, n_left_out = writer.n_quads, writer.n_left_out + source.n_left_out
    else:
        n_quads, n_left_out = write_packed(
            source.pieces(), file, plan, base=source.base
        )
    return ExportReport(
        files=(file.report(name, n_quads),),
        n_documents=source.n_documents,
        n_left_out=n_left_out,
    )


def _write_folder(
    target: Path, rule: ShardRule, source: _Source, plan: ExportPlan
) -> ExportReport:
    with draft_folder(target) as folder:
        writer = ShardWriter(folder, plan, rule, source.base)
        for document, pieces in source.documents():
            writer.add(document.graph, document.version_ms, pieces)
        writer.end()
        report = ExportReport(
            files=tuple(writer.reports),
            n_documents=source.n_documents,
            n_left_out=writer.n_left_out + source.n_left_out,
        )
        _write_manifest(folder / MANIFEST, report, plan)
    return report


def _write_manifest(path: Path, report: ExportReport, plan: ExportPlan) -> None:
    """Write the manifest of a folder."""
    unit = "items" if plan.format.name == JSONL else "quads"
    names = {"n_bytes": "bytes", "n_quads": unit}
    content = {
        "format": plan.format.name,
        "compression": plan.format.packing or None,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "documents": report.n_documents,
        unit: report.n_quads,
        "bytes": report.n_bytes,
        "files": [
            {names.get(key, key): value for key, value in asdict(file).items()}
            for file in report.files
        ],
    }
    file = ExportFile(path)
    file.write(f"{json.dumps(content, indent=1)}\n".encode())
    file.finish()
