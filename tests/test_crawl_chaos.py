"""Workers and Redis are killed while they crawl; nothing may be lost or made up."""

from __future__ import annotations

import os
import random
import signal
import time
from typing import TYPE_CHECKING

from rdfcrawl.dataweb.config import NodeKind, WebConfig
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.dataweb.recall import judge
from tests.crawl_kills import kill_redis, worker_pids

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawl_fixtures import Commands

WEB = WebConfig(
    n_nodes=12,
    triples=80,
    degree=4,
    weights={NodeKind.DEREFERENCING: 1.0},
    port=0,
    first_address="127.60.0.1",
    latency_ms=80,
)
N_KILLS, BETWEEN_KILLS_SECS = 4, 2.0


def test_killed_workers_and_redis_lose_nothing(
    commands: Commands, tmp_path: Path
) -> None:
    """If workers and Redis are killed again and again, then recall is exactly 1."""
    with run_dataweb(WEB, tmp_path) as web:
        crew = commands.start(
            *("workers", "-n2", "linkeddata", f"-aseeds=@{web.seeds_path}"),
            FRONTIER_LEASE_SECS=3,
            FRONTIER_COMMIT_SECS=0.3,
            VISIT_MAX_DOCUMENTS=4,
        )
        commands.wait_until(lambda: web.log().total("n_documents") > 0)
        n_killed = 0
        for number in range(N_KILLS):
            time.sleep(BETWEEN_KILLS_SECS)
            if number == N_KILLS // 2:
                kill_redis(crew.folder)
            pids = worker_pids(crew)
            if len(pids) == 2:
                os.kill(random.choice(pids), signal.SIGKILL)
                n_killed += 1
        result = crew.wait()
        log = web.stop()
    assert result.code == 0, result.stderr
    assert n_killed >= 2
    assert result.stderr.count("died (-9)") == n_killed

    report = judge(tmp_path / "truth.nq", [str(result.folder / "quads")])
    assert report.micro == 1.0, report.missing
    assert report.n_surplus == 0, report.surplus

    counts = result.counts()
    assert (counts.queued, counts.leased, counts.dead) == (0, 0, 0)
    assert counts.seen == counts.done + counts.known
    assert len(set(result.ask("?a sq:crawled ?x"))) == counts.done
    assert result.latest_quads == result.quads
    assert max(host.max_in_progress for host in log.hosts) <= 2
