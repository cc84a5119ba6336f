"""PriorityRank: PageRank of a domain with its sitemaps as nodes.

The front page has virtual links to the sitemaps, and these have links to the URLs they
list, weighted by the stated priorities. So pages without links are ranked as the site
wishes, and well linked pages rank higher (section 6.3.1).
"""

from __future__ import annotations

from array import array
from math import fsum
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.ranking.pagerank import OutLinks, compute_pagerank

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

UNSTATED_PRIORITY: Final = 0.5  # sitemaps.org protocol 0.9, "priority"


class DomainGraph:
    """Links and sitemaps of one domain, in memory: 8 bytes for each link.

    Nodes are the known URLs of the domain and its sitemap files. URLs are in their
    normal form; callers must omit those of other domains.
    """

    def __init__(self, front_page: str) -> None:
        self._nodes: dict[str, int] = {}
        self._links: dict[int, set[int]] = {}
        self._indexes: dict[int, set[int]] = {}
        self._lists: dict[int, dict[int, float | None]] = {}
        self._top: set[int] = set()
        self._root = self._node(front_page)

    def _node(self, url: str) -> int:
        return self._nodes.setdefault(url, len(self._nodes))

    def add_page(self, url: str, links: Iterable[str] = ()) -> None:
        """Add a known URL and the links of its page.

        Links of a page to itself are ignored, duplicates count once.
        """
        node = self._node(url)
        targets = {self._node(target) for target in links} - {node}
        self._links.setdefault(node, set()).update(targets)

    def add_top_sitemap(self, url: str) -> None:
        """Link the front page to a sitemap, unless an index lists the sitemap."""
        self._top.add(self._node(url))

    def add_index(self, url: str, sitemaps: Iterable[str]) -> None:
        """Add an index, whose rank its sitemaps share equally."""
        found = self._indexes.setdefault(self._node(url), set())
        found.update(self._node(sitemap) for sitemap in sitemaps)

    def add_sitemap(self, url: str, entries: Mapping[str, float | None]) -> None:
        """Add a sitemap, with the priority of each listed URL, None if unstated."""
        listed = self._lists.setdefault(self._node(url), {})
        listed.update((self._node(page), value) for page, value in entries.items())

    def priority_rank(self) -> dict[str, float]:
        """Return the PriorityRank of each URL and sitemap, with sum 1."""
        links = list(self._augmented_links())
        found = compute_pagerank(len(self._nodes), lambda: links).ranks
        return {url: found[node] for url, node in self._nodes.items()}

    def pagerank(self) -> dict[str, float]:
        """Return the PageRank of each URL, without sitemaps and virtual links.

        URLs without links to them are omitted: their rank counts as 0 (section 6.3.1).
        """
        links = [
            OutLinks(node, array("q", sorted(targets)))
            for node, targets in sorted(self._links.items())
            if targets
        ]
        linked = {target for each in links for target in each.targets}
        pages = sorted(self._links.keys() | linked | {self._root})
        place = {node: position for position, node in enumerate(pages)}
        within = [
            OutLinks(place[source], array("q", [place[x] for x in targets]))
            for source, targets, _ in links
        ]
        found = compute_pagerank(len(pages), lambda: within).ranks
        return {
            url: found[place[node]]
            for url, node in self._nodes.items()
            if node in linked
        }

    def _augmented_links(self) -> Iterator[OutLinks]:
        """Yield the links of pages, and the virtual ones of sitemaps and front page."""
        for node in range(len(self._nodes)):
            if listed := self._lists.get(node):
                yield OutLinks(node, array("q", listed), weights_of(listed.values()))
                continue
            targets = self._links.get(node, set()) | self._indexes.get(node, set())
            if node == self._root:
                targets |= self._top
            if targets := targets - {node}:
                yield OutLinks(node, array("q", sorted(targets)))


def weights_of(priorities: Iterable[float | None]) -> list[float] | None:
    """Return the weights of a sitemap's links; None means equal weights.

    Weights are proportional to the priorities, with 0.5 for unstated ones. They are
    equal if no priority is stated, or if all are 0.
    """
    stated = list(priorities)
    if all(priority is None for priority in stated):
        return None
    values = [UNSTATED_PRIORITY if x is None else x for x in stated]
    total = fsum(values)
    return [value / total for value in values] if total else None
