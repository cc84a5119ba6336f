"""The state of the files of which a report was made, and of those of the report.

The same logs give the same report, but for the freshness of copies at its time. So an
unchanged state means that it is up to date, for an hour.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final

from rdfcrawl.core import __version__
from rdfcrawl.core.times import now_ms
from rdfcrawl.stores.files import replacing_file

# Folders of a crawl. A report uses all their files, but for locks.
_SOURCES: Final = (
    *("quads", "provenance", "links"),
    *("epochs", "followers", "refresh", "verified"),
)
_DERIVED: Final = "urldb/urldb.json", "ranks/ranks.bin"
_LOCK: Final = ".lock"
_NAME: Final = ".state"
_HOUR_MS: Final = 3_600_000
_VALID_SECS: Final = 3600


class ReportState:
    """The files of which a report is made, at one time; create it before they are read.

    They are compared by name, size and time of modification.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        folder: of the report.
        scope: arguments of the report.
    """

    def __init__(self, root: Path, folder: Path, *scope: object) -> None:
        self._root, self._folder = root, folder
        sources = [list(_files_in(root / name)) for name in _SOURCES]
        self._begin = __version__, root.name, scope, sources
        self._now_ms = now_ms()

    @property
    def page(self) -> Path | None:
        """The page of the last report if it is up to date; else None."""
        try:
            made_secs = (self._folder / _NAME).stat().st_mtime
            if not 0 <= time.time() - made_secs < _VALID_SECS:
                return None
            kept, made, *names = (self._folder / _NAME).read_text().split("\n")
            is_young = 0 <= self._now_ms - int(made) < _HOUR_MS
        except (OSError, ValueError):
            return None
        is_current = is_young and kept == self._digest(names)
        return self._folder / names[0] if is_current else None

    def keep(self, written: Iterable[Path]) -> None:
        """Note the state of a new report; remove tables that only the last one had.

        Args:
            written: its files, the page first.

        Raises:
            OSError: the disk is full.
        """
        names = [path.name for path in written]
        for name in self._kept_names() - set(names):
            (self._folder / name).unlink(missing_ok=True)
        with replacing_file(self._folder / _NAME) as file:
            file.write("\n".join([self._digest(names), str(self._now_ms), *names]))

    def _kept_names(self) -> set[str]:
        """Return the names of the tables of the last report."""
        try:
            _, _, *names = (self._folder / _NAME).read_text().split("\n")
        except (OSError, ValueError):
            return set()
        return {x for x in names if x.endswith(".csv") and x == Path(x).name}

    def _digest(self, names: Iterable[str]) -> str:
        derived = [self._root / name for name in _DERIVED]
        paths = [*derived, *(self._folder / name for name in names)]
        state = *self._begin, [_state_of(path) for path in paths]
        return blake2b(repr(state).encode(), digest_size=16).hexdigest()


def _files_in(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    if folder.is_dir():
        with os.scandir(folder) as entries:
            names = sorted(each.name for each in entries)
        for name in names:
            if name.endswith(_LOCK):
                continue
            yield name, _state_of(folder / name)


def _state_of(path: Path) -> tuple[int, int]:
    """Return size and time of a file; zeros if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_size, found.st_mtime_ns
