"""`make demo-page`: the demo, and its page until Ctrl-C."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.page_json import moment

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands

pytestmark = pytest.mark.service

ROOT = Path(__file__).parents[2]


def recipe() -> list[str]:
    """Return the command of the goal."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (line,) = re.findall(r"(?m)^demo-page:.*\n\t(.*)$", text)
    assert line.startswith("$(RUN) ")
    return [sys.executable, "-m", *shlex.split(line)[1:]]


@pytest.mark.in_turn(2)
def test_demo_is_shown_until_it_is_interrupted(
    commands: Commands, tmp_path: Path
) -> None:
    """If the demo has ended, then its page is where it says, until Ctrl-C."""
    shutil.copy(ROOT / "scrapy.cfg", tmp_path)
    told = tmp_path / "told.txt"
    with told.open("wb") as output:
        demo = subprocess.Popen(
            recipe(),
            cwd=tmp_path,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C reaches all of its processes
        )
    try:
        commands.wait_until(lambda: demo.poll() is not None or _addresses(told, 2))
        assert demo.poll() is None, told.read_text()
        beside, after = _addresses(told, 2)
        commands.wait_until(lambda: moment(after))
        shown = moment(after)
        assert shown["state"] == "finished"
        assert shown["counts"]["done"] > 100
        assert "recall 1.0000" in told.read_text()
        os.killpg(demo.pid, signal.SIGINT)
        assert demo.wait() == 0
    finally:
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGKILL)
    assert beside
    assert "Traceback" not in told.read_text()
    assert moment(after) is None  # no server listens any longer


def _addresses(told: Path, n: int) -> list[str]:
    """Return the addresses during the crawl and after it, once there are as many."""
    found = re.findall(
        r"(?m)^(?:page +|crawl linkeddata: )(http://\S+)/$", told.read_text()
    )
    return found if len(found) == n else []
