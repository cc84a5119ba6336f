"""Crawls as their operators have them: opened by settings, and by the command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy.settings import BaseSettings

from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from tests.support.command_forks import scrapy

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.support.redis_fixtures import RedisServer


def operator_settings(server: RedisServer, crawl_id: str = "c", **more: Any) -> Any:
    """Return the arguments that name a crawl in a server."""
    named = {"REDIS_URL": server.url, "CRAWL_ID": crawl_id, "DOWNLOAD_DELAY": 0}
    return BaseSettings(named | more)


async def operated(server: RedisServer, crawl_id: str = "c", **more: Any) -> Any:
    """Return an open crawl of a server, to be closed by `async with`."""
    return await OperatedCrawl.open(operator_settings(server, crawl_id, **more))


def operate(
    folder: Path, *words: str, **settings: Any
) -> subprocess.CompletedProcess[str]:
    """Run `scrapy frontier` for a crawl of a folder."""
    given = [f"-s{name}={value}" for name, value in settings.items()]
    return scrapy("frontier", *words, f"-sCRAWL_DIR={folder}", *given)


def told(folder: Path, *words: str, **settings: Any) -> list[Any]:
    """Return the output of `scrapy frontier --json`, line by line."""
    done = operate(folder, *words, "--json", **settings)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_sound(folder: Path, url: str, crawl_id: str = "linkeddata") -> None:
    """Have `scrapy frontier check` find nothing in a crawl of a server."""
    done = operate(folder, "check", REDIS_URL=url, CRAWL_ID=crawl_id)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "partitions: 0 damages" in done.stdout
