"""Each request of a source is answered once with each fault; the next run is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.injector.judging import not_equal, stored, untrue, worse
from tests.injector.kinds import KINDS
from tests.injector.sites import FAULTS, InjectedSite

if TYPE_CHECKING:
    from pathlib import Path

    from tests.injector.kinds import SourceKind
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

_QUICK: Final[dict[str, Any]] = {
    "TRANSFER_FIRST_BYTE_SECS": 8,
    "DOWNLOAD_TIMEOUT": 8,
    "RETRY_TIMES": 0,
}


def sites_of(
    loopback: Loopback, kinds: tuple[type[SourceKind], ...], prefix: str
) -> list[InjectedSite]:
    """Start a site for each fault of each target of some kinds, on hosts of its own."""
    cells = [
        (kind, target, fault)
        for kind in (each() for each in kinds)
        for target in kind.targets()
        for fault in FAULTS
    ]
    return [
        InjectedSite(
            kind, loopback, f"{prefix}.{n // 200}.{n % 200 + 1}", target, fault
        )
        for n, (kind, target, fault) in enumerate(cells)
    ]


def crawl(commands: Commands, sites: list[InjectedSite], folder: Path) -> CrawlResult:
    """Run the command that crawls all sites, which are of one spider."""
    kind = sites[0].kind
    path = folder / "sites.txt"
    path.write_text("".join(f"{x.origin}{x.kind.seed}\n" for x in sites))
    arguments = {kind.argument: f"@{path}"}
    result = commands.crawl(
        arguments=arguments, spider=kind.spider, folder=folder, **_QUICK
    )
    assert result.code == 0, result.stderr[-3000:]
    return result


def test_a_fault_in_a_later_run_costs_nothing(
    commands: Commands, loopback: Loopback
) -> None:
    """If a request of a later run fails, then its document stays until the next run."""
    sites, folder = sites_of(loopback, KINDS, "127.101"), commands.folder()
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


def test_a_fault_in_the_first_run_is_made_good_by_the_next(
    commands: Commands, loopback: Loopback
) -> None:
    """If a request of the first run fails, then the next run has all documents."""
    sites, folder = sites_of(loopback, KINDS, "127.102"), commands.folder()
    for site in sites:
        site.is_faulty = True
    found = stored(crawl(commands, sites, folder))
    bad = [x for site in sites for x in untrue(site, found)]
    for site in sites:
        site.is_faulty = False
    found = stored(crawl(commands, sites, folder))
    bad += [f"next run: {x}" for site in sites for x in not_equal(site, found)]
    assert not bad, "\n".join(bad)
