"""The measures of all domains, the counts of all activities, and Parquet rows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from pyspark import RDD, StorageLevel, TaskContext
from pyspark.sql import DataFrame, SparkSession

from rdfcrawl.analysis.measures.first_seen import FirstSeenCount, SamplingPeriod
from rdfcrawl.analysis.ranking.table import open_ranks
from rdfcrawl.analysis.report.activities import ActivityCounts
from rdfcrawl.analysis.report.content import CrawlReport
from rdfcrawl.analysis.report.domains import DomainMeasures, SiteFigures, measure_domain
from rdfcrawl.analysis.report.making import (
    group_by_domain,
    report_counted,
    with_crawl_sections,
)
from rdfcrawl.analysis.report.same_content import SharedDocuments
from rdfcrawl.analysis.report.url_lists import UrlLists
from rdfcrawl.analysis.urldb.columns import write_parquet
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.facts import FactReader
from rdfcrawl.analysis.urldb.mirrors import MirrorSearch, mirror_urls
from rdfcrawl.analysis.urldb.record import partition_name
from rdfcrawl.core.sorting import SpillFolder
from rdfcrawl.stores.followers.parquet import DatasetVersions
from rdfcrawl.stores.provenance.records import Activity


def report_urls(
    session: SparkSession,
    root: Path,
    machines: DataFrame,
    name: str,
    spills: SpillFolder,
) -> CrawlReport:
    """Return the report of several machines.

    Args:
        session: of Spark.
        root: folder with URL database and ranks, on a shared disk.
        machines: rows of their files.
        name: of the crawl.
        spills: keeps the lists of URLs as long as the report is used.
    """
    period = SamplingPeriod(begin_ms=0)
    sites = SiteFigures(period, UrlLists(spills), first_seen=FirstSeenCount(period))
    measured = _partitions(session, root).flatMap(partial(_measure, str(root), period))
    measured.persist(StorageLevel.MEMORY_AND_DISK)
    for _, measures in measured.sortByKey().toLocalIterator():
        sites.add(measures)
    counts = ActivityCounts()
    rows = machines.filter("kind = 'activity'").select("content")
    for some in rows.rdd.map(itemgetter(0)).mapPartitions(_count).toLocalIterator():
        counts.add(some)
    return with_crawl_sections(
        report_counted(name, sites, counts),
        root,
        stores=[SharedDocuments(*each) for each in _contents(machines, "store")],
        quotas=_contents(machines, "quota"),
    )


def _contents(machines: DataFrame, kind: str) -> Iterator[Any]:
    """Yield the contents of the rows of a kind that is rare on each machine."""
    rows = machines.filter(f"kind = '{kind}'").select("content")
    for (content,) in rows.toLocalIterator():
        yield json.loads(content)


def _partitions(session: SparkSession, root: Path) -> RDD[str]:
    with UrlDatabase(root) as database:
        names = database.partitions
    return session.sparkContext.parallelize(names, max(len(names), 1))


def _measure(
    root: str, period: SamplingPeriod, partition: str
) -> Iterator[tuple[str, DomainMeasures]]:
    with UrlDatabase(Path(root)) as database:
        reader = FactReader(database, open_ranks(Path(root)), partition)
        for facts in group_by_domain(reader.uris(), reader.sitemaps()):
            yield facts.domain, measure_domain(facts, period)


def _count(texts: Iterable[str]) -> Iterator[ActivityCounts]:
    counts = ActivityCounts()
    for text in texts:
        counts.count(Activity._make(json.loads(text)))
    yield counts


class NewRows:
    """The next version of a dataset with a row for each URI, a file for each partition.

    Readers have the former version until the new one is shown, which is atomic, like
    that of a Parquet store.

    Args:
        path: of the dataset, on the shared disk.

    Raises:
        ConfigError: something else is at the path.
    """

    def __init__(self, path: Path) -> None:
        self._versions = DatasetVersions(path)
        self._versions.prepare()
        self._number = int(path.readlink().name) + 1 if path.is_symlink() else 1

    def write(self, session: SparkSession, root: Path) -> None:
        """Write the rows of a folder with URL database and ranks."""
        folder = self._versions.begin(self._number)
        mirrors = _mirrors_by_partition(root)
        export = partial(_export, str(root), str(folder))
        names = _partitions(session, root)
        names.map(lambda name: (name, mirrors.get(name, {}))).foreach(export)
        self._versions.finish(self._number)

    def show(self) -> None:
        """Show the new rows to readers."""
        self._versions.show(self._number)


def _mirrors_by_partition(root: Path) -> dict[str, dict[str, str]]:
    """Return the representative of each URL whose content is on several domains."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    with UrlDatabase(root) as database, SpillFolder(root) as spills:
        search = MirrorSearch(database, open_ranks(root), spills)
        mirrors = dict(mirror_urls(search.find(), spills))
        for number, record in enumerate(database.records()):
            if number in mirrors:
                name = partition_name(record.host)
                found[name][record.url] = mirrors[number]
    return found


def _export(root: str, folder: str, part: tuple[str, dict[str, str]]) -> None:
    partition, mirrors = part
    context: Any = TaskContext.get()
    draft = Path(folder, f".{partition}-{context.taskAttemptId()}.draft")
    with UrlDatabase(Path(root)) as database:
        ranks = open_ranks(Path(root))
        facts = FactReader(database, ranks, partition).uris()
        places = (
            (number, mirrors[record.url])
            for number, record in enumerate(database.records(partition))
            if record.url in mirrors
        )
        records = database.records(partition)
        write_parquet(records, draft, ranks, facts, places if mirrors else ())
    draft.replace(Path(folder, f"{partition}.parquet"))
