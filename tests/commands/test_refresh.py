"""`scrapy refresh`, as its operator sees it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from rdfcrawl.monitor.refreshing.epochs import RefreshPlanFile
from tests.support.url_events import UrlFetched, write_events

if TYPE_CHECKING:
    from pathlib import Path

PAGES = ["http://a.example/1", "http://a.example/2"]
FETCHED_MS = 1_700_000_000_000


def refresh(
    folder: Path, *words: str, stderr: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """Run the command for the crawl in a folder."""
    given = [sys.executable, "-m", "scrapy", "refresh", f"-sCRAWL_DIR={folder}", *words]
    return subprocess.run(
        given, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False
    )


def test_refresh_reports_its_steps(tmp_path: Path) -> None:
    """If pages are due, then a dry run shows them, and a refresh queues them once.

    On a terminal, a line shows the progress. A second refresh in the same epoch queues
    nothing; a concurrent one is refused with one line.
    """
    root = tmp_path / "c"
    write_events(root, [UrlFetched(url, FETCHED_MS) for url in PAGES])
    shown = refresh(tmp_path, "--dry-run")
    assert [line.split()[0] for line in shown.stdout.splitlines()] == PAGES
    assert "fetched 2023-11-14T22:13:20Z, 0 changes in 1 fetch" in shown.stdout
    assert not (root / "refresh").exists()
    terminal, seen = os.openpty()
    first = refresh(tmp_path, "--json", stderr=seen)
    assert b"planning: 1 page is due on 1 host so far" in os.read(terminal, 4096)
    told = [json.loads(each.stdout) for each in (first, refresh(tmp_path, "--json"))]
    assert [each["queued"] for each in told] == [2, 0]
    assert [each["due"] for each in told] == [2, 2]
    assert [each["is_new"] for each in told] == [True, False]
    again = refresh(tmp_path, "--dry-run", "--json")
    assert [json.loads(x)["url"] for x in again.stdout.splitlines()] == PAGES
    with RefreshPlanFile(root).alone():
        refused = refresh(tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.endswith("another refresh of this crawl is running\n")
    assert refused.stderr.count("\n") == 1
