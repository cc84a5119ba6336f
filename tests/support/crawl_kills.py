"""Which processes of a crawl can be killed, and how."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from redis import Redis

from rdfcrawl.frontier.redis.embedded import socket_path
from tests.support.processes import children

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import RunningCrawl


def worker_pids(crew: RunningCrawl) -> list[int]:
    """Return the worker processes of `scrapy workers`."""
    return [
        worker for forking in children(crew.process.pid) for worker in children(forking)
    ]


def kill_redis(folder: Path) -> None:
    """Kill the embedded server, as a full machine might."""
    with Redis(unix_socket_path=str(socket_path(folder / "frontier"))) as redis:
        os.kill(redis.info("server")["process_id"], signal.SIGKILL)
