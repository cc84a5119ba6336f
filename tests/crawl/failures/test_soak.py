"""ORCA's experiment II while workers and Redis are killed; behind `make soak`."""

from __future__ import annotations

import itertools
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.dataweb.config import EXPERIMENTS, WebConfig
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.dataweb.recall import judge
from tests.support.crawl_kills import kill_redis, worker_pids

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands

WEB = WebConfig(**EXPERIMENTS[2] | {"port": 0, "first_address": "127.70.0.1"})
BETWEEN_KILLS_SECS = 4.0


@pytest.mark.soak
def test_experiment_2_under_fire(commands: Commands, tmp_path: Path) -> None:
    """If a worker is killed every few seconds, and Redis once, then recall is 1."""
    with run_dataweb(WEB, tmp_path) as web:
        crew = commands.start(
            *("workers", "-n2", "linkeddata", f"-aseeds=@{web.seeds_path}"),
            FRONTIER_LEASE_SECS=5,
        )
        commands.wait_until(lambda: web.log().total("n_documents") > 0)
        for number in itertools.count():
            time.sleep(BETWEEN_KILLS_SECS)
            if number == 2:
                kill_redis(crew.folder)
            pids = worker_pids(crew)
            if (
                crew.process.poll() is not None
                or web.log().total("n_documents")
                >= 0.95 * WEB.n_nodes * WEB.n_resources
            ):
                break
            if pids:
                os.kill(pids[number % len(pids)], signal.SIGKILL)
        result = crew.wait()
        n_twice = web.stop().total("n_duplicates")
    assert result.code == 0, result.stderr
    assert number > 2
    report = judge(tmp_path / "truth.nq", [str(result.folder / "quads")])
    assert (report.micro, report.n_surplus) == (1.0, 0), report.missing
    counts = result.counts()
    assert (counts.queued, counts.leased, counts.dead) == (0, 0, 0)
    print(f"{number} kills, {n_twice} requests repeated")
