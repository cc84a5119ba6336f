"""`scrapy changes`: changes of a crawl since a run or a time."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from scrapy.settings import BaseSettings

from rdfcrawl.core.console import QuietCommand, fail, option, switch
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import counted

_FORMATS: Final = ("table", "json", "patch")


class Command(QuietCommand):
    """Compare the present documents of a crawl with those of an earlier time."""

    synopsis = "[options]"
    summary = "Show which documents are new, changed, unchanged or deleted"
    options = (
        option(
            "--since",
            "RUN|TIME",
            "number of a run (its end), a folder before-..., or a time, as 2026-09-21"
            " (the end of the run before the last)",
        ),
        option(
            "--format",
            None,
            "table, json, or patch: an RDF Patch of the statements (table)",
            choices=_FORMATS,
            default=_FORMATS[0],
        ),
        switch(
            "--documents", "also list each document that is new, changed or deleted"
        ),
    )

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """Compare; return 0."""
        if args:
            fail(f"changes: takes options only, not {args[0]}")
        from rdfcrawl.stores.crawl_folder import find_crawl
        from rdfcrawl.stores.segment_file import TornMember

        try:
            _write(find_crawl(settings), opts)
        except TornMember as error:
            raise OSError(str(error)) from error
        sys.stdout.flush()
        return 0


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
