"""When a report is made again: each of its inputs, and each of its files, counts."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

import pytest

from rdfcrawl.analysis.report import state as report_state
from rdfcrawl.analysis.report.state import ReportState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCOPE: Final[tuple[object, ...]] = (None, 0, [])  # site, time, session parameters
SOURCES: Final = (
    *("quads/a.seg", "provenance/a.lock.gz", "links/a.gz", "epochs/a.jsonl"),
    *("followers/a.json", "refresh/outlook.json", "verified/a.json"),
    *("urldb/urldb.json", "ranks/ranks.bin"),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the folder of a crawl with a report."""
    found = tmp_path / "one"
    for name in (*SOURCES, "quads/readers.lock", "report/report.html", "report/a.csv"):
        path = found / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    keep(found)
    return found


def keep(root: Path, *names: str) -> None:
    """Note that a report was made."""
    folder = root / "report"
    wanted = names or ("report.html", "a.csv")
    ReportState(root, folder, *SCOPE).keep([folder / name for name in wanted])


def is_current(root: Path, *scope: object, folder: str = "report") -> bool:
    """Return whether the report is up to date."""
    return ReportState(root, root / folder, *(scope or SCOPE)).page is not None


def test_report_without_changes_is_current(root: Path) -> None:
    """If nothing has changed, or a lock was taken, then the report is up to date."""
    assert is_current(root)
    (root / "quads" / "readers.lock").write_text("")
    (root / "quads" / "compaction.lock").write_text("")
    assert is_current(root)


@pytest.mark.parametrize("name", [*SOURCES, "report/report.html", "report/a.csv"])
@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_text("12"),
        lambda path: path.unlink(),
        lambda path: os.utime(path, ns=(0, 1)),
    ],
    ids=["longer", "removed", "touched"],
)
def test_each_file_counts(
    root: Path, name: str, change: Callable[[Path], object]
) -> None:
    """If a source or a file of the report has changed, then it is made again."""
    change(root / name)
    assert not is_current(root)


@pytest.mark.parametrize("name", [name for name in SOURCES if name.count("/a")])
def test_new_files_count(root: Path, name: str) -> None:
    """If a worker, a store or a comparison has another file, then it is made again."""
    (root / name).with_name("b").write_text("1")
    assert not is_current(root)


@pytest.mark.parametrize(
    "scope",
    [("a.example", 0, []), (None, 1, []), (None, 0, ["sid"])],
    ids=["site", "since", "session parameters"],
)
def test_each_argument_counts(root: Path, scope: tuple[object, ...]) -> None:
    """If an argument or a setting differs, then the report is made again."""
    assert not is_current(root, *scope)
    assert not is_current(root, folder="elsewhere")


def test_version_and_name_of_the_crawl_count(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the software is another, or the crawl was renamed, then it is made again."""
    renamed = root.rename(root.with_name("two"))
    assert not is_current(renamed)
    keep(renamed)
    assert is_current(renamed)
    monkeypatch.setattr(report_state, "__version__", "0")
    assert not is_current(renamed)


@pytest.mark.parametrize("text", ["", "x", "x\ny\nreport.html", "\0\n\xff"])
def test_damaged_state_is_none(root: Path, text: str) -> None:
    """If the noted state is damaged, then the report is made again."""
    (root / "report" / ".state").write_bytes(text.encode("latin-1"))
    assert not is_current(root)
    keep(root)
    assert is_current(root)


@pytest.mark.parametrize("secs", [3601, -60])
def test_report_is_current_for_an_hour(root: Path, secs: int) -> None:
    """If it is older than an hour, or of the future, then the report is made again."""
    there = time.time() - secs
    os.utime(root / "report" / ".state", (there, there))
    assert not is_current(root)


def test_tables_of_the_last_report_are_removed(root: Path) -> None:
    """If a new report lacks a table of the last one, then its file is removed.

    Other files in the folder stay.
    """
    (root / "report" / "notes.csv").write_text("1")
    (root / "report" / "b.csv").write_text("1")
    keep(root, "report.html", "b.csv")
    names = {path.name for path in (root / "report").iterdir()}
    assert names == {".state", "report.html", "b.csv", "notes.csv"}
    assert is_current(root)
