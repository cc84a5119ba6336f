"""The steps of a Spark job: URL database, scores, Parquet rows, and report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from rdfcrawl.analysis.ranking.table import FOLDER as RANKS
from rdfcrawl.analysis.report.writing import write_report
from rdfcrawl.analysis.spark.figures import export_urls, report_urls
from rdfcrawl.analysis.spark.machine_file import check_machine_files
from rdfcrawl.analysis.spark.ranks import rank_urls
from rdfcrawl.analysis.spark.session import spark_session
from rdfcrawl.analysis.spark.urls import join_urls
from rdfcrawl.analysis.urldb.files import FOLDER as URLS
from rdfcrawl.analysis.urldb.files import writing_alone
from rdfcrawl.core.messages import counted

REPORT: Final = "report"
ROWS: Final = "urls.parquet"


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

    `urldb/`, `ranks/`, `urls.parquet` and `report/` are replaced in this order, each
    atomically when it is complete.

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
    normal_form = check_machine_files(paths)
    with ExitStack() as stack:
        for name in (URLS, RANKS):
            (root / name).mkdir(parents=True, exist_ok=True)
            stack.enter_context(writing_alone(root / name, "is being written already"))
        session = stack.enter_context(spark_session(master))
        machines = session.read.parquet(*(x.absolute().as_uri() for x in paths))
        n_urls = join_urls(machines, root, normal_form)
        facts = rank_urls(session, root, machines)
        export_urls(session, root, root / ROWS)
        report = report_urls(session, root, machines)
    written = write_report(report, root / REPORT)
    return SparkJobReport(n_urls, facts["n_links"], facts["n_rounds"], written[0])
