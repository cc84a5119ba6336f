"""The latest documents, faults and log lines of a crawl."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlTail:
    """The latest documents, faults and log lines.

    Attributes:
        fetches: the latest first.
        faults: the latest first.
        log: the latest last; None if the crawl writes no log file on this machine.
    """

    fetches: Sequence[Mapping[str, Any]] = ()
    faults: Sequence[Mapping[str, Any]] = ()
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
        listed = self._access.listed
        faults = await listed(_FAULTS, MOST_FAULTS)
        for each in faults:
            each["detail"] = shown_text(each["detail"], _MAX_DETAIL)
        return CrawlTail(
            fetches=await listed(_FETCHES, MOST_FETCHES),
            faults=faults,
            log=await asyncio.to_thread(self._log.read),
        )
