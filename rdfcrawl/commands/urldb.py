"""`scrapy urldb`: what a crawl knows of each URI."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rdfcrawl.console import QuietCommand, add_number, fail, program
from rdfcrawl.errors import ConfigError
from rdfcrawl.extras import needed_by_operator

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

_ACTIONS = "build, rank, show URI or export"


class Command(QuietCommand):
    """Build the database of a crawl's URIs from its logs, or read it."""

    synopsis = "[options] build | rank | show URI | export --to FILE.parquet"
    summary = "Tell what a crawl knows of each URI: fetches, claims, first seen"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        super().add_options(parser)
        parser.add_argument("--to", metavar="FILE", help="of export: file of Parquet")
        add_number(
            parser,
            "--memory",
            metavar="MB",
            default=256,
            least=1,
            most=1 << 20,
            help="of build and rank: memory for what is sorted (256)",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the action; exit with 2 if the operator is wrong, with 1 if a disk is."""
        if self.settings is None:
            return
        try:
            match args:
                case ["build"]:
                    self.exitcode = _build(self.settings, opts.memory)
                case ["rank"]:
                    self.exitcode = _rank(self.settings, opts.memory)
                case ["show", url]:
                    self.exitcode = _show(self.settings, url)
                case ["export"] if opts.to:
                    _export(self.settings, Path(opts.to))
                case ["export"]:
                    fail("urldb export: say --to FILE.parquet")
                case _:
                    fail(f"urldb: say what to do: {_ACTIONS}")
        except ConfigError as error:
            fail(str(error))
        except OSError as error:
            sys.stderr.write(f"{program()}: urldb: {error}\n")
            self.exitcode = 1


def _build(settings: BaseSettings, memory_mb: int) -> int:
    """Bring the database up to date; return 1 if something could not be read."""
    from rdfcrawl.frontier.options import normal_form_of
    from rdfcrawl.log.location import find_crawl
    from rdfcrawl.urldb.building import build

    root = find_crawl(settings)
    report = build(
        root,
        normal_form_of(settings),
        memory_bytes=memory_mb * 1024 * 1024,
        scratch=root,
    )
    _write(
        f"{report.n_observations:,} observations read: {report.n_records:,} URIs in"
        f" {report.n_bytes:,} bytes"
    )
    if report.n_without_host:
        _write(f"{report.n_without_host:,} names without a host are left out")
    _write(*report.damages)
    return int(bool(report.damages))


def _rank(settings: BaseSettings, memory_mb: int) -> int:
    """Bring database and scores up to date; return 1 if something could not be read."""
    from rdfcrawl.log.location import find_crawl
    from rdfcrawl.urldb.rank_building import rank

    code = _build(settings, memory_mb)
    root = find_crawl(settings)
    done = rank(root, memory_bytes=memory_mb * 1024 * 1024, scratch=root)
    facts = done.table.facts
    _write(
        f"{facts['n_nodes']:,} URIs with {facts['n_links']:,} links are ranked"
        + (f", in {facts['n_rounds']} rounds" if done.is_new else " already")
    )
    return code


def _show(settings: BaseSettings, url: str) -> int:
    """Write the record of a URI as JSON; return 1 if there is none."""
    from rdfcrawl.log.location import find_crawl
    from rdfcrawl.ranking.table import open_ranks
    from rdfcrawl.uri import fingerprint
    from rdfcrawl.urldb.database import UrlDatabase
    from rdfcrawl.urldb.facts import FactReader

    root = find_crawl(settings)
    with UrlDatabase(root) as database:
        record = database.find(url)
        duplicates = FactReader(database).duplicates(url) if record else ()
    if record is None:
        sys.stderr.write(f"{program()}: urldb show: nothing is known of {url!a}\n")
        return 1
    ranks = open_ranks(root)
    scores = None if ranks is None else ranks.scores(fingerprint(record.url))
    _write(
        json.dumps(
            {**asdict(record), "duplicates": duplicates, "scores": scores}, indent=2
        )
    )
    return 0


def _export(settings: BaseSettings, path: Path) -> None:
    with needed_by_operator("parquet", "urldb export"):
        from rdfcrawl.urldb.columns import write_parquet
    from rdfcrawl.log.location import find_crawl
    from rdfcrawl.ranking.table import open_ranks
    from rdfcrawl.urldb.database import UrlDatabase
    from rdfcrawl.urldb.facts import FactReader

    root = find_crawl(settings)
    with UrlDatabase(root) as database:
        ranks = open_ranks(root)
        facts = FactReader(database, ranks).uris()
        n_rows = write_parquet(database.records(), path, ranks, facts)
    _write(f"{n_rows:,} URIs written to {path}")


def _write(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
