"""Find the earlier state of a comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.crawl_folder import read_identity, read_runs
from rdfcrawl.stores.export.selection import parse_since
from rdfcrawl.stores.log.crawl_log import CrawlLog
from rdfcrawl.stores.segment_file import SEGMENT_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rdfcrawl.stores.crawl_folder import CrawlRuns


@dataclass(frozen=True, slots=True)
class EarlierState:
    """An earlier state of a log.

    Attributes:
        name: for people.
        since_ms: versions fetched up to then count, Unix time in ms.
        log: if set, the state is this log, which `fresh=1` moved aside.
        run: if set, everything that workers of this run and earlier ones wrote counts,
            as far as the run of a worker is known. Numbered from 0.
        workers: the run of each worker, by name.
    """

    name: str
    since_ms: int
    log: CrawlLog | None = None
    run: int | None = None
    workers: Mapping[str, int] = field(default_factory=dict)

    def has_segment(self, name: str) -> bool | None:
        """Return whether the versions in a segment count; None: decide by time."""
        found = SEGMENT_NAME.fullmatch(name)
        run = self.workers.get(found["worker"]) if found else None
        return None if self.run is None or run is None else run <= self.run


def find_start(root: Path, text: str | None) -> EarlierState:
    """Return the state that `--since` names.

    Args:
        root: folder of the crawl.
        text: the number of a run, for its end; a folder `before-…`; or a time. None:
            the end of the run before the last, else the last such folder, else the
            empty log.

    Raises:
        ConfigError: there is no such run, folder or time.
    """
    runs = read_runs(root / "quads")
    numbers = sorted(runs.ended)
    folders = _folders(root)
    if text is None:
        if len(numbers) > 1:
            return _end_of(runs, numbers[-2])
        if not folders:
            return EarlierState("the beginning", -1)
        text = folders[-1]
    if text in folders:
        return EarlierState(text, -1, CrawlLog(root / text))
    if text.isascii() and text.isdigit() and len(text) < 8:  # 20260921 is a date
        if int(text) - 1 not in runs.ended:
            known = "no runs"
            if numbers:
                known = f"runs {numbers[0] + 1} to {numbers[-1] + 1}"
            raise ConfigError(f"--since {text}: this crawl has ended {known}")
        return _end_of(runs, int(text) - 1)
    try:
        since_ms = parse_since(text)
    except ConfigError as error:
        known = ", ".join(["the number of a run", *folders])
        raise ConfigError(f"{error}; or {known}") from error
    return EarlierState(shown_time(since_ms), since_ms)


def _folders(root: Path) -> list[str]:
    """Return the folders that `fresh=1` moved aside, by generation, not by clock."""
    found = []
    for path in root.glob("before-*/quads"):
        identity = read_identity(path)
        if identity is not None:
            found.append((identity.generation, path.parent.name))
    return [name for _, name in sorted(found)]


def _end_of(runs: CrawlRuns, number: int) -> EarlierState:
    ended_ms = runs.ended[number]
    return EarlierState(
        f"run {number + 1}, which ended at {shown_time(ended_ms)}",
        ended_ms,
        run=number,
        workers=runs.workers,
    )


def shown_time(ms: int) -> str:
    """Return a time in ISO 8601.

    >>> shown_time(1790000000000)
    '2026-09-21T14:13:20Z'
    """
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
