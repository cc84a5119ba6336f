"""The start of a crawl from a command: the checks before, the messages after."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeGuard

from scrapy import Spider, signals
from scrapy.addons import AddonManager
from scrapy.crawler import Crawler, CrawlerProcess, CrawlerProcessBase
from scrapy.spiderloader import SpiderLoaderProtocol, get_spider_loader
from scrapy.utils.project import inside_project

from rdfcrawl.core.console import fail, program
from rdfcrawl.core.errors import ConfigError, RdfcrawlError, hide_logins
from rdfcrawl.core.json_logs import install_json_logs
from rdfcrawl.core.options import defaults
from rdfcrawl.rdf.extraction.gc_thresholds import raise_gc_thresholds

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfcrawl.frontier.arguments.crawl import CrawlArguments
    from rdfcrawl.frontier.queue.options import CrawlPaths
    from rdfcrawl.pipelines.spider_options import SpiderOptions
    from rdfcrawl.spiders.base import RdfSpider
    from rdfcrawl.stores.followers.supervision import FollowerProcesses
    from rdfcrawl.stores.log.background import BackgroundCompaction

logger = logging.getLogger(__name__)

# They list versions and components at every start. A log file has it all, and so has
# a terminal with `-L DEBUG`.
_TALKATIVE = (
    "scrapy.addons",
    "scrapy.crawler",
    "scrapy.middleware",
    "scrapy.utils.log",
)
_LISTS = ("Enabled ", "Overridden settings", "Scrapy %(version)s", "Versions")
_is_secret: Final = re.compile(r"PASS|SECRET|TOKEN|ACCESS_KEY").search
_NEXT_SETTING: Final = ",\n '"  # between settings in a list of Scrapy
_SPIDERS: Final = ("ckan", "linkeddata", "resourcesync", "sitemap", "sparql", "warc")
_TELL_OF_FAILURES = ("scrapy.crawler", "scrapy.core.engine", "scrapy.utils.signal")


def prepare_process(settings: BaseSettings) -> None:
    """Set what belongs to the process, not to a spider, before a crawl of ours.

    A terminal is spared Scrapy's account of itself.
    """
    raise_gc_thresholds()
    # libuv's loop is the quicker one.
    settings.set("ASYNCIO_EVENT_LOOP", "uvloop.Loop", "command")
    settings.set("LOG_LEVEL", defaults.LOG_LEVEL, "command")
    install_json_logs(settings)
    logging.getLogger("scrapy.crawler").addFilter(_without_secrets)
    if settings["LOG_LEVEL"] == "INFO" and not settings["LOG_FILE"]:
        for name in _TALKATIVE:  # not by level: Scrapy resets levels
            logging.getLogger(name).addFilter(_is_no_list)


def run_crawl(
    process: CrawlerProcessBase,
    spider: type[RdfSpider],
    arguments: Mapping[str, str],
) -> int:
    """Crawl to the end; return the exit code."""
    from rdfcrawl.frontier.queue.options import CrawlPaths
    from rdfcrawl.frontier.queue.worker_drains import DRAINED
    from rdfcrawl.launch.progress.describing import CrawlDescribing
    from rdfcrawl.launch.progress.stopping import StoppableCrawler
    from rdfcrawl.stores.identity import mark_finished

    reasons: list[str] = []
    crawler = StoppableCrawler(
        spider, process.settings, init_reactor=isinstance(process, CrawlerProcess)
    )

    def note_reason(reason: str) -> None:
        reasons.append(reason)

    crawler.signals.connect(note_reason, signals.spider_closed)
    gc.disable()  # nothing of what a crawl begins with is garbage
    crawler.signals.connect(_collect_what_comes, signals.spider_opened)
    refusal = _Refusal()
    for told_by in _TELL_OF_FAILURES:
        logging.getLogger(told_by).addFilter(refusal.is_no_consequence)
    crawl_id = crawler.settings.get("CRAWL_ID") or spider.name
    paths = CrawlPaths.from_settings(crawler.settings, str(crawl_id))
    followers = _followers(crawler.settings, paths.root)
    compaction = _compaction(crawler.settings, paths.root)
    task = process.crawl(crawler, **arguments)
    if isinstance(task, asyncio.Task):
        task.add_done_callback(refusal.note_end)
    process.start()
    _collect_what_comes()  # of all there is, the exit frees what it can
    if reasons == ["finished"]:
        mark_finished(paths.quads)
    if compaction is not None:
        compaction.finish()
    if followers is not None:
        followers.finish()
        for name, number in followers.counts.items():
            crawler.stats.set_value(name, number)
    if refusal.error is not None:
        fail(str(refusal.error))
    if reasons and not {"shutdown", DRAINED} & {*reasons}:
        CrawlDescribing.from_settings(crawler.settings).describe_ended(paths.root)
    return _exit_code(reasons, crawler)


def _collect_what_comes() -> None:
    """Look for garbage from now on, but not in what is there, which takes 0.1 s."""
    gc.freeze()
    gc.enable()


def _followers(settings: BaseSettings, root: Path) -> FollowerProcesses | None:
    if not settings.get("STORES"):
        return None
    from rdfcrawl.stores.followers.supervision import FollowerProcesses

    return FollowerProcesses.begin(root, settings)


def _compaction(settings: BaseSettings, root: Path) -> BackgroundCompaction | None:
    if not settings.get("COMPACTION_SECS"):
        return None
    from rdfcrawl.stores.log.background import BackgroundCompaction

    return BackgroundCompaction.begin(root, settings)


def _exit_code(reasons: list[str], crawler: Crawler) -> int:
    from rdfcrawl.frontier.own_faults import DOCUMENTS
    from rdfcrawl.frontier.queue.worker_drains import DRAINED
    from rdfcrawl.frontier.redis.refusals import REDIS_REFUSES
    from rdfcrawl.launch.progress.options import ExitCodes
    from rdfcrawl.uri.guard.operator import EXIT_CODE

    if reasons not in (["finished"], [DRAINED]):
        return 2 if REDIS_REFUSES in reasons else 1
    stats = crawler.stats.get_stats() if crawler.stats else {}
    if stats.get("guard/seeds"):
        return EXIT_CODE
    failed = stats.get("frontier/failed") or stats.get("frontier/owed")
    return ExitCodes.from_settings(crawler.settings).of(
        has_failed=bool(failed), has_own_faults=bool(stats.get(DOCUMENTS))
    )


def load_spiders(settings: BaseSettings) -> SpiderLoaderProtocol:
    """Return the spiders of a project, including those of add-ons.

    The settings stay as they are: Scrapy has add-ons change them once.
    """
    if settings.get("ADDONS"):
        settings = settings.copy()
        load_addons(settings)
    return get_spider_loader(settings)


def load_addons(settings: BaseSettings) -> None:
    """Have the add-ons of a project add their spiders to its settings.

    Exit with 2 and one line if there is no such add-on.
    """
    from rdfcrawl.core.options.values import load_setting, mapping

    try:
        for path in mapping(settings, "ADDONS"):
            load_setting("ADDONS", str(path), path)
    except ConfigError as error:
        fail(str(error))
    AddonManager.load_pre_crawler_settings(settings)


def is_ours(spider: type[Spider]) -> TypeGuard[type[RdfSpider]]:
    """Return whether a spider is a subclass of ours, without an import of ours."""
    base = sys.modules.get("rdfcrawl.spiders.base")
    return base is not None and issubclass(spider, base.RdfSpider)


def check_name(spider: str, loader: SpiderLoaderProtocol) -> None:
    """Exit with 2 and one line if there is no spider of this name."""
    names = loader.list()
    if spider in names:
        return
    if names:
        there = f"there are {', '.join(names)}"
    else:
        there = "there is none" if inside_project() else "there is no project here"
    hint = ""
    if spider in _SPIDERS:
        hint = (
            '; ADDONS = {"rdfcrawl.Addon": 500} in the settings brings it'
            if inside_project()
            else f"; `rdfcrawl crawl {spider}` needs none"
        )
    fail(f"spider {spider}: unknown; {there}{hint}")


def check_operator(
    spider: type[RdfSpider], arguments: dict[str, str], settings: BaseSettings
) -> BaseSettings:
    """Return the settings with those of a spider.

    Exit with 2 and one line if an argument or a setting is wrong.
    """
    from rdfcrawl.core.options.conflicts import check_components
    from rdfcrawl.core.options.merging import apply_defaults
    from rdfcrawl.downloader.archive_options import check_archive
    from rdfcrawl.frontier.arguments.crawl import checked_quota
    from rdfcrawl.frontier.link_policies import link_policy_class
    from rdfcrawl.frontier.queue.options import WORKER
    from rdfcrawl.launch.progress.describing import CrawlDescribing
    from rdfcrawl.launch.progress.options import ExitCodes, ProgressOptions
    from rdfcrawl.pipelines.spider_options import SpiderOptions
    from rdfcrawl.rdf.extraction.options import ExtractOptions
    from rdfcrawl.stores.options import segment_limits, store_class

    given, settings = settings, settings.copy()
    try:
        spider.update_settings(settings)
        apply_defaults(settings)  # if a subclass has an `update_settings` of its own
        parsed = spider.accepts().parse(spider.given(arguments, settings))
        options = SpiderOptions.from_settings(
            settings, spider.name, quota=checked_quota(parsed)
        ).introduced(settings)
        ExtractOptions.from_settings(settings)
        ExitCodes.from_settings(settings)
        segment_limits(settings)
        check_archive(settings)
        store_class(settings)
        if settings.get("STORES") and settings.get(WORKER) is None:
            _tell_secrets(settings)
        if parsed.shapes is not None and settings.get(WORKER) is None:
            _follow_with_shapes(parsed.shapes, options.crawl.paths, settings, given)
        if settings.get("STORES"):
            _check_followers(settings, parsed.shapes)
        link_policy_class(settings)
        ProgressOptions.from_settings(settings)
        CrawlDescribing.from_settings(settings)
        check_components(settings)
        _check_named(parsed, options)
    except ConfigError as error:
        fail(str(error))
    return settings


def _tell_secrets(settings: BaseSettings) -> None:
    """Tell which passwords of stores stand on the command line."""
    from rdfcrawl.stores.followers.options import exposed_secrets

    for line in exposed_secrets(settings):
        sys.stderr.write(f"{program()}: {line}\n")


def _follow_with_shapes(
    shapes: Path, paths: CrawlPaths, *all_settings: BaseSettings
) -> None:
    """Add a judge to the stores that follow the crawl."""
    from rdfcrawl.core.options.values import mapping

    stores = dict(mapping(all_settings[0], "STORES"))
    stores.setdefault(f"shapes:{shapes}", {"report": str(paths.root / "shapes")})
    for settings in all_settings:
        settings.set("STORES", stores, "cmdline")


def _check_followers(settings: BaseSettings, shapes: Path | None) -> None:
    """Raise `ConfigError` if a store is wrong; of shapes, it names the argument."""
    from rdfcrawl.stores.followers.options import follower_plans

    try:
        follower_plans(settings)
    except ConfigError as error:
        raise ConfigError(
            str(error).removeprefix(f"STORES=shapes:{shapes}: ")
        ) from error


def _check_named(arguments: CrawlArguments, options: SpiderOptions) -> None:
    """Raise `ConfigError` if the guard refuses a URL of the command line."""
    from rdfcrawl.frontier.arguments.crawl import check_schemes
    from rdfcrawl.frontier.arguments.parsers import NAMED
    from rdfcrawl.uri.guard.operator import looked_up_refusal

    check_schemes(arguments, options.crawl.schemes.of_seeds)
    for name in ("seeds", *NAMED):
        urls = getattr(arguments, name)
        if isinstance(urls, tuple) and urls:
            # Behind a proxy, it is the proxy that looks names up.
            refusal = looked_up_refusal(
                urls, options.fetch.guard, looks_up=not options.fetch.with_scrapy
            )
            if refusal:
                raise ConfigError(f"argument {name}: {refusal}")


def _without_secrets(record: logging.LogRecord) -> bool:
    """Hide passwords and keys in the list of settings that Scrapy logs."""
    if isinstance(record.args, dict) and isinstance(record.args.get("settings"), str):
        settings = record.args["settings"].removesuffix("}").split(_NEXT_SETTING)
        shown = _NEXT_SETTING.join(map(_without_secret, settings)) + "}"
        record.args = {**record.args, "settings": hide_logins(shown)}
    return True


def _without_secret(setting: str) -> str:
    name, colon, _ = setting.partition("': ")
    return f"{name}{colon}'***'" if colon and _is_secret(name) else setting


def _is_no_list(record: logging.LogRecord) -> bool:
    return record.levelno > logging.INFO or not str(record.msg).startswith(_LISTS)


class _Refusal:
    """An error of the operator that shows only when the crawl begins (Redis, say).

    One line tells `error` instead of the tracebacks that come of it.
    """

    def __init__(self) -> None:
        self.error: ConfigError | None = None

    def note_end(self, crawl: asyncio.Task[None]) -> None:
        """Store the error that ended the crawl, if the operator has to correct it.

        Any other is told here: nobody else looks at what the task has raised.
        """
        error = None if crawl.cancelled() else crawl.exception()
        if isinstance(error, ConfigError):
            self.error = error
        elif isinstance(error, RdfcrawlError):
            logger.critical("%s", error)
        elif error is not None:
            logger.critical("the crawl has not begun", exc_info=error)

    def is_no_consequence(self, record: logging.LogRecord) -> bool:
        """Return whether a log record is worth showing."""
        error = record.exc_info[1] if record.exc_info else None
        while error is not None and self.error is None:
            if isinstance(error, ConfigError):
                self.error = error
            error = error.__context__
        return self.error is None or record.levelno < logging.ERROR
