"""Read all that is known of a URI from frontier and logs, in bounded time."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyoxigraph as ox

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import PREFIXES, SCHEMA_HTTPS
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.monitor.explaining.explanation import (
    FrontierFindings,
    explain_by_logs,
    query_frontier,
    requestable_url,
)
from rdfcrawl.monitor.explaining.logs import UriSearch
from rdfcrawl.monitor.explaining.sources import SearchedLogs
from rdfcrawl.monitor.explaining.text import VERDICTS
from rdfcrawl.monitor.explaining.values import UriExplanation, UriVersion
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from rdfcrawl.monitor.page.crawl_access import CrawlAccess
from rdfcrawl.stores.changes.patch import StatementDifference, compare_versions
from rdfcrawl.stores.log.documents import LogDocument, read_places
from rdfcrawl.stores.segment_file import TornMember

logger = logging.getLogger(__name__)

_PREFIXES: Final = {
    **PREFIXES,
    "schemas": SCHEMA_HTTPS,
    "dc": "http://purl.org/dc/elements/1.1/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "og": "http://ogp.me/ns#",
    "prof": "http://www.w3.org/ns/dx/prof/",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
}
_MOST_URI_CHARS: Final = 10_000
_MOST_QUEUED: Final = 20_000  # of a host's queue to examine
_MOST_BYTES: Final = 1024 * 1024  # of each log that is not indexed yet, compressed
_MOST_MEMBER_BYTES: Final = 16 * 1024 * 1024  # compressed
_MOST_MEMBERS: Final = 24  # with the same role of one URI
_SHOWN_STATEMENTS: Final = 500
_SHOWN_BYTES: Final = 256 * 1024
_SHOWN_CHARS: Final = 1000  # of a literal
_COMPARED_BYTES: Final = 1024 * 1024
_LISTED_CHANGES: Final = 100
_DOWNLOADED_STATEMENTS: Final = 100_000
_DOWNLOADED_BYTES: Final = 16 * 1024 * 1024


class BoundedLines(NamedTuple):
    """Statements as N-Quads, up to a limit.

    Attributes:
        lines: complete lines.
        n_statements: in them.
        is_cut: there are more.
    """

    lines: bytes
    n_statements: int
    is_cut: bool


def first_lines(pieces: Iterable[bytes], *, most: int, most_bytes: int) -> BoundedLines:
    """Return the first statements of a document.

    Args:
        pieces: of N-Quads, in complete lines.
        most: limit of statements.
        most_bytes: limit of bytes; the statement that exceeds it is left out.
    """
    kept: list[bytes] = []
    n_bytes = 0
    for line in (x for piece in pieces for x in piece.splitlines(keepends=True)):
        n_bytes += len(line)
        if len(kept) == most or n_bytes > most_bytes:
            return BoundedLines(b"".join(kept), len(kept), is_cut=True)
        kept.append(line)
    return BoundedLines(b"".join(kept), len(kept), is_cut=False)


def turtle_of(lines: bytes, graph: str, *, most_chars: int | None = None) -> str:
    """Return statements as Turtle, or as TriG if some are in other graphs.

    Args:
        lines: N-Quads.
        graph: of the document, omitted if all statements are in it.
        most_chars: of a literal, which is cut; None: no limit.

    Raises:
        SyntaxError: the lines are damaged.
    """
    quads = list(ox.parse(lines, format=ox.RdfFormat.N_QUADS))
    if most_chars is not None:
        quads = [_shortened(quad, most_chars) for quad in quads]
    prefixes = _used(lines)
    own = ox.NamedNode(graph)
    if all(quad.graph_name in (own, ox.DefaultGraph()) for quad in quads):
        triples = (quad.triple for quad in quads)
        text = ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes=prefixes)
    else:
        text = ox.serialize(quads, format=ox.RdfFormat.TRIG, prefixes=prefixes)
    return (text or b"").decode()


def _shortened(quad: ox.Quad, most_chars: int) -> ox.Quad:
    literal = quad.object
    if not isinstance(literal, ox.Literal) or len(literal.value) <= most_chars:
        return quad
    n_more = len(literal.value) - most_chars
    text = f"{literal.value[:most_chars]}... ({counted(n_more, 'more character')})"
    short = ox.Literal(text)
    return ox.Quad(quad.subject, quad.predicate, short, quad.graph_name)


def _used(lines: bytes) -> dict[str, str]:
    return {
        prefix: iri for prefix, iri in _PREFIXES.items() if b"<" + iri.encode() in lines
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStatements:
    """Statements of a version of a document.

    Attributes:
        version: its name.
        text: Turtle, or TriG if some statements are in other graphs; long literals are
            cut.
        n_statements: in the text.
        is_cut: there are more.
    """

    version: str
    text: str
    n_statements: int
    is_cut: bool


# The values of a URI that cannot be requested, but for its explanation.
_NOTHING: Final[Mapping[str, Any]] = {
    "statements": None,
    "former": "",
    "difference": None,
    "is_behind": False,
    "secs_behind": 0,
    "is_partial": False,
}


class UriReader:
    """Reads all that is known of URIs of one crawl.

    Args:
        access: to the crawl.
    """

    def __init__(self, access: CrawlAccess) -> None:
        self._access = access

    async def read(self, text: str, *, version: str, former: str) -> dict[str, Any]:
        """Return everything known of a URI, as the page documents it.

        Args:
            text: the URI, in any spelling.
            version: of its document to show, by name; else the latest.
            former: version to compare with; else the one before.
        """
        text = text[:_MOST_URI_CHARS]
        url = requestable_url(text, self._options().schemes)
        if isinstance(url, UriExplanation):
            return {**_NOTHING, "explanation": url, "answer": VERDICTS[url.verdict]}
        findings = await self._query_frontier(url)
        return await asyncio.to_thread(
            self._read_logs, text, url, findings, version, former
        )

    async def _query_frontier(self, url: str) -> FrontierFindings:
        async def query(crawl: OperatedCrawl) -> FrontierFindings:
            try:
                return await query_frontier(crawl, url, most=_MOST_QUEUED)
            except ConfigError as error:
                return FrontierFindings(None, refusal=str(error))

        findings = await self._access.read(query)
        return findings or FrontierFindings(None, refusal=self._access.why_away)

    def _options(self) -> CrawlOptions:
        return CrawlOptions.from_settings(self._access.settings, self._access.name)

    def _logs(self, options: CrawlOptions) -> SearchedLogs:
        try:
            return SearchedLogs.indexed(
                self._access.root,
                options.normal_form,
                most_bytes=_MOST_BYTES,
                most_member_bytes=_MOST_MEMBER_BYTES,
                most_members=_MOST_MEMBERS,
            )
        except sqlite3.Error as error:
            logger.warning("the index cannot be read: %s", error)
            return SearchedLogs(self._access.root, most_bytes=_MOST_BYTES)

    def _read_logs(
        self, text: str, url: str, findings: FrontierFindings, version: str, former: str
    ) -> dict[str, Any]:
        options = findings.options or self._options()
        logs = self._logs(options)
        try:
            found = explain_by_logs(text, url, findings, options, logs)
        except sqlite3.Error as error:
            logger.warning("the index cannot be read: %s", error)
            logs = SearchedLogs(self._access.root, most_bytes=_MOST_BYTES)
            found = explain_by_logs(text, url, findings, options, logs)
        shown, earlier = _chosen(found.versions, version, former)
        documents = self._documents([x for x in (shown, earlier) if x is not None])
        statements = difference = None
        if shown is not None and shown.name in documents:
            statements = _shown(shown, documents[shown.name])
            if earlier is not None and earlier.name in documents:
                difference = _difference(documents[earlier.name], documents[shown.name])
        return {
            "explanation": found,
            "answer": VERDICTS[found.verdict],
            "statements": statements,
            "former": earlier.name if earlier is not None and difference else "",
            "difference": difference,
            "is_behind": logs.n_unread_bytes > 0,
            "secs_behind": _secs_behind(logs),
            "is_partial": logs.is_cut,
        }

    def _documents(self, versions: Sequence[UriVersion]) -> dict[str, LogDocument]:
        folder: Path = self._access.root / "quads"
        names = {each.place: each for each in versions if each.place is not None}
        return {
            names[place].name: document
            for place, document in read_places(folder, sorted(names))
            # A compaction may have replaced it since.
            if document.digest.hex() == names[place].digest
        }

    async def download(self, text: str, *, version: str, form: str) -> bytes | None:
        """Return the statements of a version as a file; None if none are stored.

        Args:
            text: the URI.
            version: by name; else the latest.
            form: `ttl`, or `nq` for N-Quads.
        """
        url = requestable_url(text[:_MOST_URI_CHARS], self._options().schemes)
        if isinstance(url, UriExplanation):
            return None
        return await asyncio.to_thread(self._download, url, version, form)

    def _download(self, url: str, version: str, form: str) -> bytes | None:
        options = self._options()
        with self._logs(options) as logs:
            search = UriSearch(logs, url, options.normal_form)
            versions, _ = search.versions()
        shown, _ = _chosen(versions, version, "")
        if shown is None or not (found := self._documents([shown])):
            return None
        lines = first_lines(
            found[shown.name].pieces(),
            most=_DOWNLOADED_STATEMENTS,
            most_bytes=_DOWNLOADED_BYTES,
        )
        end = b"# There is more: this is cut.\n" if lines.is_cut else b""
        if form == "nq":
            return lines.lines + end
        return turtle_of(lines.lines, shown.graph).encode() + end


def _secs_behind(logs: SearchedLogs) -> int | None:
    if not logs.n_unread_bytes:
        return 0
    if not logs.caught_up_ms:
        return None
    return max(round(time.time() - logs.caught_up_ms / 1000), 1)


def _chosen(
    versions: Sequence[UriVersion], version: str, former: str
) -> tuple[UriVersion | None, UriVersion | None]:
    """Return the version to show, and the one to compare with."""
    kept = [each for each in versions if each.place is not None]
    names = {each.name: number for number, each in enumerate(kept)}
    if not kept:
        return None, None
    number = names.get(version, len(kept) - 1)
    earlier = names.get(former, number - 1)
    return kept[number], kept[earlier] if earlier not in (number, -1) else None


def _shown(version: UriVersion, document: LogDocument) -> ShownStatements | None:
    try:
        found = first_lines(
            document.pieces(), most=_SHOWN_STATEMENTS, most_bytes=_SHOWN_BYTES
        )
        text = turtle_of(found.lines, version.graph, most_chars=_SHOWN_CHARS)
    except (OSError, TornMember, SyntaxError) as error:
        logger.warning("a version cannot be shown: %s", error)
        return None
    return ShownStatements(
        version=version.name,
        text=text,
        n_statements=found.n_statements,
        is_cut=found.is_cut,
    )


def _difference(former: LogDocument, now: LogDocument) -> StatementDifference | None:
    try:
        return compare_versions(
            former, now, most_bytes=_COMPARED_BYTES, most_listed=_LISTED_CHANGES
        )
    except (OSError, TornMember) as error:
        logger.warning("versions cannot be compared: %s", error)
        return None
