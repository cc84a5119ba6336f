"""Rank the URIs of a crawl: PageRank, PriorityRank, and the number of linking pages.

Source: U. Schonfeld and N. Shivakumar, "Sitemaps: Above and Beyond the Crawl of Duty"
(WWW 2009), 6.3.1.
"""

from __future__ import annotations

import os
from array import array
from dataclasses import dataclass
from itertools import compress, groupby
from math import isnan
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import ConfigError
from rdfcrawl.ranking.pagerank import OutLinks, compute_pagerank
from rdfcrawl.ranking.priority_rank import weights_of
from rdfcrawl.ranking.table import (
    FOLDER,
    TABLE_NAME,
    RankScore,
    levels_of,
    open_ranks,
    write_head,
)
from rdfcrawl.sorting import SpillFolder, StringSorter
from rdfcrawl.urldb.database import UrlDatabase
from rdfcrawl.urldb.link_graph import LinkGraph, LinkScratch
from rdfcrawl.urldb.lock import writing_alone
from rdfcrawl.urldb.manifest import sync_folder
from rdfcrawl.urldb.rank_nodes import NodeRange, RankNodes, ranges

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from rdfcrawl.ranking.table import RankTable
    from rdfcrawl.sorting import SpillFile

MEMORY_BYTES: Final = 256 * 1024 * 1024
_DRAFT: Final = f".{TABLE_NAME}.draft"
_COPIED: Final = 1 << 16  # numbers at once


@dataclass(frozen=True, slots=True, kw_only=True)
class RankReport:
    """What a ranking has done.

    Attributes:
        table: the scores.
        is_new: whether they were computed; else the database is as it was.
        damages: of the log of links, for people.
    """

    table: RankTable
    is_new: bool
    damages: tuple[str, ...] = ()


def rank(
    root: Path,
    *,
    memory_bytes: int = MEMORY_BYTES,
    scratch: Path | None = None,
) -> RankReport:
    """Rank the URIs of a URL database, unless it is as when they were ranked last.

    Memory: some 30 bytes for each URI, beside what is said.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`, whose URL database is up to date.
        memory_bytes: for what is sorted, about.
        scratch: folder of scratch files; by default that of the system.

    Raises:
        ConfigError: there is no URL database, another ranking is running, or what is
            there is damaged.
        OSError: a disk is full, or cannot be read.
    """
    with UrlDatabase(root) as database:
        known = open_ranks(root)
        if known is not None and known.facts.get("database") == database.digest:
            return RankReport(table=known, is_new=False)
        folder = root / FOLDER
        folder.mkdir(exist_ok=True)
        with (
            writing_alone(folder, "is being written already"),
            SpillFolder(scratch) as spills,
        ):
            ranking = _Ranking(root, database, spills, memory_bytes)
            facts = ranking.run()
            draft = folder / _DRAFT
            with draft.open("wb") as file:
                ranking.write(file, {**facts, "database": database.digest})
                file.flush()
                os.fsync(file.fileno())
            draft.replace(folder / TABLE_NAME)
            sync_folder(folder)
    found = open_ranks(root)
    if found is None:
        raise ConfigError(f"{folder}: was removed while it was written")
    return RankReport(table=found, is_new=True, damages=ranking.damages)


class _Ranking:
    """One ranking: scores are in scratch files, in the order of nodes."""

    def __init__(
        self, root: Path, database: UrlDatabase, spills: SpillFolder, memory_bytes: int
    ) -> None:
        self._spills, self._memory_bytes = spills, memory_bytes
        self._nodes = RankNodes(database, spills, memory_bytes)
        graph = LinkGraph(root, self._nodes, spills, memory_bytes)
        self._graph = graph
        self.damages = tuple(map(str, graph.damages))
        self._listed = StringSorter(spills.new(), memory_bytes)
        for node, sitemap, priority in self._nodes.listed():
            stated = b"" if isnan(priority) else repr(priority).encode()
            self._listed.add(b"%08x%08x%b" % (sitemap, node, stated))
        self._fronts = _fronts_of(self._nodes)
        # What finds the nodes of URLs is needed at the end once more.
        self._marks, self._places = spills.new(), spills.new()
        index = self._nodes.index
        self._n_urls = len(index.marks)
        _spill(self._marks, index.marks)
        _spill(self._places, index.nodes)
        del index.marks, index.nodes
        self._values = {name: spills.new() for name in RankScore}
        self._levels = {name: spills.new() for name in RankScore}

    def run(self) -> dict[str, int | float | str]:
        """Compute all scores; return what is to be known of them."""
        n_nodes, graph = self._nodes.n_nodes, self._graph
        self._keep(RankScore.INLINKS, array("d", graph.n_incoming))
        found = compute_pagerank(n_nodes, graph.links.read)
        ranks = array("d", found.ranks)
        for node, n_incoming in enumerate(graph.n_incoming):
            if not n_incoming:
                ranks[node] = 0.0
        self._keep(RankScore.PAGERANK, ranks)
        del ranks
        self._keep(RankScore.PRIORITYRANK, self._priority_ranks())
        return {
            "n_nodes": n_nodes,
            "n_links": graph.n_links,
            "n_rounds": found.n_rounds,
            "change": found.change,
        }

    def _keep(self, name: RankScore, scores: array[float]) -> None:
        _spill(self._values[name], scores)
        spill, is_page = self._levels[name], self._nodes.is_page
        for begin, end in ranges(self._nodes.hosts):
            pages = is_page[begin:end]
            levels = bytearray(end - begin)
            of_pages = iter(levels_of(array("d", compress(scores[begin:end], pages))))
            for place, is_one in enumerate(pages):
                if is_one:
                    levels[place] = next(of_pages)
            spill.add(levels)

    def _priority_ranks(self) -> array[float]:
        """Return the PriorityRank of each node; those of a domain sum to 1."""
        ranks = array("d")
        scratch = LinkScratch(self._spills.new())
        documents = _Ahead(self._graph.links.read())
        listed = _Ahead(_sitemap_links(self._listed))
        for domain in ranges(self._nodes.domains):
            fronts = self._fronts.get(domain.begin, {})
            links = _DomainLinks(domain, fronts, scratch)
            links.write(documents, listed)
            found = compute_pagerank(links.n_nodes, scratch.read)
            ranks.extend(found.ranks[: domain.end - domain.begin])
        return ranks

    def write(self, file: BinaryIO, facts: Mapping[str, int | float | str]) -> None:
        """Write the table."""
        write_head(file, self._n_urls, facts)
        file.writelines(self._marks.pieces())
        for spill in self._values.values():
            values = array("d")
            values.frombytes(spill.read(0, spill.n_bytes))
            file.writelines(
                array("d", [values[node] for node in places])
                for places in self._place_pieces()
            )
        for spill in self._levels.values():
            levels = spill.read(0, spill.n_bytes)
            file.writelines(
                bytes([levels[node] for node in places])
                for places in self._place_pieces()
            )

    def _place_pieces(self) -> Iterator[array[int]]:
        for piece in self._places.pieces():
            places = array("I")
            places.frombytes(piece)
            yield places


