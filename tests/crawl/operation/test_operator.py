"""Mistakes of the operator are reported in one line, before anything is crawled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands, CrawlResult

CRAWL = ("crawl", "linkeddata")
SEED = "-aseeds=http://127.0.0.1:9/"
# name: words, settings, the expected text of the line
MISTAKES: dict[str, tuple[tuple[str, ...], dict[str, Any], tuple[str, ...]]] = {
    "seed": ((*CRAWL, "-aseeds=no URL"), {}, ("seeds=no URL",)),
    "unknown-argument": ((*CRAWL, "-asedes=x"), {}, ("sedes=x", "unknown", "seeds")),
    "unknown-spider": (("crawl", "linkdata"), {}, ("linkdata", "linkeddata")),
    "no-number": ((*CRAWL, SEED), {"FRONTIER_LEASE_SECS": "long"}, ("_LEASE_SECS",)),
    "redis-server": ((*CRAWL, SEED), {"REDIS_SERVER": "no-such"}, ("REDIS_SERVER",)),
    "display": ((*CRAWL, SEED), {"PROGRESS": "bord"}, ("PROGRESS='bord'", "board")),
    "memory": ((*CRAWL, SEED), {"RDF_PARSE_MEMORY_BYTES": 1}, ("_MEMORY_BYTES",)),
    "segment": ((*CRAWL, SEED), {"SEGMENT_MAX_BYTES": 1}, ("SEGMENT_MAX_BYTES",)),
    "workers": (("workers", "-n0", "linkeddata", SEED), {}, ("-n 0", "1 to")),
}


@pytest.fixture(scope="module")
def results(commands: Commands) -> dict[str, CrawlResult]:
    """Return the results of all mistakes."""
    running = {
        name: commands.start(*words, **settings)
        for name, (words, settings, _) in MISTAKES.items()
    }
    return {name: one.wait() for name, one in running.items()}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_reported_in_one_line(
    results: dict[str, CrawlResult], name: str
) -> None:
    """If the operator is wrong, then one line names it, and the exit code is 2."""
    result, expected = results[name], MISTAKES[name][2]
    lines = [line for line in result.stderr.splitlines() if "scrapy: " in line]
    assert len(lines) == 1, result.stderr
    assert all(part in lines[0] for part in expected), lines[0]
    assert result.code == 2
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_stores_nothing(results: dict[str, CrawlResult], name: str) -> None:
    """If the operator is wrong, then nothing was crawled."""
    assert not (results[name].folder / "quads").exists()
