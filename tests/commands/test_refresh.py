"""`scrapy refresh`, as its operator sees it."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from rdfcrawl.analysis.report.content import ReportTable
from rdfcrawl.analysis.report.making import report_crawl
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.core.errors import Reason
from rdfcrawl.monitor.refreshing.epochs import RefreshPlanFile
from tests.support.command_forks import scrapy, shared_forks
from tests.support.url_events import NORMAL, LinksFound, UrlFetched, write_events

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

PAGES = ["http://a.example/1", "http://a.example/2"]
FETCHED_MS = 1_700_000_000_000
DAY_MS = 86_400_000


def refresh(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command for the crawl in a folder."""
    return scrapy("refresh", f"-sCRAWL_DIR={folder}", *words)


def refresh_on_terminal(folder: Path, *words: str) -> tuple[str, bytes]:
    """Run the command with a terminal for its progress; return both outputs."""
    terminal, seen = os.openpty()
    given = ["-m", "scrapy", "refresh", f"-sCRAWL_DIR={folder}", *words]
    with TemporaryFile() as out, os.fdopen(seen, "wb") as err:
        shared_forks().start(given, out, err).wait()
        out.seek(0)
        told = out.read().decode()
        shown = os.read(terminal, 4096)
    os.close(terminal)
    return told, shown


