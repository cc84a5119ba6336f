"""Compare the export of a crawl with the truth of its sites."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyoxigraph as ox

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.injector.sites import InjectedSite
    from tests.support.crawl_fixtures import CrawlResult, Quad

Triple = tuple[str, str, str]
Truth = dict[str, frozenset[Triple]]
"""The statements of each graph, or of each subject."""

_CUTS = ("cut", "broken", "slow")
_NONE: frozenset[Triple] = frozenset()


def grouped(quads: Iterable[Quad], place: int) -> Truth:
    """Return the triples of quads without blank nodes, by a term: 0 is the subject."""
    groups = defaultdict(set)
    for quad in quads:
        if not any(term.startswith("_:") for term in quad):
            groups[quad[place]].add(quad[:3])
    return {name: frozenset(triples) for name, triples in groups.items()}


def quads_of(n_quads: bytes) -> list[Quad]:
    """Parse N-Quads."""

    def text(term: object) -> str:
        return term.value if isinstance(term, ox.NamedNode) else str(term)

    return [
        (text(q.subject), text(q.predicate), text(q.object), text(q.graph_name))
        for q in ox.parse(n_quads, format=ox.RdfFormat.N_QUADS)
    ]


def stored(result: CrawlResult, sites: Iterable[InjectedSite]) -> list[Truth]:
    """Return the latest statements of each site, grouped like its truth.

    Only those that it had in any version, or that are in a graph with data.
    """
    by_origin = defaultdict(list)
    for quad in result.latest_quads:
        parts = urlsplit(quad[3])
        by_origin[f"{parts.scheme}://{parts.netloc}"].append(quad)
    return [_of_site(site, by_origin[site.origin]) for site in sites]


def _of_site(site: InjectedSite, quads: list[Quad]) -> Truth:
    kind = site.kind
    found = grouped(quads, kind.group)
    if kind.group:
        return {graph: x for graph, x in found.items() if not _is_of_source(graph)}
    ever: defaultdict[str, set[Triple]] = defaultdict(set)
    for version in range(1, site.version + 1):
        for subject, triples in site.truth(version).items():
            ever[subject] |= triples
    return {x: found[x] & ever[x] for x in found.keys() & ever.keys()}


def _is_of_source(graph: str) -> bool:
    ends = (".xml", "/feed", "robots.txt", "#samples", "/resourcesync")
    return graph.endswith(ends)


def not_equal(site: InjectedSite, found: Truth) -> list[str]:
    """Return the groups of a site that differ from its present truth."""
    return _differing(site, found, [site.truth(site.version)])


def worse(site: InjectedSite, found: Truth) -> list[str]:
    """Return the groups that are neither as in the last version nor as in this one.

    A new document may lack statements: it has no last version. A subject may be in
    several documents, and so have the statements of both versions.
    """
    before, now = site.truth(site.version - 1), site.truth(site.version)
    if not site.kind.group:
        both = {name: before.get(name, _NONE) | now.get(name, _NONE) for name in found}
        found = {
            name: triples & now.get(name, _NONE) if triples == both[name] else triples
            for name, triples in found.items()
        }
    known = {
        name: now.get(name, _NONE)
        if name not in before and triples <= now.get(name, _NONE)
        else triples
        for name, triples in found.items()
    }
    return _differing(site, known, [before, now])


def untrue(site: InjectedSite, found: Truth) -> list[str]:
    """Return the groups with statements that the truth of a site does not have.

    The last value of a page or of compressed data that is cut may be cut, too.
    """
    truth = site.truth(site.version)
    return [
        f"{_short(site, name)}: {len(triples)} statements"
        for name, triples in found.items()
        if len(triples - truth.get(name, _NONE)) > site.fault.startswith(_CUTS)
    ]


def _differing(site: InjectedSite, found: Truth, truths: Sequence[Truth]) -> list[str]:
    names = {name for truth in (*truths, found) for name in truth}
    return [
        f"{_short(site, name)}: {_numbers(found.get(name, _NONE), name, truths)}"
        for name in sorted(names)
        if found.get(name, _NONE) not in [truth.get(name, _NONE) for truth in truths]
    ]


def _numbers(found: frozenset[Triple], name: str, truths: Sequence[Truth]) -> str:
    parts = [
        f"{len(found & x.get(name, _NONE))} of {len(x.get(name, _NONE))}"
        for x in truths
    ]
    return f"{len(found)} statements, of the truth {' or '.join(parts)}"


def _short(site: InjectedSite, name: str) -> str:
    return name.removeprefix(site.origin)