class _Ahead:
    """Out-links sorted by source, of which the next ones are known."""

    def __init__(self, links: Iterator[OutLinks]) -> None:
        self._left = links
        self._next = next(links, None)

    def up_to(self, end: int) -> Iterator[OutLinks]:
        """Yield those of nodes below one."""
        while self._next is not None and self._next.source < end:
            yield self._next
            self._next = next(self._left, None)


class _DomainLinks:
    """The links within one domain, and the virtual ones of sitemaps and front pages.

    Attributes:
        n_nodes: of the domain, with front pages that the database does not have.
    """

    def __init__(
        self, domain: NodeRange, fronts: Mapping[int, set[int]], scratch: LinkScratch
    ) -> None:
        self._begin, self._end = domain
        self._scratch = scratch
        # Negative numbers stand for front pages without a record.
        n_known = self._end - self._begin
        self.n_nodes = n_known + sum(front < 0 for front in fronts)
        self._tops = {
            front - self._begin if front >= 0 else n_known - 1 - front: {
                top - self._begin for top in tops
            }
            for front, tops in fronts.items()
        }

    def write(self, documents: _Ahead, listed: _Ahead) -> None:
        """Write all links, of each node together."""
        self._scratch.clear()
        lists = set()
        for source, targets, weights in listed.up_to(self._end):
            lists.add(source)
            self._add(source, targets, weights)
        for source, targets, _ in documents.up_to(self._end):
            if source not in lists:
                within = [x for x in targets if self._begin <= x < self._end]
                self._add(source, within, None)
        for front, tops in sorted(self._tops.items()):
            self._scratch.add(OutLinks(front, sorted(tops)))
        self._scratch.end()

    def _add(
        self, source: int, targets: Iterable[int], weights: Iterable[float] | None
    ) -> None:
        node = source - self._begin
        found = [target - self._begin for target in targets]
        if weights is None and node in self._tops:
            found = sorted(set(found) | self._tops.pop(node))
        if found:
            kept = None if weights is None else list(weights)
            self._scratch.add(OutLinks(node, found, kept))


def _fronts_of(nodes: RankNodes) -> dict[int, dict[int, set[int]]]:
    """Return the top sitemaps of each front page, by the first node of its domain.

    A front page without a record is -1, -2, ... of its domain.
    """
    found: dict[int, dict[int, set[int]]] = {}
    tops = iter(nodes.tops)
    top = next(tops, None)
    for begin, end in ranges(nodes.domains):
        fronts: dict[int, set[int]] = {}
        strangers: dict[int, int] = {}
        while top is not None and top.node < end:
            node = nodes.index.of_mark(top.front)
            if node is None or not begin <= node < end:
                node = strangers.setdefault(top.front, -1 - len(strangers))
            fronts.setdefault(node, set()).add(top.node)
            top = next(tops, None)
        if fronts:
            found[begin] = fronts
    return found


def _sitemap_links(sorter: StringSorter) -> Iterator[OutLinks]:
    """Yield what each sitemap lists, with weights if it states any priority."""
    lines = (line for batch in sorter.sorted() for line in batch)
    for source, group in groupby(lines, key=lambda line: line[:8]):
        stated: dict[int, float | None] = {}
        for line in group:
            stated[int(line[8:16], 16)] = float(line[16:]) if line[16:] else None
        targets = array("I", stated)
        yield OutLinks(int(source, 16), targets, weights_of(stated.values()))


def _spill(spill: SpillFile, numbers: array[int] | array[float]) -> None:
    content = memoryview(numbers).cast("B")
    for begin in range(0, len(content), _COPIED):
        spill.add(content[begin : begin + _COPIED])