def test_refresh_explains_why_no_page_is_due(tmp_path: Path) -> None:
    """If no page is due, then one line has the reasons and the next date."""
    now_ms = round(time.time() * 1000)
    gone = UrlFetched(
        "http://a.example/gone", FETCHED_MS, status=410, fault=Reason.GONE
    )
    events = [UrlFetched(url, now_ms) for url in PAGES]
    write_events(tmp_path / "c", [*events, gone])
    week = "-sREFRESH_EPOCH_SECS=604800"
    shown = [refresh(tmp_path, week, *more).stdout for more in ((), ("--dry-run",))]
    week_ms = 604_800_000
    next_ms = now_ms - now_ms % week_ms + week_ms
    date = datetime.fromtimestamp(next_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for line in shown:
        why = f"no page is due: 2 fetched recently, 1 gone, the next is due on {date}"
        assert why in line
    again = json.loads(refresh(tmp_path, week, "--json").stdout)
    assert (again["not_due"], again["next"]) == ({"recent": 2, "gone": 1}, date)
    fixed = ("-sREFRESH_POLICY=fixed", "-sREFRESH_EPOCH_SECS=1", "--dry-run")
    interval = f"-sREFRESH_INTERVAL_SECS={86400 * 100}"
    time.sleep(1.1)
    told = refresh(tmp_path, *fixed, interval).stdout
    assert "2 not due by the policy" in told
    due_ms = now_ms + 8_640_000_000
    assert datetime.fromtimestamp(due_ms // 1000, UTC).isoformat()[:19] in told


def test_refresh_reports_its_steps(tmp_path: Path) -> None:
    """If pages are due, then a dry run shows them, and a refresh queues them once.

    On a terminal, a line shows the progress. A second refresh in the same epoch queues
    nothing; a concurrent one is refused with one line.
    """
    root = tmp_path / "c"
    write_events(root, [UrlFetched(url, FETCHED_MS) for url in PAGES])
    shown = refresh(tmp_path, "--dry-run")
    assert [line.split()[0] for line in shown.stdout.splitlines()] == PAGES
    changes = "0 content changes and 0 statement changes in 1 fetch"
    assert f"fetched 2023-11-14T22:13:20Z, {changes}" in shown.stdout
    assert not (root / "refresh").exists()
    first, seen = refresh_on_terminal(tmp_path, "--json")
    assert b"planning: 1 page is chosen on 1 host so far" in seen
    told = [json.loads(each) for each in (first, refresh(tmp_path, "--json").stdout)]
    assert [each["queued"] for each in told] == [2, 0]
    assert [each["chosen"] for each in told] == [2, 2]
    assert [each["is_new"] for each in told] == [True, False]
    again = refresh(tmp_path, "--dry-run", "--json")
    assert [json.loads(x)["url"] for x in again.stdout.splitlines()] == PAGES
    with RefreshPlanFile(root).alone():
        refused = refresh(tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.endswith("another refresh of this crawl is running\n")
    assert refused.stderr.count("\n") == 1


def test_budgets_that_leave_due_pages_say_so(tmp_path: Path) -> None:
    """If a host has more due pages than its budget, a line and the report say so.

    They have the length of a round, and the budget that fresh copies need. Hosts that
    are only linked do not count.
    """
    root = tmp_path / "c"
    urls = [f"http://a.example/{n}" for n in range(20)]
    elsewhere = LinksFound(urls[0], FETCHED_MS, ("http://b.example/",))
    write_events(root, [*(UrlFetched(url, FETCHED_MS) for url in urls), elsewhere])
    told = refresh(tmp_path, "-sREFRESH_HOST_BUDGET=2").stdout.splitlines()
    assert told[0].endswith(": 20 of 20 pages on 1 host are due, 2 chosen, 2 queued")
    line = "a.example: 2 of 20 pages an epoch, so a round takes 10 days, and at best"
    assert told[1].startswith(line)
    again = json.loads(refresh(tmp_path, "--json").stdout)
    (outlook,) = again["outlooks"]
    assert (outlook["n_pages"], outlook["round_days"]) == (20, 10)
    (table,) = next(x for x in report_crawl(root).sections if x.key == "budgets").items
    assert isinstance(table, ReportTable)
    n_needed = outlook["needed"]
    assert table.rows == (("a.example", 20, 2, 10, outlook["freshness"], n_needed),)
    assert f"0.9 needs {n_needed} an epoch" in told[1]
    assert 2 < n_needed <= 20
    write_events(root, [UrlFetched("http://b.example/", FETCHED_MS)], "other")
    build(root, NORMAL)
    assert [x.key for x in report_crawl(root, "b.example").sections][-1] != "budgets"


def test_freshness_that_is_out_of_reach_is_explained(tmp_path: Path) -> None:
    """If limits or fast changes prevent a wanted freshness, then a line says so.

    Else as many pages are chosen as it needs, also beyond the default of a host.
    """
    root, now_ms = tmp_path / "c", round(time.time() * 1000)
    events = [
        UrlFetched(
            f"http://a.example/{n}",
            now_ms - day * DAY_MS,
            facts=(("contentHash", f"{n if n % 3 else day:032x}"),),
        )
        for day in (9, 6, 3)
        for n in range(180)
    ]
    write_events(root, events)

    def plan(freshness: float, **limits: float) -> dict[str, Any]:
        given = [f"-s{name}={value}" for name, value in limits.items()]
        told = refresh(tmp_path, f"-sFRESHNESS={freshness}", "--json", *given)
        (root / "refresh" / "plan.jsonl").unlink()
        found: dict[str, Any] = json.loads(told.stdout)["freshness"]
        assert found["freshness"] == freshness
        return found

    easy, harder = plan(0.6), plan(0.71)
    assert easy["why"] == harder["why"] == ""
    assert easy["kept"] > 0.6
    assert easy["n_fetches"] == 7  # to learn the rates
    assert harder["kept"] < 0.71 <= harder["expected"] < 0.72
    assert 30 < harder["n_fetches"] < 180
    limited = plan(0.71, REFRESH_HOST_BUDGET=30)
    assert limited["why"] == "REFRESH_HOST_BUDGET allows no more on a.example"
    assert limited["n_fetches"] == 30
    assert limited["expected"] < 0.71
    assert plan(0.71, REFRESH_BUDGET=30)["why"] == "REFRESH_BUDGET allows no more"
    slow = plan(0.71, DOWNLOAD_DELAY=3600)
    assert slow["why"] == "a delay of 3600 s allows no more on a.example"
    assert slow["n_fetches"] == 24
    fast = plan(0.999)
    assert fast["why"] == "pages change too often for epochs of 1 day"
    assert fast["n_fetches"] == 180
    wrong = refresh(tmp_path, "-sFRESHNESS=95")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "FRESHNESS" in wrong.stderr
