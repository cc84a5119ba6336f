"""PriorityRank of a domain in memory, to compare that of databases with."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from rdfcrawl.analysis.ranking.pagerank import OutLinks, compute_pagerank
from rdfcrawl.analysis.urldb.rank_building import weights_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


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
