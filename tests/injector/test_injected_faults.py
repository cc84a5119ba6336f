"""Requests of each kind of source are answered with each fault; later runs are right.

`python -m tests.injector` tries all faults at all requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.injector.chains import CrawlChain, start_sites
from tests.injector.kinds import KINDS
from tests.injector.sites import FAULTS

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

_SITES: Final = 5  # of each kind: a third of the faults in each run


@pytest.mark.in_turn(3, rooms=("sources", "downloader"))
@pytest.mark.parametrize("third", range(3))
@pytest.mark.parametrize("has_links", [False, True], ids=["sources", "links"])
def test_faults_and_kills_cost_nothing(
    commands: Commands, loopback: Loopback, has_links: bool, third: int
) -> None:
    """If any request fails in any way, then its document stays until the next run.

    In three later runs each kind of source has each fault; in the last of them the
    crawl is killed at some of the faults. In the first run there are some of them.
    Each third has every third of the sites.
    """
    kinds = [x for x in KINDS if x.has_links is has_links and not x.is_variant]
    each = [*enumerate(kind for kind in kinds for _ in range(_SITES))][third::3]
    prefix = f"127.10{1 + has_links + 2 * third}"
    sites = start_sites(loopback, [kind for _, kind in each], prefix)
    chain = CrawlChain(commands, sites, commands.folder())
    faults = list(FAULTS)
    for run in range(4):
        cells = [
            (
                faults[(n + run * _SITES) % len(faults)],
                (n + run * (n // _SITES + 1)) % site.kind.n_requests,
            )
            for (n, _), site in zip(each, sites, strict=True)
        ]
        chain.run_with(cells, has_kills=run == 3, by_refresh=run == 3)
    assert not chain.bad, "\n".join(chain.bad)
