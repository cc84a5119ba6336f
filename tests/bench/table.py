"""The table of all figures with a budget, and its place in the documentation.

A line before the table has the commit and the machine it comes from, and a mark its
checksum: `tests/gates/test_bench_table.py` finds rows that are missing or were changed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyoxigraph
import scrapy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.bench.figures import Figure

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "explanation" / "performance.md"
_HEAD: Final = (
    "| | measured | reference | ratio or value | budget |\n|---|---|---|---|---|"
)
_END: Final = "<!-- end of the table -->"
_PLACE: Final = re.compile(
    rf"<!-- the table of make bench: (\w+) -->\n\n(.*?)\n\n{_END}", re.DOTALL
)


def table_text(figures: Iterable[Figure]) -> str:
    """Return the origin of figures, and a table of them in Markdown."""
    return "\n".join([_origin(), "", _HEAD, *(figure.row() for figure in figures)])


def write_table(text: str, page: Path = PAGE) -> None:
    """Put a table into its place on a page."""
    marked = f"<!-- the table of make bench: {checksum(text)} -->\n\n{text}\n\n{_END}"
    page.write_text(_PLACE.sub(lambda _: marked, page.read_text("utf-8")), "utf-8")


def read_table(page: Path = PAGE) -> tuple[str, str]:
    """Return the checksum and the text of the table on a page.

    Raises:
        ValueError: the page has no place for a table.
    """
    found = _PLACE.search(page.read_text("utf-8"))
    if found is None:
        raise ValueError(f"{page} has no table between two marks")
    return found[1], found[2]


def checksum(text: str) -> str:
    """Return the checksum of a table, which its first mark has."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _origin() -> str:
    commit = _git("rev-parse", "--short=12", "HEAD")
    changed = " with changes" if _git("status", "--porcelain", "rdfcrawl") else ""
    today = datetime.now(UTC).date().isoformat()
    return (
        f"Commit {commit}{changed}, {today}: {os.cpu_count()} cores of {_processor()},"
        f" {platform.system()} {platform.release().partition('-')[0]},"
        f" Python {platform.python_version()}, Scrapy {scrapy.__version__},"
        f" pyoxigraph {pyoxigraph.__version__};"
        f" {os.getloadavg()[2]:.1f} processes ran on average in the last 15 minutes."
    )


def _processor() -> str:
    for text in Path("/proc/cpuinfo").read_text().splitlines():
        if text.startswith("model name"):
            return text.partition(":")[2].strip()
    return platform.machine()


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()
