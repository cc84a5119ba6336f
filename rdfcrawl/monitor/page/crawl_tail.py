"""The latest documents, faults and log lines of a crawl."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rdfcrawl.core.errors import hide_logins
from rdfcrawl.monitor.page.crawl_access import CrawlAccess
from rdfcrawl.monitor.page.texts import shown_text

LOG: Final = "CRAWL_PAGE_LOG"
"""Setting by which a command with `--page` passes its log file; internal."""
MOST_LINES: Final = 12
_MOST_FILES: Final = 8  # those that were written last
_TAIL_BYTES: Final = 16 * 1024  # of each file
_MAX_CHARS: Final = 300  # of a line
_IMPORTANT: Final = frozenset(("WARNING", "ERROR", "CRITICAL"))
_LEVELS: Final = frozenset(("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
_parts_of: Final = re.compile(
    r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\S* \[[^\]]*\] ([A-Z]+): (.*)"
).fullmatch
MOST_FETCHES: Final = 10
MOST_FAULTS: Final = 5
_MAX_DETAIL: Final = 200


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log.

    Attributes:
        at: time, as the log has it; for a continued line, that of the line before.
        level: of logging; empty for a continued line of a warning or error.
        text: its message, without logins.
        name: of the file, without ending.
    """

    at: str
    level: str
    text: str
    name: str


class LogTail:
    """Reads the ends of log files, when they have changed.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`, with the logs of `scrapy workers`.
        path: of `LOG_FILE`; None: the crawl logs to its terminal.
    """

    def __init__(self, root: Path, path: Path | None) -> None:
        self._root = root
        self._path = path
        self._state: object = None
        self._lines: tuple[LogLine, ...] = ()

    def read(self) -> tuple[LogLine, ...] | None:
        """Return the last lines, oldest first; None if there is no file."""
        found = sorted(self._files(), reverse=True)[:_MOST_FILES]
        if not found:
            return None
        if found != self._state:
            lines = [line for *_, path in found for line in _lines_of(path)]
            lines.sort(key=lambda line: line.at)  # stable: continued lines stay
            self._state, self._lines = found, tuple(lines[-MOST_LINES:])
        return self._lines

    def _files(self) -> Iterator[tuple[int, int, Path]]:
        """Yield time of change, size and path of each log."""
        paths = [*(self._root / "logs").glob("*.log")]
        for path in [*paths, *([self._path] if self._path else [])]:
            try:
                status = path.stat()
            except OSError:
                continue
            yield status.st_mtime_ns, status.st_size, path


def _lines_of(path: Path) -> Iterator[LogLine]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            content = file.read(_TAIL_BYTES)
    except OSError:
        return
    lines = content.decode("utf-8", "replace").splitlines()
    at, is_important = "", False
    for text in lines[1:] if size > _TAIL_BYTES else lines:
        parts = _parse(text)
        at, level, message = parts or (at, "", text)
        is_important = level in _IMPORTANT if parts else is_important
        # Other messages of several lines are lists of components and settings.
        is_list = not is_important and (not parts or message.endswith(":"))
        if message.strip() and at and not is_list:
            shown = shown_text(hide_logins(message), _MAX_CHARS)
            yield LogLine(at, level, shown, path.stem)


def _parse(text: str) -> tuple[str, str, str] | None:
    """Return time, level and message of a line of Scrapy or of `LOG_FORMAT=json`.

    >>> _parse("2026-09-21 10:00:00 [scrapy.core.engine] INFO: Spider opened")
    ('2026-09-21 10:00:00', 'INFO', 'Spider opened')
    >>> _parse('{"time": "2026-09-21T10:00:00.5Z", "level": "INFO", "event": "a"}')
    ('2026-09-21 10:00:00', 'INFO', 'a')
    """
    if found := _parts_of(text):
        return found[1], found[2] if found[2] in _LEVELS else "", found[3]
    if not text.startswith("{"):
        return None
    try:
        members: dict[str, Any] = json.loads(text)
        at, level, event = (str(members[x]) for x in ("time", "level", "event"))
    except (ValueError, KeyError, TypeError):
        return None
    return at[:19].replace("T", " "), level if level in _LEVELS else "", event


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
