"""`scrapy report`: figures and measures of a crawl and its sitemaps, as a page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scrapy.settings import BaseSettings

from rdfcrawl.core.console import QuietCommand, fail, option, switch, warn


class Command(QuietCommand):
    """Bring URL database and ranks up to date, and write the report of a crawl."""

    synopsis = "[options]"
    summary = "Write figures and measures of a crawl as HTML, JSON and CSV"
    options = (
        option("--to", "DIR", "folder of the report (report/ of the crawl)"),
        option("--site", "DOMAIN", "only this registered domain (all)"),
        option(
            "--since",
            "TIME",
            "first sights and requests since then, as 2026-09-21 (all)",
        ),
        switch("--json", "print the report as JSON"),
    )

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """Report; return 1 if a part of the logs could not be read."""
        from rdfcrawl.stores.crawl_folder import find_crawl

        if args:
            fail(f"report: takes options only; of one site: --site {args[0]}")
        begin_ms, site = 0, None
        if opts.since is not None:
            from rdfcrawl.stores.export.selection import parse_since

            begin_ms = parse_since(opts.since)
        if opts.site:
            from rdfcrawl.uri import host_of, registered_domain
            from rdfcrawl.uri.parse import named_url

            site = registered_domain(host_of(named_url(opts.site)))
        root = find_crawl(settings)
        folder = Path(opts.to) if opts.to else None
        page, damages = make_report(settings, root, folder, site, begin_ms)
        if opts.json:
            with page.with_suffix(".json").open() as file:
                sys.stdout.writelines(file)
        else:
            sys.stdout.write(f"{page}\n")
        warn(*(f"report: {damage}" for damage in damages))
        return int(bool(damages))


def make_report(
    settings: BaseSettings,
    root: Path,
    folder: Path | None = None,
    site: str | None = None,
    begin_ms: int = 0,
) -> tuple[Path, tuple[str, ...]]:
    """Write the report of a crawl; return its page, and the damages of the logs.

    Nothing is read or written if nothing has changed since the last report.

    Args:
        settings: of the crawl.
        root: folder of the crawl.
        folder: of the report; None: in that of the crawl.
        site: only this registered domain.
        begin_ms: leave out what was seen before, Unix time.

    Raises:
        ConfigError: nothing was stored, or the URL database is damaged.
        OSError: a disk is full, or cannot be read.
    """
    from rdfcrawl.analysis.report.state import ReportState
    from rdfcrawl.stores.crawl_folder import KeptTime

    folder = folder or root / "report"
    form = settings["SESSION_PARAMETERS"]
    state = ReportState(root, folder, site, begin_ms, form)
    if state.page:
        return state.page, ()
    KeptTime(root).resume()
    from rdfcrawl.analysis.report.making import report_crawl
    from rdfcrawl.analysis.report.writing import write_report
    from rdfcrawl.analysis.urldb.building import build
    from rdfcrawl.analysis.urldb.rank_building import rank
    from rdfcrawl.core.sorting import SpillFolder
    from rdfcrawl.frontier.queue.options import CrawlOptions

    built = build(root, CrawlOptions.one(settings, "normal_form"), scratch=root)
    rank(root, scratch=root)
    with SpillFolder(root) as spills:
        written = write_report(report_crawl(root, site, begin_ms, spills), folder)
    if not built.damages:
        state.keep(written)
    return written[0], built.damages
