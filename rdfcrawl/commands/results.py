"""`scrapy results`: the results of each seed, and of the requests to each host."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, fields
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from scrapy.settings import BaseSettings

from rdfcrawl.core.console import QuietCommand, fail, number, switch
from rdfcrawl.core.errors import ConfigError

if TYPE_CHECKING:
    from rdfcrawl.stores.log.result_table import ResultTable

_MOST: Final = 20  # rows of a table


class Command(QuietCommand):
    """List the seeds of a crawl, or its hosts, with their results; the worst first."""

    synopsis = "[options] [seeds|hosts]"
    summary = "List the results of seeds or hosts, the worst first"
    options = (
        number(
            "--most",
            "N",
            f"limit of rows ({_MOST} in a table, all in JSON and CSV)",
            least=1,
        ),
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        super().add_options(parser)
        forms = parser.add_mutually_exclusive_group()
        switch("--json", "write JSON Lines")(forms)
        switch("--csv", "write CSV")(forms)

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """List the results."""
        import sqlite3

        from rdfcrawl.stores.crawl_folder import find_crawl
        from rdfcrawl.stores.log.result_table import ResultTable
        from rdfcrawl.stores.log.results import HOSTS, SEEDS

        kind = args[0] if args else SEEDS
        if kind not in (SEEDS, HOSTS) or len(args) > 1:
            fail(f"results: type: results [{SEEDS}|{HOSTS}]")
        root = find_crawl(settings) / "results"
        if not root.is_dir():
            raise ConfigError(f"{root}: the crawl has no log of results")
        try:
            with ResultTable.opened(root, kind) as table:
                if opts.json or opts.csv:
                    _write_rows(table, kind, opts)
                else:
                    _write_table(table, kind, opts.most or _MOST)
        except sqlite3.Error as error:
            raise OSError(str(error)) from error
        return 0


def _write_table(table: ResultTable, kind: str, most: int) -> None:
    from rdfcrawl.launch.result_tables import host_lines, left_out, seed_lines

    if kind == "seeds":
        lines, n = seed_lines(islice(table.seeds(), most)), table.counts().n_seeds
    else:
        lines, n = host_lines(islice(table.hosts(), most)), table.n_hosts()
    for line in (*lines, *left_out(kind, n, most)):
        sys.stdout.write(f"{line}\n")


def _write_rows(table: ResultTable, kind: str, opts: argparse.Namespace) -> None:
    rows = islice(_rows(table, kind), opts.most)
    if opts.json:
        sys.stdout.writelines(f"{json.dumps(row)}\n" for row in rows)
        return
    from rdfcrawl.stores.log.results import HostResults, SeedResult

    heads = [x.name for x in fields(SeedResult if kind == "seeds" else HostResults)]
    writer = csv.DictWriter(sys.stdout, heads, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        if "results" in row:
            row["results"] = " ".join(f"{k}={n}" for k, n in row["results"].items())
        writer.writerow(row)


def _rows(table: ResultTable, kind: str) -> Iterator[dict[str, Any]]:
    return map(asdict, table.seeds() if kind == "seeds" else table.hosts())
