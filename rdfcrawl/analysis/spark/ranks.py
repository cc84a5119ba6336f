"""Rank the URIs of all machines: rounds of PageRank, then each domain separately.

Memory: some 30 bytes for each URI of the crawl in the driver, and 8 to 12 in each
Python process; in these also some 40 for each URI of a partition, and 16 for each of a
domain.
"""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import compress, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import RDD, Broadcast, StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from rdfcrawl.analysis.ranking.pagerank import (
    LinkBlock,
    OutLinks,
    gain_of_ranges,
    iterate_ranks,
    pack_links,
)
from rdfcrawl.analysis.ranking.table import FOLDER, TABLE_NAME, write_head
from rdfcrawl.analysis.spark.graph import UrlGraph, batches_of, find_graph
from rdfcrawl.analysis.spark.session import n_tasks
from rdfcrawl.analysis.spark.urls import rows_of
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.rank_building import (
    MEMORY_BYTES,
    DomainRanking,
    iter_levels,
    replacing_table,
)
from rdfcrawl.analysis.urldb.rank_graph import RankNodes, ranges
from rdfcrawl.core.records import RankScore
from rdfcrawl.core.sorting import SpillFolder
from rdfcrawl.stores.files import sync

_SCORES: Final = tuple(str(name) for name in RankScore)
_LEVELS: Final = tuple(f"level_{name}" for name in _SCORES)
_TABLE: Final = ", ".join(
    ["mark long"]
    + [f"{name} double" for name in _SCORES]
    + [f"{name} long" for name in _LEVELS]
)
_SORTED: Final = ".sorted"


def rank_urls(session: SparkSession, root: Path, machines: DataFrame) -> dict[str, Any]:
    """Write the score table; return the facts of the ranking.

    The table equals that of one machine with all logs, byte for byte, except for the
    digest of the database.

    Args:
        session: of Spark.
        root: folder with the URL database, on a shared disk.
        machines: rows of the files of all machines.
    """
    graph = find_graph(session, root, machines)
    ranks, facts = _pagerank(session, graph)
    rows = _domain_rows(session, root, graph, ranks).persist()  # sorting reads it twice
    sorted_rows = root / FOLDER / _SORTED
    shutil.rmtree(sorted_rows, ignore_errors=True)
    rows.orderBy("mark").write.parquet(sorted_rows.absolute().as_uri())
    paths = sorted(sorted_rows.glob("part-*.parquet"))
    with UrlDatabase(root) as database:
        facts["database"] = database.digest
    with replacing_table(root / FOLDER) as file:
        _write_table(file, paths, facts)
    shutil.rmtree(sorted_rows, ignore_errors=True)
    return facts


def replace_ranks(draft: Path, root: Path) -> None:
    """Replace the score table of a folder by that of a draft, atomically."""
    (draft / FOLDER / TABLE_NAME).replace(root / FOLDER / TABLE_NAME)
    sync(root / FOLDER)


