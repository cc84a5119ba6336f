"""The last lines of the logs of workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.monitor.page.crawl_tail import MOST_LINES, LogLine, LogTail

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Return the folder of the logs of workers."""
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


def test_lines_of_all_workers_are_in_order(tmp_path: Path, logs: Path) -> None:
    """If workers log as Scrapy or as JSON, then the last lines come by their times."""
    (logs / "worker-1.log").write_text(
        "2026-09-21 10:00:00 [a.b] INFO: first\n"
        "2026-09-21 10:00:02 [a.b] INFO: Enabled addons:\n['x']\n"
        "2026-09-21 10:00:03 [a.b] ERROR: broken\nTraceback (most recent call last):\n"
    )
    (logs / "worker-2.log").write_text(
        '{"time": "2026-09-21T10:00:01.500Z", "level": "WARNING", "event": "second"}\n'
        '{"time": 1, "level"\n'
    )
    assert LogTail(tmp_path, None).read() == (
        LogLine("2026-09-21 10:00:00", "INFO", "first", "worker-1"),
        LogLine("2026-09-21 10:00:01", "WARNING", "second", "worker-2"),
        LogLine("2026-09-21 10:00:01", "", '{"time": 1, "level"', "worker-2"),
        LogLine("2026-09-21 10:00:03", "ERROR", "broken", "worker-1"),
        LogLine(
            "2026-09-21 10:00:03", "", "Traceback (most recent call last):", "worker-1"
        ),
    )


def test_only_the_end_of_a_file_is_read(tmp_path: Path) -> None:
    """If a log is long, then its last lines are read, again when it has grown."""
    path = tmp_path / "crawl.log"
    tail = LogTail(tmp_path, path)
    assert tail.read() is None
    lines = [f"2026-09-21 10:00:00 [a.b] INFO: {n} {'x' * 500}\n" for n in range(1000)]
    path.write_text("".join(lines))
    found = tail.read()
    assert found is not None
    assert [line.text[:3] for line in found] == [
        str(n) for n in range(1000 - MOST_LINES, 1000)
    ]
    assert all(len(line.text) < 400 for line in found)
    with path.open("a") as file:
        file.write("2026-09-21 10:00:01 [a.b] INFO: more\n")
    grown = tail.read()
    assert grown is not None
    assert grown[-1].text == "more"


def test_logins_and_hidden_characters_are_replaced(tmp_path: Path) -> None:
    """If a line has a login or characters that hide text, then these are not shown."""
    path = tmp_path / "crawl.log"
    path.write_text(
        "2026-09-21 10:00:00 [a.b] INFO: redis://me:secret@a.example/ \u202ex\n"
    )
    (line,) = LogTail(tmp_path, path).read() or ()
    assert "secret" not in line.text
    assert line.text.endswith("\\u202Ex")
