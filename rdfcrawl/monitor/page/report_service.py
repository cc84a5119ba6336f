"""Make reports on request of visitors, one at a time."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final

from rdfcrawl.analysis.report.writing import CONTENTS_NAME, PAGE_NAME
from rdfcrawl.monitor.page.children import PageChild
from rdfcrawl.monitor.page.texts import number_text, shown_text
from rdfcrawl.uri import registered_domain

_MODULE: Final = "rdfcrawl.monitor.page.report_child"
_MOST_SECS: Final = 6 * 3600.0  # for a report
_MOST_SITES: Final = 10  # with kept reports
_is_site: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?").fullmatch
_is_name: Final = re.compile(r"[a-z0-9-]{1,100}\.csv|report\.json").fullmatch
_MAX_FIGURES: Final = 6
_OF_PART: Final = ("key", "title", "sentence")
_OF_ITEM: Final = (*_OF_PART, "why_empty", "chart", "columns", "n_rows")


class ReportService:
    """Makes reports of one crawl, and finds earlier ones.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        session_parameters: of the normal form of the crawl.

    Attributes:
        making: site of the report in progress, empty for all; None: there is none.
        refusal: why the last one could not be made; empty if it could.
        damages: of the logs, by the last report.
    """

    def __init__(self, root: Path, session_parameters: tuple[str, ...]) -> None:
        self._root = root
        self._session_parameters = session_parameters
        self.making: str | None = None
        self.refusal = ""
        self.damages: list[str] = []
        self._began = 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def making_secs(self) -> float:
        """Duration of the report in progress so far."""
        return monotonic() - self._began if self.making is not None else 0.0

    def begin(self, site: str) -> bool:
        """Start a report; return False if another one is in progress."""
        if self.making is not None:
            return False
        self.making, self._began = site, monotonic()
        self._task = asyncio.create_task(self._make(site))
        return True

    async def _make(self, site: str) -> None:
        folder = self._own(site)
        job = {
            "root": str(self._root),
            "folder": str(folder),
            "site": site,
            "session_parameters": self._session_parameters,
        }
        answer: dict[str, Any] | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            child = await PageChild.start(_MODULE, job)
            try:
                answer = await child.next_line(_MOST_SECS)
            finally:
                await child.end()
        except OSError as error:  # a timeout, too
            answer = {"refusal": f"report: {error or 'it took too long'}"}
        finally:
            self.making = None
        found = answer or {"refusal": "report: its process was ended"}
        self.refusal = found.get("refusal", "")
        self.damages = found.get("damages", [])
        await asyncio.to_thread(self._remove_old)

    def _own(self, site: str) -> Path:
        return self._root / "page" / "report" / (f"of-{site}" if site else "all")

    def _remove_old(self) -> None:
        """Remove the reports of single sites beyond the latest."""
        with suppress(OSError):
            folders = sorted(
                (self._root / "page" / "report").glob("of-*"),
                key=lambda each: -each.stat().st_mtime,
            )
            for folder in folders[_MOST_SITES:]:
                shutil.rmtree(folder, ignore_errors=True)

    def _folder(self, site: str) -> Path:
        """Return the folder of the latest report: ours, or that of `scrapy report`."""
        folders = [self._own(site)]
        if not site:
            folders.append(self._root / "report")
        return max(folders, key=lambda each: _made_ms(each / CONTENTS_NAME))

    def page(self, site: str) -> Path | None:
        """Return the path of a report as HTML; None if there is none."""
        return _existing(self._folder(site) / PAGE_NAME)

    def file(self, site: str, name: str) -> Path | None:
        """Return the path of a file: `report.json`, or an item as CSV; or None."""
        return _existing(self._folder(site) / name) if _is_name(name) else None

    def kept(self, site: str) -> dict[str, Any] | None:
        """Return the last report, with texts for cells; None if there is none."""
        path = self._folder(site) / CONTENTS_NAME
        try:
            report = json.loads(path.read_bytes())
            return {
                "title": report["title"],
                "scope": report["scope"],
                "made_ms": _made_ms(path),
                "outcomes": list(_outcomes(report)),
                "freshness": _freshness(report),
                "parts": [
                    {name: part[name] for name in _OF_PART}
                    | {"items": [_item(each) for each in part["items"]]}
                    for part in report["sections"]
                ],
            }
        except OSError:  # there is none
            return None
        except (KeyError, TypeError, ValueError):  # of another version
            return None


def checked_site(text: str) -> str:
    """Return the registered domain of a site; empty for all.

    Raises:
        ValueError: the text is not the name of a host.

    >>> checked_site("WWW.example.org"), checked_site("")
    ('example.org', '')
    """
    name = text.strip().lower()
    if not name:
        return ""
    if not _is_site(name) or ".." in name:
        raise ValueError("site: must be the name of a host")
    return registered_domain(name)


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None


def _made_ms(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return 0


def _item(item: dict[str, Any]) -> dict[str, Any]:
    rows = [[_cell_text(cell) for cell in row] for row in item["rows"]]
    return {name: item[name] for name in _OF_ITEM} | {"rows": rows}


def _cell_text(cell: Any) -> str:
    """Return a cell of a table as text.

    >>> _cell_text({"value": 0.25, "numerator": 1, "denominator": 4}), _cell_text(1200)
    ('0.25 (1 of 4)', '1,200')
    """
    if isinstance(cell, dict):
        value = number_text(cell["value"])
        if cell["value"] is None:
            return value
        numbers = (number_text(cell[x]) for x in ("numerator", "denominator"))
        return f"{value} ({' of '.join(numbers)})"
    return shown_text(cell) if isinstance(cell, str) else number_text(cell)


def _outcomes(report: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for part in report["sections"]:
        for item in part["items"]:
            if item["key"] == "outcomes":
                for name, share, *_ in item["rows"][:_MAX_FIGURES]:
                    yield str(name), int(share["numerator"])


def _freshness(report: dict[str, Any]) -> tuple[float, ...]:
    """Return pages with a copy, the share of fresh ones, and its bounds, if known."""
    for part in report["sections"]:
        for item in part["items"]:
            if item["key"] == "freshness" and item["rows"]:
                return tuple(item["rows"][0][1:5])
    return ()
