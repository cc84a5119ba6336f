"""Rank the URIs of a crawl: PageRank, PriorityRank, and the number of linking pages.

PriorityRank is the PageRank of a domain with its sitemaps as nodes. The front page has
virtual links to the sitemaps, and these have links to the URLs they list, weighted by
the stated priorities. So pages without links are ranked as the site wishes, and well
linked pages rank higher. Levels of URIs are computed within hosts.

Source: U. Schonfeld and N. Shivakumar, "Sitemaps: Above and Beyond the Crawl of Duty"
(WWW 2009), 6.3.1.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress, groupby
from math import fsum, isnan
from pathlib import Path
from typing import BinaryIO, Final

from rdfcrawl.analysis.ranking.pagerank import OutLinks, compute_pagerank
from rdfcrawl.analysis.ranking.table import (
    FOLDER,
    TABLE_NAME,
    RankTable,
    levels_of,
    open_ranks,
    write_head,
)
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.files import WAIT_SECS, writing_alone
from rdfcrawl.analysis.urldb.rank_graph import (
    LinkGraph,
    LinkScratch,
    NodeRange,
    RankNodes,
    ranges,
)
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import RankScore
from rdfcrawl.core.sorting import SpillFile, SpillFolder, StringSorter
from rdfcrawl.stores.files import sync, synced_file

UNSTATED_PRIORITY: Final = 0.5  # sitemaps.org protocol 0.9, "priority"
MEMORY_BYTES: Final = 256 * 1024 * 1024
_COPIED: Final = 1 << 16  # bytes in one step


class DomainRanking:
    """PriorityRank of the nodes of all domains, one domain after the other.

    Args:
        nodes: all nodes; their index can be freed after construction.
        spills: hold the links of a domain, and the listings of sitemaps.
        memory_bytes: for sorting.
    """

    def __init__(
        self, nodes: RankNodes, spills: SpillFolder, memory_bytes: int
    ) -> None:
        self._nodes, self._spills = nodes, spills
        self._memory_bytes = memory_bytes
        self._listed = StringSorter(spills.new(), memory_bytes)
        for node, sitemap, priority in nodes.listed():
            stated = b"" if isnan(priority) else repr(priority).encode()
            self._listed.add(b"%08x%08x%b" % (sitemap, node, stated))
        self._fronts = _fronts_of(nodes)

    def ranks(self, links: Iterable[OutLinks]) -> array[float]:
        """Return the PriorityRank of each node, with sum 1 for each domain.

        Args:
            links: of documents, sorted by source; links to other domains are ignored.
        """
        ranks = array("d")
        scratch = LinkScratch(self._spills.new(), self._memory_bytes)
        documents = _Ahead(links)
        listed = _Ahead(_sitemap_links(self._listed))
        for domain in ranges(self._nodes.domains):
            fronts = self._fronts.get(domain.begin, {})
            within = _DomainLinks(domain, fronts, scratch)
            within.write(documents, listed)
            found = compute_pagerank(within.n_nodes, scratch.read)
            ranks.extend(found.ranks[: domain.end - domain.begin])
        return ranks


def iter_levels(nodes: RankNodes, scores: Sequence[float]) -> Iterator[bytearray]:
    """Yield the levels of the nodes of each host by a score, in order."""
    for begin, end in ranges(nodes.hosts):
        pages = nodes.is_page[begin:end]
        levels = bytearray(end - begin)
        of_pages = iter(levels_of(array("d", compress(scores[begin:end], pages))))
        for place, is_one in enumerate(pages):
            if is_one:
                levels[place] = next(of_pages)
        yield levels


class _Ahead:
    """Iterator over out-links, sorted by source, that knows the next ones."""

    def __init__(self, links: Iterable[OutLinks]) -> None:
        self._left = iter(links)
        self._next = next(self._left, None)

    def up_to(self, end: int) -> Iterator[OutLinks]:
        """Yield the links of nodes below one."""
        while self._next is not None and self._next.source < end:
            yield self._next
            self._next = next(self._left, None)


class _DomainLinks:
    """The links within one domain, and virtual links of sitemaps and front pages.

    Attributes:
        n_nodes: of the domain, including front pages without a record.
    """

    def __init__(
        self, domain: NodeRange, fronts: Mapping[int, set[int]], scratch: LinkScratch
    ) -> None:
        self._begin, self._end = domain
        self._scratch = scratch
        # Negative numbers are front pages without a record.
        n_known = self._end - self._begin
        self.n_nodes = n_known + sum(front < 0 for front in fronts)
        self._tops = {
            front - self._begin if front >= 0 else n_known - 1 - front: {
                top - self._begin for top in tops
            }
            for front, tops in fronts.items()
        }

    def write(self, documents: _Ahead, listed: _Ahead) -> None:
        """Write all links, grouped by node."""
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

    Front pages without a record are numbered -1, -2, ... within their domain.
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
    """Yield the links of each sitemap, with weights if it states any priority."""
    lines = (line for batch in sorter.sorted() for line in batch)
    for source, group in groupby(lines, key=lambda line: line[:8]):
        stated: dict[int, float | None] = {}
        for line in group:
            stated[int(line[8:16], 16)] = float(line[16:]) if line[16:] else None
        targets = array("I", stated)
        yield OutLinks(int(source, 16), targets, weights_of(stated.values()))


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


_DRAFT: Final = f".{TABLE_NAME}.draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankReport:
    """Result of a ranking.

    Attributes:
        table: the scores.
        is_new: whether they were computed; otherwise the database had not changed.
        damages: descriptions of damaged parts of the link log.
    """

    table: RankTable
    is_new: bool
    damages: tuple[str, ...] = ()


def rank(
    root: Path, *, memory_bytes: int = MEMORY_BYTES, scratch: Path | None = None
) -> RankReport:
    """Rank the URIs of a URL database, unless it is unchanged since the last ranking.

    Memory: some 30 bytes for each URI, in addition to `memory_bytes`.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`, with an up-to-date URL database.
        memory_bytes: approximate memory for sorting.
        scratch: folder of scratch files; by default that of the operating system.

    Raises:
        ConfigError: there is no URL database, another ranking takes more than
            `WAIT_SECS`, or a file is damaged.
        OSError: a disk is full, or cannot be read.
    """
    with UrlDatabase(root) as database:
        if known := _known_ranks(root, database):
            return RankReport(table=known, is_new=False)
        folder = root / FOLDER
        folder.mkdir(exist_ok=True)
        with (
            writing_alone(folder, "is being written already", wait_secs=WAIT_SECS),
            SpillFolder(scratch) as spills,
        ):
            if known := _known_ranks(root, database):  # of the one that we waited for
                return RankReport(table=known, is_new=False)
            ranking = _Ranking(root, database, spills, memory_bytes)
            facts = ranking.run()
            with replacing_table(folder) as file:
                ranking.write(file, {**facts, "database": database.digest})
    found = open_ranks(root)
    if found is None:
        raise ConfigError(f"{folder}: was removed during the ranking")
    return RankReport(table=found, is_new=True, damages=ranking.damages)


def _known_ranks(root: Path, database: UrlDatabase) -> RankTable | None:
    """Return the ranks of a crawl if they are of this state of the database."""
    known = open_ranks(root)
    is_current = known and known.facts.get("database") == database.digest
    return known if is_current else None


class _Ranking:
    """One ranking, with scores in scratch files, in the order of nodes."""

    def __init__(
        self, root: Path, database: UrlDatabase, spills: SpillFolder, memory_bytes: int
    ) -> None:
        self._spills, self._memory_bytes = spills, memory_bytes
        records, normal_form = database.records(), database.normal_form
        self._nodes = RankNodes(records, normal_form, spills, memory_bytes)
        graph = LinkGraph(root, self._nodes, spills, memory_bytes)
        self._graph = graph
        self.damages = tuple(map(str, graph.damages))
        self._domains = DomainRanking(self._nodes, spills, memory_bytes)
        # The index is needed once more at the end.
        self._marks, self._places = spills.new(), spills.new()
        index = self._nodes.index
        self._n_urls = len(index.marks)
        _spill(self._marks, index.marks)
        _spill(self._places, index.nodes)
        del index.marks, index.nodes
        self._values = {name: spills.new() for name in RankScore}
        self._levels = {name: spills.new() for name in RankScore}

    def run(self) -> dict[str, int | float | str]:
        """Compute all scores; return the facts of the ranking."""
        n_nodes, graph = self._nodes.n_nodes, self._graph
        self._keep(RankScore.INLINKS, array("d", graph.n_incoming))
        found = compute_pagerank(n_nodes, graph.links.read)
        ranks = array("d", found.ranks)
        for node, n_incoming in enumerate(graph.n_incoming):
            if not n_incoming:
                ranks[node] = 0.0
        self._keep(RankScore.PAGERANK, ranks)
        del ranks
        self._keep(RankScore.PRIORITYRANK, self._domains.ranks(graph.links.read()))
        return {
            "n_nodes": n_nodes,
            "n_links": graph.n_links,
            "n_rounds": found.n_rounds,
            "change": found.change,
        }

    def _keep(self, name: RankScore, scores: array[float]) -> None:
        _spill(self._values[name], scores)
        spill = self._levels[name]
        for levels in iter_levels(self._nodes, scores):
            spill.add(levels)

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


@contextmanager
def replacing_table(folder: Path) -> Iterator[BinaryIO]:
    """Write a score table that replaces the previous one atomically.

    Raises:
        OSError: the disk is full, or refuses the file; the table is unchanged.
    """
    draft = folder / _DRAFT
    with synced_file(draft) as file:
        yield file
    draft.replace(folder / TABLE_NAME)
    sync(folder)


def _spill(spill: SpillFile, numbers: array[int] | array[float]) -> None:
    content = memoryview(numbers).cast("B")
    for begin in range(0, len(content), _COPIED):
        spill.add(content[begin : begin + _COPIED])
