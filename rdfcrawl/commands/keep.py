"""`scrapy keep`: one command that crawls a site, and later keeps it up to date."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from rdfcrawl.commands.crawl import Command as CrawlCommand
from rdfcrawl.core.console import fail, number, program
from rdfcrawl.core.errors import ConfigError

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from scrapy.settings import BaseSettings

_SPIDER: Final = "linkeddata"
_ARGUMENTS: Final = {
    "scope": "host",
    "follow": "abox,hyperlink",
    "harvest": "all",
    "retry": "failed",
}
_not_of_names: Final = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_CHARS: Final = 100  # of `CRAWL_ID`


class Command(CrawlCommand):
    """Crawl a site by all that it offers, or look for changes; then report.

    The exit code is that of the crawl.
    """

    def syntax(self) -> str:
        """Return the synopsis after the command's name."""
        return "[options] SITE"

    def short_desc(self) -> str:
        """Return one line for `scrapy -h`."""
        return "Crawl a site, or look for its changes since, and report"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add budgets to the options of `crawl`."""
        super().add_options(parser)
        for name, metavar, text in (
            (
                "--max-documents",
                "N",
                "stop after N documents; the next command continues",
            ),
            (
                "--max-secs",
                "SECS",
                "stop after so much time; the next command continues",
            ),
        ):
            number(name, metavar, text, least=1, default=0)(parser)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Apply the options, and name crawl and arguments by the site."""
        if len(args) != 1:
            fail("keep: name one site: a host, or a URL of it")
        from rdfcrawl.uri.parse import named_url

        super().process_options([_SPIDER], opts)
        try:
            url = named_url(args[0])
        except ConfigError as error:
            fail(f"keep: {error}")
        opts.spargs = {"seeds": url, **_ARGUMENTS, **opts.spargs}
        if self.settings is None:
            return
        # The operator names the site, and so a portal there.
        defaults = {"CRAWL_ID": _crawl_id(url), "CKAN_ROBOTS": "never"}
        if _wants_freshness(self.settings):
            defaults["REVISITS"] = "refresh"
        for name, value in defaults.items():
            self.settings.set(name, value, "command")
        budgets = {"ITEMCOUNT": opts.max_documents, "TIMEOUT": opts.max_secs}
        for name, most in budgets.items():
            if most:
                self.settings.set(f"CLOSESPIDER_{name}", most, "cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Crawl, then report; print one line."""
        super().run([_SPIDER], opts)
        settings = self.settings
        if settings is None or self.exitcode == 2:
            return
        from rdfcrawl.analysis.refresh.outlook import read_goal
        from rdfcrawl.commands.report import make_report
        from rdfcrawl.stores.crawl_folder import find_crawl

        outcome = {0: "kept", 1: "not finished"}.get(self.exitcode, "finished")
        try:
            root = find_crawl(settings)
            page, _ = make_report(settings, root)
            if why := _failure(root, opts.spargs["seeds"]):
                outcome = f"not reached ({why}), the next command tries again"
                if "://" not in args[0]:
                    outcome += f"; without HTTPS: `{program()} keep http://{args[0]}`"
            elif not _has_statements(root):
                look = f"`{program()} look {args[0]}`"
                outcome = f"no statements; {look} shows what the site publishes"
            sys.stdout.write(f"{args[0]}: {outcome}; report: {page}\n")
            plan = read_goal(root).plan
            if plan and _wants_freshness(settings):
                sys.stdout.write(f"{args[0]}: {plan}\n")
        except (ConfigError, OSError) as error:
            sys.stdout.write(f"{args[0]}: {outcome}; no report: {error}\n")


def _failure(root: Path, url: str) -> str:
    """Return why the last request of a URL had no response; empty if it had one."""
    from rdfcrawl.analysis.urldb.database import UrlDatabase

    with UrlDatabase(root) as database:
        record = database.find(url)
    last = record.fetches[-1] if record and record.fetches else None
    return last.fault if last and not last.http_status else ""


def _has_statements(root: Path) -> bool:
    """Return whether the crawl has ever stored a statement."""
    from rdfcrawl.stores.log.crawl_log import CrawlLog

    log = CrawlLog(root)
    batches = log.read(log.begin(), has_provenance=False, segments=log.segments())
    return any(each.n_bytes for batch in batches for each in batch.documents)


def _crawl_id(url: str) -> str:
    """Return a name for the crawl of a site.

    >>> _crawl_id("https://data.example.org:8080/a?b")
    'data.example.org_8080'
    """
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].lower()
    return _not_of_names.sub("_", host)[:_MOST_CHARS]


def _wants_freshness(settings: BaseSettings) -> bool:
    from rdfcrawl.monitor.refreshing.options import RefreshOptions

    return bool(RefreshOptions.one(settings, "freshness"))
