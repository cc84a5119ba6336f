"""Each request of a source is answered once with each fault; the next run is right."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.injector.judging import not_equal, stored, untrue, worse
from tests.injector.kinds import KINDS, OTHERS
from tests.injector.sites import FAULTS, InjectedSite

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.injector.kinds import SourceKind
    from tests.support.crawl_fixtures import Commands, CrawlResult, RunningCrawl
    from tests.support.crawl_webs import Loopback

_QUICK: Final[dict[str, Any]] = {
    "TRANSFER_FIRST_BYTE_SECS": 8,
    "DOWNLOAD_TIMEOUT": 8,
    "RETRY_TIMES": 0,
    "FRONTIER_LEASE_SECS": 10,
}
_KILLED_AT: Final = (0, 7, 30)  # responses with faults, in each start of the command


def sites_of(
    loopback: Loopback,
    kinds: Sequence[type[SourceKind]],
    prefix: str,
    faults: Sequence[str] = tuple(FAULTS),
    *,
    every: int = 1,
) -> list[InjectedSite]:
    """Start a site for each fault of each target of some kinds, on hosts of its own.

    With `every`, only each so many-th of them, of all targets and faults in turn.
    """
    cells = [
        (kind, target, fault)
        for kind in (each() for each in kinds)
        for m, target in enumerate(kind.targets())
        for n, fault in enumerate(faults)
        if (m + n) % every == 0
    ]
    return [
        InjectedSite(
            *(kind, loopback, f"{prefix}.{n // 200}.{n % 200 + 1}", target, fault)
        )
        for n, (kind, target, fault) in enumerate(cells)
    ]


def start(commands: Commands, sites: list[InjectedSite], folder: Path) -> RunningCrawl:
    """Start the command that crawls all sites, which are of one spider."""
    kind = sites[0].kind
    path = folder / "sites.txt"
    path.write_text("".join(f"{x.origin}{x.kind.seed}\n" for x in sites))
    return commands.start_crawl(
        arguments={kind.argument: f"@{path}"},
        spider=kind.spider,
        folder=folder,
        **_QUICK,
    )


def crawl(commands: Commands, sites: list[InjectedSite], folder: Path) -> CrawlResult:
    """Run the command to its end."""
    result = start(commands, sites, folder).wait()
    assert result.code == 0, result.stderr[-3000:]
    return result


def test_a_fault_in_a_later_run_costs_nothing(
    commands: Commands, loopback: Loopback
) -> None:
    """If a request of a later run fails, then its document stays until the next run."""
    check_later_run(commands, sites_of(loopback, KINDS, "127.101", every=3))


def check_later_run(commands: Commands, sites: list[InjectedSite]) -> None:
    """Crawl sites, again with a fault and new content, and again without the fault."""
    folder = commands.folder()
    found = stored(crawl(commands, sites, folder))
    bad = [f"at first: {x}" for site in sites for x in not_equal(site, found)]
    assert not bad, "\n".join(bad)
    for site in sites:
        site.version, site.is_faulty = 2, True
    found = stored(crawl(commands, sites, folder))
    bad = [x for site in sites for x in worse(site, found)]
    for site in sites:
        site.is_faulty = False
    found = stored(crawl(commands, sites, folder))
    bad += [f"next run: {x}" for site in sites for x in not_equal(site, found)]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.name)
def test_a_fault_in_a_later_run_of_another_source_costs_nothing(
    commands: Commands, loopback: Loopback, kind: type[SourceKind]
) -> None:
    """If a request of a later run of a source fails, then its document stays."""
    # A refreshed seed that redirects to another host loses its copy before the target
    # is read.
    faults = [each for each in FAULTS if each != "elsewhere"]
    check_later_run(commands, sites_of(loopback, (kind,), "127.104", faults, every=2))


@pytest.mark.soak
@pytest.mark.parametrize("kind", [*KINDS, *OTHERS], ids=lambda kind: kind.name)
def test_each_fault_at_each_target_of_a_source_costs_nothing(
    commands: Commands, loopback: Loopback, kind: type[SourceKind]
) -> None:
    """If any request fails in any way, then its document stays until the next run."""
    faults = [each for each in FAULTS if kind in KINDS or each != "elsewhere"]
    check_later_run(commands, sites_of(loopback, (kind,), "127.105", faults))


def test_a_fault_in_the_first_run_is_made_good_by_the_next(
    commands: Commands, loopback: Loopback
) -> None:
    """If a request of the first run fails, then the next run has all documents."""
    sites = sites_of(loopback, KINDS, "127.102", every=4)
    folder = commands.folder()
    for site in sites:
        site.is_faulty = True
    found = stored(crawl(commands, sites, folder))
    bad = [x for site in sites for x in untrue(site, found)]
    for site in sites:
        site.is_faulty = False
    found = stored(crawl(commands, sites, folder))
    bad += [f"next run: {x}" for site in sites for x in not_equal(site, found)]
    assert not bad, "\n".join(bad)


def test_faults_and_kills_in_a_later_run_cost_nothing(
    commands: Commands, loopback: Loopback
) -> None:
    """If a crawl is killed at injected faults, then no document is worse than before.

    The command continues the run each time; the next run has all documents.
    """
    faults = ("page", "empty", "cut", "broken off", "503")
    sites = sites_of(loopback, KINDS, "127.103", faults, every=2)
    folder = commands.folder()
    crawl(commands, sites, folder)
    for site in sites:
        site.version, site.is_faulty = 2, True
    for n_faults in _KILLED_AT:
        running = start(commands, sites, folder)
        left = iter(range(n_faults))

        def on_fault(running: RunningCrawl = running, left: Any = left) -> None:
            if next(left, None) is None:
                running.send(signal.SIGKILL)

        for site in sites:
            site.on_fault = on_fault
        assert running.wait().code == -signal.SIGKILL
    for site in sites:
        site.on_fault = int
    found = stored(crawl(commands, sites, folder))
    bad = [x for site in sites for x in worse(site, found)]
    for site in sites:
        site.is_faulty = False
    found = stored(crawl(commands, sites, folder))
    bad += [f"next run: {x}" for site in sites for x in not_equal(site, found)]
    assert not bad, "\n".join(bad)
