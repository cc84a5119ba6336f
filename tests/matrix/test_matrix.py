"""A failure costs its evidence: each behaviour at one URL, one host, many hosts.

The servers are those of `behaviours.py`, in a process of their own. A crawl is judged
by their log and by the graphs that it has stored. `python -m tests.matrix` runs each
cell alone at default settings, and judges CPU, too.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

import pytest

from tests.matrix.behaviours import BEHAVIOURS, HEALTHY
from tests.matrix.running import assert_costs_no_page, crawl
from tests.matrix.webs import add_bad_hosts, bad_hosts, named, one_url

if TYPE_CHECKING:
    from pathlib import Path

    from tests.matrix.behaviours import HostBehaviour
    from tests.matrix.webs import Position
    from tests.support.crawl_fixtures import Commands

N_PAGES = 3
_IN_TURN: Final[tuple[Position, ...]] = (
    *("stranger", "first", "three", "middle", "stranger", "last", "three"),
)
_DAYS: Final = ("-day", "-year", "-huge")
_FLOODS: Final = (
    ("endless-chunks-of-1", "endless-103"),
    ("silent", "silent-in-body", "trickle-body", "status-503"),
)
_FILES: Final = ("/.well-known/", "/sitemap.xml")


def is_file(behaviour: HostBehaviour) -> bool:
    """Return whether a behaviour is that of a source, or of a file of the site."""
    return bool(behaviour.kind) or behaviour.path.startswith(_FILES)


# The servers of tiny packets take much CPU, so that they are in cells of their own.
_ALONE: Final = (HEALTHY, "flood-")
PAGES: Final = [
    b for b in BEHAVIOURS.values() if not is_file(b) and not b.name.startswith(_ALONE)
]
FILES: Final = [b for b in BEHAVIOURS.values() if is_file(b)]


def pairs_of(behaviours: list[HostBehaviour]) -> list[tuple[HostBehaviour, Position]]:
    """Return each behaviour at one of the positions, which take turns.

    Three URLs that refuse for a day before any is answered speak for their host.
    """
    pairs = zip(behaviours, itertools.cycle(_IN_TURN), strict=False)
    return [(b, "stranger" if b.name.endswith(_DAYS) else at) for b, at in pairs]


@pytest.mark.in_turn(2, rooms=("downloader", "frontier"))
@pytest.mark.parametrize("half", [0, 1])
def test_a_bad_url_or_host_costs_no_other_page(
    commands: Commands, tmp_path: Path, half: int
) -> None:
    """If one URL of a host misbehaves, or all do, then all others are fetched.

    There are two hosts for each behaviour, one of either kind.
    """
    web = one_url(pairs_of(PAGES)[half::2], N_PAGES, f"127.{113 + 7 * half}")
    add_bad_hosts(web, PAGES[half::2], 2)
    assert_costs_no_page(crawl(commands, web, tmp_path))


def test_a_bad_file_costs_no_page(commands: Commands, tmp_path: Path) -> None:
    """If a source or a file of a site misbehaves, then its pages are fetched."""
    web = one_url(pairs_of(FILES), N_PAGES, "127.114")
    harvest = {"arguments": {"harvest": "all"}, "TDM_POLICY": "respect"}
    assert_costs_no_page(crawl(commands, web, tmp_path, **harvest))


@pytest.mark.in_turn(2, rooms=("downloader", "frontier"))
@pytest.mark.parametrize("names", _FLOODS, ids=lambda names: names[0])
def test_a_hundred_bad_hosts_cost_no_page_of_others(
    commands: Commands, tmp_path: Path, names: tuple[str, ...]
) -> None:
    """If a hundred hosts flood or are silent, then all pages of others are fetched."""
    web = bad_hosts(named(*names) * (100 // len(names)), 5, 60, "127.116", n_bad=1)
    assert_costs_no_page(crawl(commands, web, tmp_path))
