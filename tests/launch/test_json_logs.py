"""Logs of workers, followers and their pool as JSON."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.json_logs import JsonLines
from tests.support.crawl_webs import TreeWeb

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


def lines_of(text: str) -> list[dict[str, str]]:
    """Return the objects of a log, each line of which must be one."""
    return [json.loads(line) for line in text.splitlines()]


def test_all_lines_of_a_crawl_are_objects(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If LOG_FORMAT is json, then a crawl under scrapyd, and its follower, log JSON."""
    web = TreeWeb(loopback, "127.94.5", n_hosts=1, n_docs=3, secs=0)
    folder, log = commands.folder(), tmp_path / "job.log"
    named: dict[str, Any] = {"LOG_FORMAT": "json", "LOG_FILE": log, "CRAWL_ID": "web"}
    named |= {"STORES": json.dumps({f"oxigraph:{tmp_path / 'store'}": {}})}
    result = commands.start_crawl([web.seed, "urn:none"], folder=folder, **named).wait()
    assert result.code == 0, result.stderr
    told = lines_of(log.read_text())
    assert all({"time", "level", "logger", "event"} <= set(line) for line in told)
    assert told[0]["event"].startswith("Scrapy ")
    (joined,) = [x for x in told if x["event"].startswith("crawl web, worker ")]
    assert joined["worker"] in joined["event"]
    assert joined["crawl"] == "web"
    assert any(line["event"].startswith("finished: ") for line in told)
    assert {line["level"] for line in told} <= {"INFO", "WARNING", "ERROR"}
    (followed,) = (folder / "web" / "logs").glob("follower-*.log")
    assert all("event" in line for line in lines_of(followed.read_text()))


def test_standard_error_of_a_pool_is_one_log(
    commands: Commands, loopback: Loopback
) -> None:
    """If workers log JSON to standard error, then nothing else stands there."""
    web = TreeWeb(loopback, "127.94.6", n_hosts=1, n_docs=2, secs=0)
    words = ("workers", "-n2", "linkeddata", f"-aseeds={web.seed}")
    result = commands.start(*words, LOG_FORMAT="json", STATS_DUMP=False).wait()
    assert result.code == 0, result.stderr
    events = [line["event"] for line in lines_of(result.stderr)]
    assert "outcome: finished" in events


def test_lines_of_the_web_stay_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """If an event has text of the web, then it is one line of ASCII with its URL."""
    monkeypatch.setattr("sys.argv", ["crawl", "-a", "_job=6487ec"])  # as of scrapyd
    url, text = "http://user@a.example/x", "a\nb\u2028\x1b[2J"
    record = logging.LogRecord(
        *("x", logging.ERROR, "f", 1, "%s: %s %d"), (url, text, 3), None
    )
    line = JsonLines().format(record)
    assert line.isascii()
    assert line.isprintable()
    told = json.loads(line)
    assert (told["url"], told["host"], told["job"]) == (url, "a.example", "6487ec")
    assert told["event"] == f"{url}: {text} 3"
