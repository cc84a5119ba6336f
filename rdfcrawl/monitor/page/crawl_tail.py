"""The latest documents, faults and log lines of a crawl."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rdfcrawl.monitor.page.crawl_access import CrawlAccess
from rdfcrawl.monitor.page.log_tail import LOG, LogLine, LogTail
from rdfcrawl.monitor.page.texts import shown_text

MOST_FETCHES: Final = 10
MOST_FAULTS: Final = 5
_MAX_DETAIL: Final = 200
_FETCHES: Final = """
SELECT ended_ms, uri, status, http_status, n_statements, n_links, format, reason
FROM recent_fetches ORDER BY ended_ms DESC, uri LIMIT ?
"""
_FAULTS: Final = """
SELECT ended_ms, uri, reason, detail FROM fault_example
ORDER BY ended_ms DESC, uri LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class TailFetch:
    """A document that was fetched lately.

    Attributes:
        ended_ms: Unix time.
        uri: that was crawled.
        status: of the document, as in the provenance.
        http_status: of the last response; 0: there was none.
        n_statements: stored.
        n_links: found.
        format: name of its format; empty: not known.
        reason: of its first fault; empty if it has none.
    """

    ended_ms: int
    uri: str
    status: str
    http_status: int
    n_statements: int
    n_links: int
    format: str
    reason: str


@dataclass(frozen=True, slots=True)
class TailFault:
    """A fault that occurred lately.

    Attributes:
        ended_ms: Unix time.
        uri: of the document.
        reason: as in the table of faults.
        detail: of it.
    """

    ended_ms: int
    uri: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlTail:
    """The latest documents, faults and log lines.

    Attributes:
        fetches: the latest first.
        faults: the latest first.
        log: the latest last; None if the crawl writes no log file on this machine.
    """

    fetches: tuple[TailFetch, ...] = ()
    faults: tuple[TailFault, ...] = ()
    log: tuple[LogLine, ...] | None = None


class TailReader:
    """Reads the tail of a crawl.

    Args:
        access: to the crawl.
    """

    def __init__(self, access: CrawlAccess) -> None:
        self._access = access
        name = access.settings.get(LOG) or access.settings.get("LOG_FILE")
        self._log = LogTail(access.root, Path(name) if name else None)

    async def read(self) -> CrawlTail:
        """Return the tail."""
        indexed = self._access.indexed
        fetches = await indexed(_FETCHES, (MOST_FETCHES,))
        faults = await indexed(_FAULTS, (MOST_FAULTS,))
        return CrawlTail(
            fetches=tuple(TailFetch(*row) for row in fetches),
            faults=tuple(
                TailFault(ended_ms, uri, reason, shown_text(detail, _MAX_DETAIL))
                for ended_ms, uri, reason, detail in faults
            ),
            log=await asyncio.to_thread(self._log.read),
        )
