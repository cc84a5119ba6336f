"""Compare the export of a crawl with the truth of its sites."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.injector.kinds import Truth
    from tests.injector.sites import InjectedSite
    from tests.support.crawl_fixtures import CrawlResult


_CUTS = ("cut", "broken", "slow")


def stored(result: CrawlResult) -> Truth:
    """Return the latest statements of each graph."""
    graphs = defaultdict(set)
    for s, p, o, graph in result.latest_quads:
        graphs[graph].add((s, p, o))
    return {graph: frozenset(triples) for graph, triples in graphs.items()}


def not_equal(site: InjectedSite, found: Truth) -> list[str]:
    """Return the graphs of a site that differ from its present truth."""
    return _differing(site, found, [site.version])


def worse(site: InjectedSite, found: Truth) -> list[str]:
    """Return the graphs that are neither as in the last version nor as in this one.

    A new document may lack statements: it has no last version.
    """
    before = site.kind.truth(site.origin, site.version - 1)
    now = site.kind.truth(site.origin, site.version)
    new = {graph for graph in now if graph not in before}
    known = {
        graph: now[graph] if graph in new and triples <= now[graph] else triples
        for graph, triples in found.items()
    }
    return _differing(site, known, [site.version - 1, site.version])


def untrue(site: InjectedSite, found: Truth) -> list[str]:
    """Return the graphs with statements that the truth of a site does not have.

    The last value of a page or of compressed data that is cut may be cut, too.
    """
    truth = site.kind.truth(site.origin, site.version)
    return [
        f"{site}: {graph}: {len(triples)} statements"
        for graph, triples in found.items()
        if graph.startswith(f"{site.origin}/") and _is_data(graph)
        if len(triples - truth.get(graph, frozenset())) > site.fault.startswith(_CUTS)
    ]


def _differing(site: InjectedSite, found: Truth, versions: Iterable[int]) -> list[str]:
    truths = [site.kind.truth(site.origin, version) for version in versions]
    names = {graph for truth in truths for graph in truth}
    names |= {x for x in found if x.startswith(f"{site.origin}/") and _is_data(x)}
    none: frozenset[tuple[str, str, str]] = frozenset()
    return [
        f"{site}: {graph}: {len(found.get(graph, none))} statements"
        for graph in sorted(names)
        if found.get(graph, none) not in [truth.get(graph, none) for truth in truths]
    ]


def _is_data(graph: str) -> bool:
    return not graph.endswith(
        (".xml", "/feed", "robots.txt", "#samples", "/resourcesync")
    )
