"""Distribute documents over the files of a folder.

All statements of a document are in one file, since a label of a blank node is valid
only within its file.
"""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.export.formats import FileFormat
from rdfcrawl.stores.export.output import ExportFile
from rdfcrawl.stores.export.writers import DocumentPiece, TextWriter, write_packed
from rdfcrawl.stores.nquads import document_mark
from rdfcrawl.stores.reading import iter_lines, iter_marked
from rdfcrawl.uri.hosts import host_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rdfcrawl.stores.export.output import FileReport
    from rdfcrawl.stores.export.plan import ExportPlan, ShardRule

_PENDING_BYTES: Final = 64 * 2**20  # of all files together
_MOST_HOSTS: Final = 100_000
_READ_BYTES: Final = 256 * 1024
_SPOOLED: Final = FileFormat("nq", "gz")
_NO_HOST: Final = "no-host"
_is_plain_name = re.compile(r"[a-z0-9_][a-z0-9._-]{0,200}").fullmatch


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

    def end(self) -> tuple[FileReport, int]:
        """Finish the file; return its report, and the number of lost statements."""
        self.writer.end()
        file = self.writer.file
        n_quads, n_left_out = self.writer.n_quads, self.writer.n_left_out
        if not self._is_text:
            file.release()
            file = ExportFile(self.path)
            n_quads, n_left_out = write_packed(
                self._pieces(), file, self._plan, base=self._base
            )
            self._spool.unlink()
        file.finish()
        return file.report(self.path.name, n_quads), n_left_out

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
        n_left_out: statements that the format cannot express.
    """

    def __init__(
        self, folder: Path, plan: ExportPlan, rule: ShardRule, base: str
    ) -> None:
        self._folder, self._plan, self._rule, self._base = folder, plan, rule, base
        self._open: dict[str, _Shard] = {}
        self._n_pending = 0  # unwritten bytes of all shards
        self.reports: list[FileReport] = []
        self.n_left_out = 0

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
        report, n_left_out = shard.end()
        self.reports.append(report)
        self.n_left_out += n_left_out

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
