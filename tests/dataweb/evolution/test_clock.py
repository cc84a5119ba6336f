"""The clock of a web: marks in a file that all processes share."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.evolution.clock import WebClock

if TYPE_CHECKING:
    from pathlib import Path


def test_clock_stands_still_until_it_is_moved_on() -> None:
    """If a clock has no speed, then only steps move its time."""
    clock = WebClock()
    assert clock.now() == 0
    before = time.time()
    assert clock.advance(60) == 60
    assert clock.advance(30) == clock.now() == 90
    assert clock.web_time(before - 1) == 0
    assert clock.web_time(time.time() + 1000) == 90


def test_clock_runs_as_fast_as_its_speed_says() -> None:
    """If a clock has a speed, then its time grows by it, from the last step on."""
    clock = WebClock(speed=1000.0)
    unix = time.time()
    start = clock.web_time(unix)
    assert clock.web_time(unix + 2) - start == pytest.approx(2000)
    clock.advance(1e6)
    assert clock.web_time(unix + 100) >= 1e6 + 90_000


def test_processes_with_the_same_file_have_the_same_time(tmp_path: Path) -> None:
    """If one process moves the time on, then another that had it before sees it."""
    path = tmp_path / "clock.jsonl"
    mine = WebClock(path)
    other = WebClock(path)
    mine.advance(5)
    code = (
        "import sys; from pathlib import Path;"
        "from rdfcrawl.dataweb.evolution.clock import WebClock;"
        "print(WebClock(Path(sys.argv[1])).advance(7))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, check=True
    )
    assert float(done.stdout) == mine.now() == other.now() == 12
    moment = time.time()
    assert other.web_time(moment) == mine.web_time(moment)


def test_clock_of_a_folder_goes_on(tmp_path: Path) -> None:
    """If a web is served again, then its time is not lost, and its speed is the new."""
    path = tmp_path / "clock.jsonl"
    WebClock(path).advance(5)
    again = WebClock(path, speed=10.0)
    assert again.now() >= 5
    assert again.speed == WebClock(path).speed == 10


@pytest.mark.parametrize("secs", [-1.0, 1e12, float("nan")])
def test_time_does_not_run_back(secs: float) -> None:
    """If a time lies behind or too far ahead, then it is refused."""
    clock = WebClock()
    clock.advance(10)
    with pytest.raises(ConfigError, match="time of the web is 10 s"):
        clock.advance(secs)
    assert clock.now() == 10


@pytest.mark.parametrize("text", ["x\n", "[1]\n", '{"unix": 1}\n', "half a line"])
def test_file_that_is_no_clock_is_refused(tmp_path: Path, text: str) -> None:
    """If the file is something else, then the message names it."""
    path = tmp_path / "clock.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"clock\.jsonl is no clock of a web"):
        WebClock(path)
