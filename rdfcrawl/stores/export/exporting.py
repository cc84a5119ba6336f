"""Export a crawl to a file, a folder or standard output."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.rdf.items.building import ItemRule
from rdfcrawl.rdf.rdf_11 import TRIPLE_TERM, Rdf11Converter, count_rdf_12
from rdfcrawl.stores.export.items import iter_item_lines, other_documents
from rdfcrawl.stores.export.output import (
    DocumentPiece,
    ExportFile,
    FileReport,
    TextWriter,
    draft_file,
    draft_folder,
    standard_output,
    write_packed,
)
from rdfcrawl.stores.export.plan import ExportPlan, FileFormat, ShardRule
from rdfcrawl.stores.nquads import document_mark
from rdfcrawl.stores.reading import iter_lines, iter_marked
from rdfcrawl.uri.hosts import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from rdfcrawl.rdf.items.description import Descriptions
    from rdfcrawl.stores.log.crawl_log import CrawlLog
    from rdfcrawl.stores.log.documents import LogDocument

_PENDING_BYTES: Final = 64 * 2**20  # of all files together
_MOST_HOSTS: Final = 100_000
_READ_BYTES: Final = 256 * 1024
_SPOOLED: Final = FileFormat("nq", "gz")
_NO_HOST: Final = "no-host"
_is_plain_name = re.compile(r"[a-z0-9_][a-z0-9._-]{0,200}").fullmatch
MANIFEST: Final = "manifest.json"


class _Shard:
    """One file of the folder, or its spooled statements until it can be written."""

    def __init__(self, path: Path, plan: ExportPlan, base: str) -> None:
        self.path, self._plan, self._base = path, plan, base
        self._is_text = plan.format.is_text
        self._spool = path.with_name(path.name + ".spool")
        written = plan.format if self._is_text else _SPOOLED
        place = path if self._is_text else self._spool
        self.writer = TextWriter(ExportFile(place), written)
        self.n_taken = 0

    def add(self, graph: str, version_ms: int, pieces: Iterable[bytes]) -> None:
        """Add a document."""
        if not self._is_text:
            self.writer.add(document_mark(graph, version_ms))
        for piece in pieces:
            self.n_taken += len(piece)
            self.writer.add(piece)

    @property
    def n_bytes(self) -> int:
        """Length of the file so far."""
        return self.writer.file.n_bytes

    def end(self) -> tuple[FileReport, Counter[str]]:
        """Finish the file; return its report, and the lost statements by reason."""
        self.writer.end()
        file = self.writer.file
        n_quads, left_out = self.writer.n_quads, self.writer.left_out
        if not self._is_text:
            file.release()
            file = ExportFile(self.path)
            n_quads, left_out = write_packed(
                self._pieces(), file, self._plan, base=self._base
            )
            self._spool.unlink()
        file.finish()
        return file.report(self.path.name, n_quads), left_out

    def _pieces(self) -> Iterator[DocumentPiece]:
        graph, version_ms = "", 0
        with gzip.open(self._spool) as file:
            blocks = iter(lambda: file.read(_READ_BYTES), b"")
            for mark, quads in iter_marked(iter_lines(blocks)):
                if mark is not None:
                    graph, version_ms = mark[1].decode(), int(mark[2])
                else:
                    yield DocumentPiece(graph, version_ms, quads)


class ShardWriter:
    """Writer of documents into the files of a folder.

    Args:
        folder: an empty folder.
        plan: of the export.
        rule: of the plan.
        base: IRI of the dataset.

    Attributes:
        reports: of the finished files.
        left_out: number of statements that the format cannot express, by reason.
    """

    def __init__(
        self, folder: Path, plan: ExportPlan, rule: ShardRule, base: str
    ) -> None:
        self._folder, self._plan, self._rule, self._base = folder, plan, rule, base
        self._open: dict[str, _Shard] = {}
        self._n_pending = 0  # unwritten bytes of all shards
        self.reports: list[FileReport] = []
        self.left_out: Counter[str] = Counter()

    def add(self, graph: str, version_ms: int, pieces: Iterable[bytes]) -> None:
        """Write a document into its file.

        Raises:
            ConfigError: there are too many hosts for one file each.
            OSError: the disk is full.
        """
        name = self._name_for(graph)
        shard = self._open.get(name)
        if shard is None:
            shard = self._open[name] = self._begin(name, graph)
        n_before = shard.writer.n_pending
        shard.add(graph, version_ms, pieces)
        self._n_pending += shard.writer.n_pending - n_before
        if len(self._open) == 1:
            if not self._rule.n_files and not self._rule.is_by_host:
                self._end_if_full(name, shard)
        elif self._n_pending > _PENDING_BYTES:
            for each in self._open.values():
                each.writer.flush()
            self._n_pending = 0

    def _name_for(self, graph: str) -> str:
        if self._rule.is_by_host:
            return _name_of_host(graph)
        n_files = self._rule.n_files
        if not n_files:
            return _part(len(self.reports))
        if len(self._open) < n_files:
            return _part(len(self._open))
        return min(self._open, key=lambda name: self._open[name].n_taken)

    def _begin(self, name: str, graph: str) -> _Shard:
        if len(self._open) >= _MOST_HOSTS:
            raise ConfigError(
                f"--by-host: there are more than {_MOST_HOSTS} hosts: select some"
                " with --hosts, or give --shards"
            )
        base = self._base
        if self._rule.is_by_host and (host := host_of(graph)):
            base = f"http://{host}/"
        path = self._folder / f"{name}{self._plan.format.suffix}"
        return _Shard(path, self._plan, base)

    def _end_if_full(self, name: str, shard: _Shard) -> None:
        # Bytes that are not compressed yet do not count: some MB at most.
        if shard.n_bytes >= self._rule.n_bytes:
            self._end(name)

    def _end(self, name: str) -> None:
        shard = self._open.pop(name)
        self._n_pending -= shard.writer.n_pending
        report, left_out = shard.end()
        self.reports.append(report)
        self.left_out += left_out

    def end(self) -> None:
        """Finish all files; at least one is written.

        Raises:
            OSError: the disk is full.
        """
        if not self._open and not self.reports:
            self._open[_part(0)] = self._begin(_part(0), "")
        for name in list(self._open):
            self._end(name)
        self.reports.sort(key=lambda report: report.name)


def _part(number: int) -> str:
    return f"part-{number:05}"


def _name_of_host(graph: str) -> str:
    host = host_of(graph) or _NO_HOST
    if _is_plain_name(host):
        return host
    return quote(host, safe="")[:200].replace(".", "%2E", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """Result of an export.

    Attributes:
        files: written files.
        n_documents: with at least one exported statement.
        left_out: number of statements that are not in the files, by reason.
        cut: number of items that lack something, by reason.
        n_rdf_12: exported statements that programs for RDF 1.1 cannot read.
    """

    files: tuple[FileReport, ...]
    n_documents: int
    left_out: Mapping[str, int]
    cut: Mapping[str, int]
    n_rdf_12: int

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
    with source.with_others():
        if plan.target is None:
            return _write_file(standard_output(), "-", source, plan)
        if plan.shards is not None:
            return _write_folder(plan.target, plan.shards, source, plan)
        with draft_file(plan.target) as file:
            return _write_file(file, plan.target.name, source, plan)


class _Source:
    """The documents of an export, and their number."""

    def __init__(
        self, log: CrawlLog, plan: ExportPlan, on_document: Callable[[int], None]
    ) -> None:
        self._log, self._plan, self._on_document = log, plan, on_document
        self.base = f"urn:rdfcrawl:log:{log.identity.log}"
        self.n_documents = 0
        self.left_out: Counter[str] = Counter()
        self.cut: Counter[str] = Counter()
        self.n_rdf_12 = 0
        self._items = plan.items or ItemRule()
        self._find: Callable[[str], Descriptions | None] | None = None

    @contextmanager
    def with_others(self) -> Iterator[None]:
        """Find statements of other documents for items, if these are wanted."""
        if not (self._plan.format.is_of_items and self._items.across):
            yield
            return
        with other_documents(self._log, self._plan.scratch) as others:
            self._find = others.find
            yield

    def documents(self) -> Iterator[tuple[LogDocument, Iterator[bytes]]]:
        """Yield the selected documents, with their statements in pieces."""
        selection = self._plan.selection
        selected = selection.iter_selected(self._log, self._plan.scratch)
        for document, chosen in selected:
            pieces = self._versioned(chosen)
            if self._plan.format.is_of_items:
                pieces = iter_item_lines(
                    document,
                    pieces,
                    self._items,
                    find=self._find,
                    left_out=self.left_out,
                    cut=self.cut,
                )
            first = next(pieces, None)
            if first is not None:
                self.n_documents += 1
                yield document, chain((first,), pieces)
                self._on_document(self.n_documents)

    def _versioned(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the statements of a document in the version of RDF to export."""
        rule = self._plan.rdf
        if rule is None:
            for piece in pieces:
                self.n_rdf_12 += count_rdf_12(piece)
                yield piece
            return
        converter = Rdf11Converter(omits_triple_terms=rule == "omit")
        yield from filter(None, map(converter.convert, pieces))
        if converter.n_left_out:
            self.left_out[TRIPLE_TERM] += converter.n_left_out

    def pieces(self) -> Iterator[DocumentPiece]:
        """Yield all statements."""
        for document, pieces in self.documents():
            for quads in pieces:
                yield DocumentPiece(document.graph, document.version_ms, quads)


def _write_file(
    file: ExportFile, name: str, source: _Source, plan: ExportPlan
) -> ExportReport:
    if plan.format.is_text:
        writer = TextWriter(file, plan.format)
        for piece in source.pieces():
            writer.add(piece.quads)
        writer.end()
        n_quads, left_out = writer.n_quads, writer.left_out
    else:
        n_quads, left_out = write_packed(source.pieces(), file, plan, base=source.base)
    return ExportReport(
        files=(file.report(name, n_quads),),
        n_documents=source.n_documents,
        left_out=left_out + source.left_out,
        cut=source.cut,
        n_rdf_12=source.n_rdf_12,
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
            left_out=writer.left_out + source.left_out,
            cut=source.cut,
            n_rdf_12=source.n_rdf_12,
        )
        _write_manifest(folder / MANIFEST, report, plan)
    return report


def _write_manifest(path: Path, report: ExportReport, plan: ExportPlan) -> None:
    """Write the manifest of a folder."""
    unit = "items" if plan.format.is_of_items else "quads"
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
