"""`scrapy urldb`: records of the URIs of a crawl."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from scrapy.settings import BaseSettings

from rdfcrawl.core.console import QuietCommand, fail, number, option, warn, write_lines
from rdfcrawl.core.errors import ConfigError, hide_logins, needed_by_operator
from rdfcrawl.core.messages import counted

_ACTIONS = "build, rank, show URI, export, observe or spark"


class Command(QuietCommand):
    """Build the database of a crawl's URIs from its logs, or read it."""

    synopsis = (
        "[options] build | rank | show URI | export --to FILE.parquet"
        " | observe --to FILE.parquet | spark FILE.parquet ... --to DIR"
    )
    summary = "Show the record of each URI: fetches, claims, first seen"
    options = (
        option(
            "--to",
            "FILE",
            "of export and observe, a file of Parquet; of spark, a folder",
        ),
        option(
            "--master",
            "URL",
            "of spark: its master (local[*], on all cores of this machine)",
            default="local[*]",
        ),
        number(
            "--memory",
            "MB",
            "of build and rank: memory for sorting (256)",
            least=1,
            most=1 << 20,
            default=256,
        ),
    )

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """Run an action; return the exit code."""
        match args:
            case ["build"]:
                return _build(settings, opts.memory)
            case ["rank"]:
                return _rank(settings, opts.memory)
            case ["show", url]:
                return _show(settings, url)
            case ["export" | "observe" as action]:
                if not opts.to:
                    fail(f"urldb {action}: give --to FILE.parquet")
                if action == "observe":
                    return _observe(settings, Path(opts.to), opts.memory)
                return _export(settings, Path(opts.to))
            case ["spark", *files]:
                if not files or not opts.to:
                    fail("urldb spark: give FILE.parquet ... --to DIR")
                return _spark(files, Path(opts.to), opts.master)
        raise ConfigError(f"urldb: choose {_ACTIONS}")


def _build(settings: BaseSettings, memory_mb: int) -> int:
    """Bring the database up to date; return 1 if a part could not be read."""
    from rdfcrawl.analysis.urldb.building import build
    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.stores.crawl_folder import find_crawl

    root = find_crawl(settings)
    report = build(
        root,
        CrawlOptions.one(settings, "normal_form"),
        memory_bytes=memory_mb * 1024 * 1024,
        scratch=root,
    )
    write_lines(
        f"{counted(report.n_observations, 'observation')} read:"
        f" {counted(report.n_records, 'URI')} in {counted(report.n_bytes, 'byte')}"
    )
    if report.n_without_host:
        left_out = counted(report.n_without_host, "name")
        write_lines(f"{left_out} without a host left out")
    write_lines(*report.damages)
    return int(bool(report.damages))


def _rank(settings: BaseSettings, memory_mb: int) -> int:
    """Bring database and scores up to date; return 1 if a part could not be read."""
    from rdfcrawl.analysis.urldb.rank_building import rank
    from rdfcrawl.stores.crawl_folder import find_crawl

    code = _build(settings, memory_mb)
    root = find_crawl(settings)
    done = rank(root, memory_bytes=memory_mb * 1024 * 1024, scratch=root)
    facts = done.table.facts
    uris = counted(int(facts["n_nodes"]), "URI")
    links = counted(int(facts["n_links"]), "link")
    rounds = counted(int(facts["n_rounds"]), "round")
    write_lines(
        f"{uris} with {links} ranked{f', in {rounds}' if done.is_new else ' already'}"
    )
    return code


def _show(settings: BaseSettings, url: str) -> int:
    """Write the record of a URI as JSON; return 1 if there is none."""
    from rdfcrawl.analysis.ranking.table import open_ranks
    from rdfcrawl.analysis.urldb.database import UrlDatabase
    from rdfcrawl.analysis.urldb.facts import FactReader
    from rdfcrawl.stores.crawl_folder import find_crawl
    from rdfcrawl.uri import fingerprint

    root = find_crawl(settings)
    with UrlDatabase(root) as database:
        record = database.find(url)
        duplicates = FactReader(database).duplicates(url) if record else ()
    if record is None:
        shown = hide_logins(url)
        warn(f"urldb show: {shown!a} is not known")
        return 1
    ranks = open_ranks(root)
    scores = None if ranks is None else ranks.scores(fingerprint(record.url))
    write_lines(
        json.dumps(
            {**asdict(record), "duplicates": duplicates, "scores": scores}, indent=2
        )
    )
    return 0


def _export(settings: BaseSettings, path: Path) -> int:
    """Write the rows of all URIs; return 0."""
    with needed_by_operator("parquet", "urldb export"):
        from rdfcrawl.analysis.urldb.columns import write_parquet
    from rdfcrawl.analysis.ranking.table import open_ranks
    from rdfcrawl.analysis.urldb.database import UrlDatabase
    from rdfcrawl.analysis.urldb.facts import FactReader
    from rdfcrawl.analysis.urldb.mirrors import MirrorSearch, mirror_urls
    from rdfcrawl.core.sorting import SpillFolder
    from rdfcrawl.stores.crawl_folder import find_crawl

    root = find_crawl(settings)
    with UrlDatabase(root) as database, SpillFolder(root) as spills:
        ranks = open_ranks(root)
        facts = FactReader(database, ranks).uris()
        mirrors = mirror_urls(MirrorSearch(database, ranks, spills).find(), spills)
        n_rows = write_parquet(database.records(), path, ranks, facts, mirrors)
    write_lines(f"{counted(n_rows, 'URI')} written to {path}")
    return 0


def _observe(settings: BaseSettings, path: Path, memory_mb: int) -> int:
    """Write the observations of the local logs; return 1 if some are unreadable."""
    with needed_by_operator("parquet", "urldb observe"):
        from rdfcrawl.analysis.spark.machine_file import write_machine_file
    from rdfcrawl.analysis.urldb.database import UrlDatabase
    from rdfcrawl.stores.crawl_folder import find_crawl

    code = _build(settings, memory_mb)
    root = find_crawl(settings)
    with UrlDatabase(root) as database:
        done = write_machine_file(root, database, path)
    activities = counted(done.n_activities, "activity", "activities")
    write_lines(
        f"{counted(done.n_urls, 'URI')}, {counted(done.n_documents, 'document')}"
        f" with links and {activities} written to {path}",
        *done.damages,
    )
    return code or int(bool(done.damages))


def _spark(files: list[str], folder: Path, master: str) -> int:
    """Run the Spark job; return 1 if it fails."""
    with needed_by_operator("spark", "urldb spark"):
        from rdfcrawl.analysis.spark.job import run_job
        from rdfcrawl.analysis.spark.session import SparkFault

    try:
        done = run_job(list(map(Path, files)), folder, master)
    except SparkFault as error:
        warn(f"urldb spark: {error}")
        return 1
    write_lines(str(done))
    return 0
