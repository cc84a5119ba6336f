"""The matrix at default settings, with CPU; a soak."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.matrix.__main__ import COSTLY, MOST_CPU, MOST_REQUESTS, run_cell, run_crawl
from tests.matrix.behaviours import BEHAVIOURS
from tests.matrix.webs import NAMES, POSITIONS, add_bad_hosts, one_url
from tests.support.crawl_names import scripted_names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.soak
N_PAGES = 10


@pytest.fixture(autouse=True)
def names(tmp_path: Path) -> Iterator[None]:
    """Have names resolve as the web of a cell needs."""
    with scripted_names(tmp_path, NAMES):
        yield


def test_all_cells_in_one_crawl(tmp_path: Path) -> None:
    """If URLs and hosts misbehave in all ways together, then all good pages are stored.

    Each behaviour is that of a URL at each position, and that of a host.
    """
    pairs = [(each, at) for each in BEHAVIOURS.values() for at in POSITIONS]
    web = one_url(pairs, N_PAGES, "127.110")
    add_bad_hosts(web, list(BEHAVIOURS.values()), 3)
    run = run_crawl(web, tmp_path, {})
    assert run.code == 0, run.said
    assert not run.verdict.missing, run.verdict.lacks
    assert "internal" not in run.said, run.said


@pytest.mark.parametrize("name", COSTLY)
@pytest.mark.parametrize("place", ["url", "hosts"])
def test_a_cell_costs_little(place: str, name: str) -> None:
    """If a URL or a hundred hosts misbehave, then requests and CPU stay within bounds.

    Both are compared with those of a healthy web, crawled at the same time.
    """
    _, run, plain = run_cell((0, (place, BEHAVIOURS[name], 3)), {}, 1.0)
    assert not run.verdict.missing, run.verdict.lacks
    assert run.verdict.ratio <= MOST_REQUESTS
    assert run.cpu <= MOST_CPU * plain.cpu
