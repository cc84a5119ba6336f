"""`scrapy changes`: changes of a crawl since a run or a time."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from rdfcrawl.core.console import QuietCommand, close_output, fail, program
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import counted

_FORMATS: Final = ("table", "json", "patch")


class Command(QuietCommand):
    """Compare the present documents of a crawl with those of an earlier time."""

    synopsis = "[options]"
    summary = "Show which documents are new, changed, unchanged or deleted"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        super().add_options(parser)
        parser.add_argument(
            "--since",
            metavar="RUN|TIME",
            help="number of a run (its end), a folder before-..., or a time, as"
            " 2026-09-21 (the end of the run before the last)",
        )
        parser.add_argument(
            "--format",
            choices=_FORMATS,
            default=_FORMATS[0],
            help="table, json, or patch: an RDF Patch of the statements (table)",
        )
        parser.add_argument(
            "--documents",
            action="store_true",
            help="also list each document that is new, changed or deleted",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Compare; exit with 2 on wrong usage, with 1 on errors of a disk."""
        if args:
            fail(f"changes: takes options only, not {args[0]}")
        if self.settings is None:
            return
        from rdfcrawl.stores.crawl_folder import find_crawl
        from rdfcrawl.stores.segment_file import TornMember

        try:
            _write(find_crawl(self.settings), opts)
            sys.stdout.flush()
        except ConfigError as error:
            fail(str(error))
        except BrokenPipeError:  # the reader has closed the pipe
            close_output()
        except (OSError, TornMember) as error:
            sys.stderr.write(f"{program()}: changes: {error}\n")
            self.exitcode = 1


def _write(root: Path, opts: argparse.Namespace) -> None:
    from rdfcrawl.stores.changes.comparing import LogComparison, find_start
    from rdfcrawl.stores.changes.patch import write_patch
    from rdfcrawl.stores.changes.report import write_json, write_table
    from rdfcrawl.stores.log.crawl_log import CrawlLog

    start = find_start(root, opts.since)
    with LogComparison(CrawlLog(root), start, scratch=root) as comparison:
        if opts.format == "patch":
            if comparison.n_lacking:
                raise ConfigError(
                    "--format patch: a compaction has dropped the former statements of"
                    f" {counted(comparison.n_lacking, 'document')};"
                    " --format json --documents names them"
                )
            write_patch(comparison, sys.stdout, scratch=root)
        elif opts.format == "json":
            write_json(comparison, sys.stdout, has_documents=opts.documents)
        else:
            write_table(comparison, sys.stdout, has_documents=opts.documents)
