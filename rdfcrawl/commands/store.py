"""`scrapy store`: fill a store from the log of a crawl, and compare both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.core.console import QuietCommand, fail, warn, write_lines
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from scrapy.settings import BaseSettings

    from rdfcrawl.stores.followers.options import FollowerPlan
    from rdfcrawl.stores.followers.verification import StoreComparison

_ALIKE: Final = (
    "not compared: these are equal, but for the blank nodes in statements, which take"
    " too long to compare: over 100,000 statements, or many nodes linked alike"
)


class Command(QuietCommand):
    """Load, show or check a store that follows a crawl."""

    synopsis = "[options] load URI | status [URI] | verify URI | compact"
    summary = "Fill a store from a crawl, compare both, or compact the log"

    def act(
        self,
        settings: BaseSettings,
        args: list[str],
        opts: argparse.Namespace,  # noqa: ARG002
    ) -> int:
        """Run the action; return its exit code."""
        from rdfcrawl.stores.crawl_folder import find_crawl
        from rdfcrawl.stores.followers.options import FollowerPlan, exposed_secrets
        from rdfcrawl.stores.options import StoreOptions

        match args:
            case ["status", *uri] if len(uri) <= 1:
                return _print_status(find_crawl(settings), *uri)
            case ["load" | "verify" as action, uri]:
                root = find_crawl(settings)
                stores = StoreOptions.from_settings(settings)
                plan = FollowerPlan.of(stores, uri)
                warn(*exposed_secrets(settings, stores.followers, uri))
                return _load(root, plan) if action == "load" else _verify(root, plan)
            case ["compact"]:
                return _compact(find_crawl(settings))
        raise ConfigError(
            "store: choose an action: load URI, status [URI], verify URI or compact"
        )


def _load(root: Path, plan: FollowerPlan) -> int:
    """Bring a store up to date with the present log."""
    from rdfcrawl.stores.followers.process import ReportedFollowing

    run = ReportedFollowing(root, plan, is_over=lambda: True, ends_if_unusable=True)
    with run.opened():
        run.following.catch_up()
        run.end()
    counts = run.following.counts
    read = counted(counts.n_documents, "document")
    write_lines(f"{plan.name}: {read} read, it is up to date")
    if run.summary:
        write_lines(run.summary)
    status = run.status()
    for line in status.details():
        write_lines(line)
    return int(bool(status.set_aside or status.damages))


def _print_status(root: Path, uri: str | None = None) -> int:
    from rdfcrawl.stores.followers.status import read_statuses
    from rdfcrawl.stores.options import shown_uri

    statuses = read_statuses(root)
    if uri is not None:
        statuses = [each for each in statuses if each.name == shown_uri(uri)]
    if not statuses:
        named = f"the store {shown_uri(uri)}" if uri else "a store"
        fail(f"store status: {named} has not followed the crawl in {root} yet")
    for each in statuses:
        write_lines(each.summary())
        for line in each.details():
            write_lines(f"  {line}")
    return 0


def _verify(root: Path, plan: FollowerPlan) -> int:
    """Compare a store with the log; return 0 if they are known to be equal."""
    from rdfcrawl.stores.followers.log_comparison import compare
    from rdfcrawl.stores.followers.stored_once import is_marked
    from rdfcrawl.stores.log.crawl_log import CrawlLog

    log, follower = CrawlLog(root), plan.build()
    checkpoint = follower.open(log.identity)
    is_once = checkpoint is not None and is_marked(checkpoint)
    try:
        found = compare(log, follower, root, is_once=is_once)
    finally:
        follower.close()
    write_lines(*_lines(found))
    return int(not found.is_equal)


def _compact(root: Path) -> int:
    """Drop versions that were replaced; return 1 if segments are damaged."""
    from rdfcrawl.stores.log.compaction import compact
    from rdfcrawl.stores.log.crawl_log import CrawlLog

    log = CrawlLog(root)
    report = compact(log, scratch=root)
    write_lines(
        f"{counted(report.n_dropped, 'version')} dropped: {report.n_written:,} of"
        f" {counted(report.n_segments, 'finished segment')} had"
        f" {counted(report.n_bytes_before, 'byte')},"
        f" and have {report.n_bytes_after:,}"
    )
    if report.n_read:
        write_lines(
            f"{counted(report.n_read, 'old file is', 'old files are')} still read;"
            " the next compaction removes old files"
        )
    for damage in log.damages:
        write_lines(f"{damage}; the segment was not changed")
    return int(bool(log.damages))


def _lines(found: StoreComparison) -> list[str]:
    kinds = {"missing": found.missing, "stale": found.stale, "surplus": found.surplus}
    if found.not_compared.n_graphs:
        kinds["not compared"] = found.not_compared
    kinds_text = ", ".join(f"{each.n_graphs:,} {name}" for name, each in kinds.items())
    lines = [f"{counted(found.n_graphs, 'graph')} in the log: {kinds_text}"]
    for name, each in kinds.items():
        # Names from the web may contain control characters of terminals.
        lines += [f"{name}: {graph!a}" for graph in each.names]
        more = each.n_graphs - len(each.names)
        lines += [f"{name}: {more:,} more"] if more else []
    return [*lines, _ALIKE] if found.not_compared.n_graphs else lines
