"""Requests of each kind of source are answered with each fault; later runs are right.

`python -m tests.injector` tries all faults at all requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.injector.chains import KILLED_AT, Chain, start_sites
from tests.injector.kinds import KINDS
from tests.injector.sites import FAULTS

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

_SITES: Final = 5  # of each kind: a third of the faults in each run


@pytest.mark.parametrize("by_refresh", [False, True])
def test_faults_and_kills_cost_nothing(
    commands: Commands, loopback: Loopback, by_refresh: bool
) -> None:
    """If any request fails in any way, then its document stays until the next run.

    In three later runs each kind of source has each fault; in the last of them the
    crawl is killed at some of the faults. In the first run there are some of them.
    """
    kinds = [x for x in KINDS if x.by_refresh is by_refresh for _ in range(_SITES)]
    sites = start_sites(loopback, kinds, f"127.10{1 + by_refresh}")
    chain = Chain(commands, sites, commands.folder())
    faults = list(FAULTS)
    for run in range(4):
        cells = [
            (
                faults[(n + run * _SITES) % len(faults)],
                (n + run * (n // _SITES + 1)) % site.kind.n_requests,
            )
            for n, site in enumerate(sites)
        ]
        chain.run_with(cells, kills=KILLED_AT if run == 3 else ())
    assert not chain.bad, "\n".join(chain.bad)
