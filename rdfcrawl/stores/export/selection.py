"""Select the documents and statements of an export."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.rdf.graphs import SERVICE
from rdfcrawl.rdf.output import BlankNodes
from rdfcrawl.stores.followers.statements import graph_of, hash_statements
from rdfcrawl.stores.followers.stored_once import linked_document
from rdfcrawl.stores.log.crawl_log import (
    CrawlLog,
    iter_latest_documents,
    iter_provenance,
)
from rdfcrawl.stores.log.documents import LogDocument, made_document
from rdfcrawl.stores.provenance.statements import GRAPH, iter_statements
from rdfcrawl.stores.scratch_table import scratch_table
from rdfcrawl.uri.hosts import NO_HOSTS, HostNames
from rdfcrawl.uri.parse import BadUri

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CONTENTS: Final = (
    "CREATE TABLE contents (content BLOB PRIMARY KEY, document TEXT) WITHOUT ROWID"
)
_MAX_KNOWN: Final = 4096  # graph names remembered
_MAX_MS: Final = 253_402_300_799_000  # end of the year 9999


def iter_once(
    documents: Iterable[LogDocument], scratch: Path | None
) -> Iterator[LogDocument]:
    """Yield documents; those with the same statements as an earlier one become links.

    Args:
        documents: each once.
        scratch: folder of a temporary file; by default that of the system.

    Raises:
        OSError: a disk cannot be read, or the scratch folder is full.
    """
    with scratch_table(scratch, _CONTENTS) as table:
        for document in documents:
            content = hash_statements(document).digest
            first = content and _first(table, content, document.graph)
            if first and first != document.graph:
                yield linked_document(document.graph, document.version_ms, first, 0)
            else:
                yield document


def _first(table: sqlite3.Connection, content: bytes, graph: str) -> str:
    """Return the first document with this content, which may be the given one."""
    table.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", [content, graph])
    found = table.execute("SELECT document FROM contents WHERE content = ?", [content])
    return str(found.fetchone()[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSelection:
    """A selection of documents and graphs.

    Attributes:
        hosts: of the documents; empty for all hosts.
        graphs: names of graphs, with `*` for any characters; empty for all graphs.
        since_ms: leave out versions fetched earlier; Unix time in ms.
        has_all_versions: not only the latest version of each document.
        has_descriptions: with those of endpoints by themselves (`service_graph`).
        is_once: write the statements that several documents share once; ignored with
            `has_all_versions` or `graphs`.
        is_provenance: the provenance, and no document.
    """

    hosts: HostNames = NO_HOSTS
    graphs: tuple[str, ...] = ()
    since_ms: int = 0
    has_all_versions: bool = False
    has_descriptions: bool = False
    is_once: bool = False
    is_provenance: bool = False

    def iter_selected(
        self, log: CrawlLog, scratch: Path | None
    ) -> Iterator[tuple[LogDocument, Iterator[bytes]]]:
        """Yield the selected documents, with their statements in complete lines.

        Raises:
            ConfigError: `fresh=1` has moved the log aside while it was read.
            OSError: a disk cannot be read, or the scratch folder is full.
        """
        if self.is_provenance:
            blocks = iter_provenance(log.root / "provenance")
            yield made_document(GRAPH, (0, b""), b""), iter_statements(blocks)
            return
        for document in self.iter_documents(log, scratch):
            yield document, self.pieces(document)

    def iter_documents(
        self, log: CrawlLog, scratch: Path | None
    ) -> Iterator[LogDocument]:
        """Yield the selected documents with statements, in the order of the log.

        Raises:
            ConfigError: `fresh=1` has moved the log aside while it was read.
            OSError: a disk cannot be read, or the scratch folder is full.
        """
        chosen = self._chosen(log, scratch)
        if self.is_once and not (self.has_all_versions or self.graphs):
            return iter_once(chosen, scratch)
        return chosen

    def _chosen(self, log: CrawlLog, scratch: Path | None) -> Iterator[LogDocument]:
        for document in self._versions(log, scratch):
            if document.is_tombstone or document.version_ms < self.since_ms:
                continue
            if document.graph.endswith(SERVICE) and not self.has_descriptions:
                continue
            if not self.hosts or self.hosts.covers(document.graph):
                yield document

    def _versions(self, log: CrawlLog, scratch: Path | None) -> Iterator[LogDocument]:
        if not self.has_all_versions:
            return iter_latest_documents(log, scratch=scratch)
        return _all_versions(log)

    def pieces(self, document: LogDocument) -> Iterator[bytes]:
        """Yield the selected statements of a document, in complete lines."""
        pieces: Iterable[bytes] = document.pieces()
        if self.has_all_versions:
            # Equal labels in two versions are different nodes.
            name = f"{document.graph} {document.version_ms} {document.digest.hex()}"
            relabel = BlankNodes(name).relabel
            pieces = map(relabel, pieces)
        if self.graphs:
            pieces = map(_graph_filter(self.graphs).keep, pieces)
        yield from filter(None, pieces)


def _all_versions(log: CrawlLog) -> Iterator[LogDocument]:
    """Yield all versions in a log.

    Raises:
        ConfigError: `fresh=1` has moved the log aside while it was read.
    """
    for batch in log.read(log.begin(), has_provenance=False):
        yield from batch.documents
    log.check_kept(log.identity)


class _GraphFilter:
    """Filter for the statements in some graphs."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        parts = (".*".join(map(re.escape, each.split("*"))) for each in patterns)
        self._is_wanted = re.compile("|".join(parts), re.DOTALL).fullmatch
        self._known: dict[bytes, bool] = {}

    def keep(self, lines: bytes) -> bytes:
        """Return the lines in the graphs."""
        return b"".join([x for x in lines.splitlines(keepends=True) if self._has(x)])

    def _has(self, line: bytes) -> bool:
        name = line[line.rfind(b" ", 0, -3) :]
        found = self._known.get(name)
        if found is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            found = self._known[name] = bool(self._is_wanted(graph_of(line)))
        return found


@lru_cache(maxsize=1)  # one per export
def _graph_filter(patterns: tuple[str, ...]) -> _GraphFilter:
    return _GraphFilter(patterns)


def parse_hosts(entries: Iterable[str]) -> HostNames:
    """Return the hosts of `--hosts`.

    Raises:
        ConfigError: an entry is not a host.
    """
    names = [name.strip() for each in entries for name in each.split(",")]
    wanted = [name for name in names if name]
    if names and not wanted:
        raise ConfigError("--hosts: names no host")
    try:
        return HostNames.parse(wanted)
    except BadUri as error:
        raise ConfigError(f"--hosts: {error.fault.detail}") from error


def parse_since(text: str) -> int:
    """Return the time of `--since` as Unix time in ms: in UTC unless it has a zone.

    Raises:
        ConfigError: the text is neither a date nor a time.

    >>> parse_since("2026-09-21T14:13:20")
    1790000000000
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise ConfigError(
            f"--since {text}: must be a date or a time, such as 2026-09-21 or"
            " 2026-09-21T12:26:40Z"
        ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(0, int(moment.timestamp() * 1000)), _MAX_MS)
