"""Crawls of a matrix with short waits, and their expected results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.matrix.judging import judge
from tests.matrix.webs import NAMES, served
from tests.support.crawl_names import scripted_names

if TYPE_CHECKING:
    from pathlib import Path

    from tests.matrix.judging import Verdict
    from tests.matrix.webs import Web
    from tests.support.crawl_fixtures import Commands

# Waits are short; a page that is answered at all is answered within a second.
SETTINGS: Final[dict[str, Any]] = {
    "HOST_BACKOFF_SECS": 0.1,
    "HOST_PATIENCE_SECS": 86400,
    "HOST_LAST_WAIT_SECS": 3,
    "TRANSFER_FIRST_BYTE_SECS": 1,
    "ENDPOINT_FIRST_BYTE_SECS": 1,
    "DOWNLOAD_TIMEOUT": 2,
    "TRANSFER_MIN_RATE_SECS": 0.5,
    "SLOW_VISITS": 256,
    "STATS_DUMP": False,
    "LOG_LEVEL": "WARNING",
}
MOST_TRIES = 20  # of one bad URL, or of robots.txt
SLACK = 0.2  # of good pages may be requested again, on a machine that is busy


def crawl(commands: Commands, web: Web, folder: Path, **more: Any) -> Verdict:
    """Crawl a web to its end; return the verdict."""
    arguments = {"seeds": f"@{web.seed_file(folder / 'seeds.csv')}"}
    arguments |= more.pop("arguments", {})
    with served(web, folder) as log, scripted_names(folder, NAMES):
        result = commands.start_crawl(arguments=arguments, **(SETTINGS | more)).wait()
        verdict = judge(web, log, result.folder)
    assert result.code == 0, result.stderr
    assert "internal" not in result.stderr, result.stderr
    return verdict


def assert_costs_no_page(verdict: Verdict) -> None:
    """Check that all good pages are stored, and each was requested about once."""
    assert not verdict.missing, verdict.lacks
    assert verdict.twice <= SLACK * verdict.n_good
    assert verdict.most[0] <= MOST_TRIES, verdict.most
