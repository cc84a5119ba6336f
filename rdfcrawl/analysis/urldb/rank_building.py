"""Rank the URIs of a crawl: PageRank, PriorityRank, and the number of linking pages.

Source: U. Schonfeld and N. Shivakumar, "Sitemaps: Above and Beyond the Crawl of Duty"
(WWW 2009), 6.3.1.
"""

from __future__ import annotations

from array import array
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.ranking.pagerank import compute_pagerank
from rdfcrawl.analysis.ranking.table import (
    FOLDER,
    TABLE_NAME,
    open_ranks,
    write_head,
)
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.domain_ranks import DomainRanking, iter_levels
from rdfcrawl.analysis.urldb.link_graph import LinkGraph
from rdfcrawl.analysis.urldb.lock import writing_alone
from rdfcrawl.analysis.urldb.rank_nodes import RankNodes
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import RankScore
from rdfcrawl.core.sorting import SpillFolder
from rdfcrawl.stores.drafts import sync, synced_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from rdfcrawl.analysis.ranking.table import RankTable
    from rdfcrawl.core.sorting import SpillFile

MEMORY_BYTES: Final = 256 * 1024 * 1024
_DRAFT: Final = f".{TABLE_NAME}.draft"
_COPIED: Final = 1 << 16  # bytes in one step


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
    root: Path,
    *,
    memory_bytes: int = MEMORY_BYTES,
    scratch: Path | None = None,
) -> RankReport:
    """Rank the URIs of a URL database, unless it is unchanged since the last ranking.

    Memory: some 30 bytes for each URI, in addition to `memory_bytes`.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`, with an up-to-date URL database.
        memory_bytes: approximate memory for sorting.
        scratch: folder of scratch files; by default that of the operating system.

    Raises:
        ConfigError: there is no URL database, another ranking is running, or a file
            is damaged.
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
            with replacing_table(folder) as file:
                ranking.write(file, {**facts, "database": database.digest})
    found = open_ranks(root)
    if found is None:
        raise ConfigError(f"{folder}: was removed during the ranking")
    return RankReport(table=found, is_new=True, damages=ranking.damages)


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
