"""The graph of the links between the URIs of all machines, as tables of Spark.

Nodes have the same numbers as on one machine: those of the URL database, in its order.
`analysis.urldb.rank_graph` defines which URIs are nodes, and which links count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from rdfcrawl.analysis.spark.session import n_tasks
from rdfcrawl.analysis.spark.urls import rows_of
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.rank_graph import is_node, redirect_mark
from rdfcrawl.analysis.urldb.record import parse_record
from rdfcrawl.core.batches import in_batches
from rdfcrawl.uri import fingerprint

_BATCH_ROWS: Final = 10_000
_COUNTS: Final = "partition string, domain string, n_nodes long"
_MARKS: Final = (
    "mark long, is_other long, node long, partition string, begin long, until long"
)
_NODE: Final = ("node", "partition", "begin", "until")
_SOURCE: Final = ("source", "partition", "begin", "until")


class UrlGraph(NamedTuple):
    """Tables of a graph; a domain is identified by its nodes, `begin` up to `until`.

    Attributes:
        n_nodes: nodes are 0 to `n_nodes - 1`.
        domains: `partition`, `domain`, `n_nodes`, `begin`.
        lost: `partition`, `mark`: URLs that no redirect of the partition represents.
        links: `source`, its `partition` and domain, and `targets`, sorted.
    """

    n_nodes: int
    domains: DataFrame
    lost: DataFrame
    links: DataFrame


def find_graph(session: SparkSession, root: Path, machines: DataFrame) -> UrlGraph:
    """Return the graph of the URL database in a shared folder.

    Args:
        session: of Spark.
        root: with the database.
        machines: rows of the files of all machines.
    """
    domains = _domains(session, root).persist()
    marks = (
        domains.repartition(n_tasks(session), "partition")
        .sortWithinPartitions("partition", "domain")
        .mapInArrow(partial(_read_marks, str(root)), _MARKS)
        .persist()
    )
    n_nodes = domains.agg(sf.sum("n_nodes")).first()[0] or 0
    # A URL is the node of its record, or else of the first redirect to it.
    index = (
        marks.groupBy("mark")
        .agg(sf.min(sf.struct("is_other", *_NODE)).alias("won"))
        .select("mark", "won.*")
        .persist()
    )
    others = marks.filter("is_other = 1")
    won = index.select(
        "mark", sf.col("node").alias("target"), sf.col("partition").alias("winner")
    )
    redirected = others.join(won, "mark")
    lost = redirected.filter("partition != winner").select("partition", "mark")
    redirects = redirected.filter("node != target").select(
        sf.col("node").alias("source"),
        *_SOURCE[1:],
        sf.array("target").alias("targets"),
    )
    links = _links_of_documents(machines, index, redirects).unionByName(redirects)
    return UrlGraph(n_nodes, domains, lost.distinct(), links.persist())


def _domains(session: SparkSession, root: Path) -> DataFrame:
    """Return all domains with their first nodes."""
    with UrlDatabase(root) as database:
        partitions = [(name,) for name in database.partitions]
    before = Window.orderBy("domain").rowsBetween(Window.unboundedPreceding, -1)
    return (
        session.createDataFrame(partitions, "partition string")
        .repartition(n_tasks(session), "partition")
        .mapInArrow(partial(_count_nodes, str(root)), _COUNTS)
        .withColumn("begin", sf.coalesce(sf.sum("n_nodes").over(before), sf.lit(0)))
    )


def _count_nodes(
    root: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the domains of partitions with nodes, and the number of nodes."""
    with UrlDatabase(Path(root)) as database:
        for (partition,) in rows_of(batches):
            lines = filter(_is_node_line, database.lines(partition))
            of_domains = groupby(lines, lambda line: line.partition(b"\t")[0])
            rows = ((partition, name.decode(), _count(x)) for name, x in of_domains)
            yield from batches_of(rows, ("partition", "domain", "n_nodes"))


def _is_node_line(line: bytes) -> bool:
    # Few URIs have a task; all others are nodes.
    return b'["task",' not in line or is_node(parse_record(line))


def _count(some: Iterable[object]) -> int:
    return sum(1 for _ in some)


def _read_marks(
    root: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the fingerprints of each node: of its URL, and of its redirect target."""
    with UrlDatabase(Path(root)) as database:
        rows = _iter_marks(database, rows_of(batches))
        yield from batches_of(rows, ("mark", "is_other", *_NODE))


def _iter_marks(
    database: UrlDatabase, domains: Iterator[tuple[str, str, int, int]]
) -> Iterator[tuple[int, int, int, str, int, int]]:
    for partition, some in groupby(domains, itemgetter(0)):
        records = filter(is_node, database.records(partition))
        for _, _, n_nodes, begin in some:
            place = partition, begin, begin + n_nodes
            for node, record in enumerate(islice(records, n_nodes), begin):
                yield fingerprint(record.url), 0, node, *place
                target = redirect_mark(record, database.normal_form)
                if target is not None:
                    yield target, 1, node, *place


def _links_of_documents(
    machines: DataFrame, index: DataFrame, redirects: DataFrame
) -> DataFrame:
    """Return the links of the latest version of each document that does not redirect.

    Among several latest versions, the one with the greatest targets counts.
    """
    documents = (
        machines.filter("kind = 'links'")
        .select("mark", "version", "targets")
        .join(index.withColumnRenamed("node", "source"), "mark")
        .select(
            *_SOURCE, "version", "targets", sf.xxhash64("mark", "targets").alias("id")
        )
        .join(redirects.select("source"), "source", "left_anti")
    )
    newest = documents.groupBy("source").agg(sf.max("version").alias("version"))
    targets = index.select("mark", sf.col("node").alias("target"))
    return (
        documents.join(newest, ["source", "version"])
        .select(*_SOURCE, "id", sf.explode("targets").alias("mark"))
        .join(targets, "mark")
        .filter("source != target")
        .groupBy(*_SOURCE, "id")
        .agg(sf.sort_array(sf.collect_set("target")).alias("targets"))
        .groupBy(*_SOURCE)
        .agg(sf.max("targets").alias("targets"))
    )


def batches_of(
    rows: Iterable[tuple[object, ...]], names: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """Yield rows as batches; Spark sets the types of columns by its schema."""
    for some in in_batches(rows, _BATCH_ROWS):
        columns = [pa.array(column) for column in zip(*some, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, list(names))
