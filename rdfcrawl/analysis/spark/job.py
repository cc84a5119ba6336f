"""The steps of a Spark job: URL database, scores, Parquet rows, and report."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from rdfcrawl.analysis.ranking.table import FOLDER as RANKS
from rdfcrawl.analysis.report.writing import write_report
from rdfcrawl.analysis.spark.figures import NewRows, report_urls
from rdfcrawl.analysis.spark.machine_file import check_machine_files
from rdfcrawl.analysis.spark.ranks import rank_urls, replace_ranks
from rdfcrawl.analysis.spark.session import spark_session
from rdfcrawl.analysis.spark.urls import join_urls, replace_urls
from rdfcrawl.analysis.urldb.files import FOLDER as URLS
from rdfcrawl.analysis.urldb.files import writing_alone
from rdfcrawl.core.messages import counted
from rdfcrawl.core.sorting import SpillFolder

REPORT: Final = "report"
ROWS: Final = "urls.parquet"
_DRAFT: Final = ".draft"  # in the folder of the results, thus on the same disk


class SparkJobReport(NamedTuple):
    """Result of a job.

    Attributes:
        n_urls: number of URLs in the database.
        n_links: number of links between them.
        n_rounds: number of rounds of PageRank.
        report: the page.
    """

    n_urls: int
    n_links: int
    n_rounds: int
    report: Path

    def __str__(self) -> str:
        uris, links = counted(self.n_urls, "URI"), counted(self.n_links, "link")
        rounds = counted(self.n_rounds, "round")
        return f"{uris} with {links} ranked, in {rounds}: {self.report}"


def run_job(
    paths: Sequence[Path], root: Path, master: str | None = None
) -> SparkJobReport:
    """Write the results of several machines to the folders of one crawl.

    All steps write to a draft in it. When all have succeeded, `urldb/`, `ranks/`,
    `urls.parquet` and `report/` are replaced in this order, the first three atomically.

    Args:
        paths: files of `machine_file`.
        root: folder of the results. Driver and tasks must see it, and the files, under
            the same paths.
        master: of Spark; None: that of `spark-submit`.

    Raises:
        ConfigError: a file is invalid, or another job is running.
        SparkFault: Spark has failed.
        OSError: a disk is full, or cannot be read.
    """
    root = root.absolute()
    draft = root / _DRAFT
    normal_form = check_machine_files(paths)
    with ExitStack() as stack:
        for name in (URLS, RANKS):
            (root / name).mkdir(parents=True, exist_ok=True)
            stack.enter_context(writing_alone(root / name, "is being written already"))
        rows = NewRows(root / ROWS)
        stack.enter_context(_emptied(draft))
        session = stack.enter_context(spark_session(master))
        machines = session.read.parquet(*(x.absolute().as_uri() for x in paths))
        manifest = join_urls(machines, draft, normal_form)
        facts = rank_urls(session, draft, machines)
        rows.write(session, draft)
        spills = stack.enter_context(SpillFolder(draft))
        report = report_urls(session, draft, machines, root.name, spills)
        replace_urls(draft, root, manifest)
        replace_ranks(draft, root)
        rows.show()
        written = write_report(report, root / REPORT)
    n_urls = manifest.n_records
    return SparkJobReport(n_urls, facts["n_links"], facts["n_rounds"], written[0])


@contextmanager
def _emptied(draft: Path) -> Iterator[None]:
    """Make an empty folder for a draft of the results, and remove it at the end."""
    shutil.rmtree(draft, ignore_errors=True)  # of a job that was killed
    for name in (URLS, RANKS):
        (draft / name).mkdir(parents=True)
    try:
        yield
    finally:
        shutil.rmtree(draft, ignore_errors=True)