def _pagerank(
    session: SparkSession, graph: UrlGraph
) -> tuple[Broadcast[tuple[array[float], array[int]]], dict[str, Any]]:
    """Return PageRank and in-links of all nodes, and the facts of the ranking."""
    n_nodes, links = graph.n_nodes, graph.links
    n_incoming = array("I", [0]) * n_nodes
    edges = links.select(
        "source",
        sf.size("targets").alias("n_all"),
        sf.explode("targets").alias("target"),
    )
    counts = edges.groupBy("target").count().toArrow()
    for target, number in rows_of(counts.to_batches()):
        n_incoming[target] = number
    is_linking = bytearray(n_nodes)
    for (source,) in rows_of(links.select("source").toArrow().to_batches()):
        is_linking[source] = 1
    size = -(-n_nodes // n_tasks(session)) or 1
    blocks = _blocks(edges, size, n_tasks(session))
    found = iterate_ranks(n_nodes, partial(_gain, session, blocks, size, is_linking))
    blocks.unpersist()
    ranks = array("d", found.ranks)
    for node, number in enumerate(n_incoming):
        if not number:
            ranks[node] = 0.0
    facts = {
        "n_nodes": n_nodes,
        "n_links": sum(n_incoming),
        "n_rounds": found.n_rounds,
        "change": found.change,
    }
    return session.sparkContext.broadcast((ranks, n_incoming)), facts


def _blocks(edges: DataFrame, size: int, n_parts: int) -> RDD[LinkBlock]:
    """Return the links, with each range of targets in one task."""
    return (
        edges.selectExpr(f"target div {size} AS number", "source", "n_all", "target")
        .repartition(n_parts, "number")
        .sortWithinPartitions("number", "source", "target")
        .mapInArrow(
            _pack,
            "number long, sources binary, n_all binary, n_here binary, targets binary",
        )
        .rdd.map(_unpacked)
        .persist(StorageLevel.MEMORY_AND_DISK)
    )


def _pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = ((x[0], *(y.tobytes() for y in x[1:])) for x in pack_links(rows_of(batches)))
    for row in rows:
        yield from batches_of([row], LinkBlock._fields)


def _unpacked(row: tuple[Any, ...]) -> LinkBlock:
    columns = array("q"), array("I"), array("I"), array("q")
    for column, content in zip(columns, row[1:], strict=True):
        column.frombytes(bytes(content))
    return LinkBlock(row[0], *columns)


def _gain(
    session: SparkSession,
    blocks: RDD[LinkBlock],
    size: int,
    is_linking: bytearray,
    ranks: array[float],
) -> tuple[array[float], float]:
    """Return the gain of each node in a round, and the rank of nodes with links."""
    shared = session.sparkContext.broadcast(ranks)
    gained = array("d", [0.0]) * len(ranks)
    for number, some in blocks.mapPartitions(
        partial(_gain_here, shared, size)
    ).collect():
        begin = number * size
        gained[begin : begin + size] = some[: len(ranks) - begin]
    shared.destroy()
    linking = 0.0
    for rank in compress(ranks, is_linking):
        linking += rank  # same order as on one machine
    return gained, linking


def _gain_here(
    shared: Broadcast[array[float]], size: int, blocks: Iterable[LinkBlock]
) -> Iterator[tuple[int, array[float]]]:
    return gain_of_ranges(blocks, shared.value, size)


def _domain_rows(
    session: SparkSession,
    root: Path,
    graph: UrlGraph,
    ranks: Broadcast[tuple[array[float], array[int]]],
) -> DataFrame:
    """Return scores and levels by the fingerprints of URLs.

    For each partition, tasks read its lost marks first, then for each domain its begin
    and the links within.
    """
    null, nothing = sf.lit(None), sf.lit(None).cast("array<long>")
    lost = graph.lost.select(
        "partition",
        sf.lit(-1).alias("begin"),
        sf.lit(-1).alias("source"),
        "mark",
        nothing.alias("targets"),
    )
    heads = graph.domains.select(
        "partition",
        "begin",
        sf.lit(-1).alias("source"),
        null.cast("long").alias("mark"),
        nothing.alias("targets"),
    )
    within = graph.links.selectExpr(
        "partition",
        "begin",
        "source - begin AS source",
        "CAST(NULL AS LONG) AS mark",
        "transform(filter(targets, x -> x >= begin AND x < until), x -> x - begin)"
        " AS targets",
    )
    return (
        lost.unionByName(heads)
        .unionByName(within)
        .repartition(n_tasks(session), "partition")
        .sortWithinPartitions("partition", "begin", "source")
        .mapInArrow(partial(_rank_partitions, str(root), ranks), _TABLE)
    )


def _rank_partitions(
    root: str,
    ranks: Broadcast[tuple[array[float], array[int]]],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    names = ("mark", *_SCORES, *_LEVELS)
    with UrlDatabase(Path(root)) as database:
        for partition, rows in groupby(rows_of(batches), itemgetter(0)):
            with SpillFolder(None) as spills:
                ranking = _PartitionRanking(database, partition, rows, spills)
                yield from batches_of(ranking.rows(*ranks.value), names)


class _PartitionRanking:
    """The ranking of one partition of the URL database."""

    def __init__(
        self,
        database: UrlDatabase,
        partition: str,
        rows: Iterator[tuple[Any, ...]],
        spills: SpillFolder,
    ) -> None:
        records, normal_form = database.records(partition), database.normal_form
        self._nodes = RankNodes(records, normal_form, spills, MEMORY_BYTES)
        self._rows = rows
        lost = set()
        for row in rows:
            if row[1] >= 0:
                self._begins = [row[1]]
                break
            lost.add(row[3])
        self._nodes.index.drop(lost)
        domains = DomainRanking(self._nodes, spills, MEMORY_BYTES)
        self._priority_ranks = domains.ranks(self._links())

    def _links(self) -> Iterator[OutLinks]:
        """Yield the links within domains; collect the begins of domains."""
        for _, begin, source, _, targets in self._rows:
            if source < 0:
                self._begins.append(begin)
            else:  # including links to other domains: their order matters
                here = self._nodes.domains[len(self._begins) - 1]
                yield OutLinks(here + source, [here + x for x in targets])

    def rows(
        self, ranks: array[float], n_incoming: array[int]
    ) -> Iterator[tuple[float, ...]]:
        """Yield fingerprint, scores and levels."""
        nodes, pageranks, numbers = self._nodes, array("d"), array("d")
        for begin, (first, end) in zip(
            self._begins, ranges(nodes.domains), strict=True
        ):
            pageranks.extend(ranks[begin : begin + end - first])
            numbers.extend(map(float, n_incoming[begin : begin + end - first]))
        scores = pageranks, self._priority_ranks, numbers
        levels = [b"".join(iter_levels(nodes, each)) for each in scores]
        for mark, node in zip(nodes.index.marks, nodes.index.nodes, strict=True):
            yield mark, *(x[node] for x in scores), *(x[node] for x in levels)


def _write_table(file: BinaryIO, paths: list[Path], facts: dict[str, Any]) -> None:
    """Write the table from sorted rows, column by column."""
    write_head(file, sum(pq.read_metadata(x).num_rows for x in paths), facts)
    columns = [
        ("mark", "q"),
        *((x, "d") for x in _SCORES),
        *((x, "B") for x in _LEVELS),
    ]
    for name, kind in columns:
        for path in paths:
            with pq.ParquetFile(path) as rows:
                file.writelines(
                    array(kind, batch.column(0).to_pylist()).tobytes()
                    for batch in rows.iter_batches(columns=[name])
                )
