"""Start a crawl from a command: checks before the crawl, messages after it."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeGuard, cast

from scrapy import Spider, signals
from scrapy.addons import AddonManager
from scrapy.settings import BaseSettings, Settings
from scrapy.spiderloader import SpiderLoader, SpiderLoaderProtocol, get_spider_loader
from scrapy.utils.project import inside_project

from rdfcrawl.core.console import fail, warn
from rdfcrawl.core.errors import ConfigError, RdfcrawlError, hide_logins
from rdfcrawl.core.json_logs import install_json_logs
from rdfcrawl.core.messages import perhaps
from rdfcrawl.core.options import defaults
from rdfcrawl.rdf.environment import GC_THRESHOLDS
from rdfcrawl.stores.crawl_settings import is_secret, keep_settings

if TYPE_CHECKING:
    import argparse

    from scrapy.crawler import Crawler, CrawlerProcessBase

    from rdfcrawl.frontier.arguments.crawl import CrawlArguments
    from rdfcrawl.launch.options import CheckedCrawl, ExitCodes
    from rdfcrawl.pipelines.spider_options import PreparedSpider, SpiderOptions
    from rdfcrawl.spiders.base import RdfSpider
    from rdfcrawl.stores.followers.supervision import FollowerProcesses
    from rdfcrawl.stores.log.compaction import BackgroundCompaction
    from rdfcrawl.stores.options import StoreOptions

logger = logging.getLogger(__name__)

# These list versions and components at every start. They appear only in a log file, or
# on a terminal with `-L DEBUG`.
_VERBOSE_LOGGERS = (
    "scrapy.addons",
    "scrapy.crawler",
    "scrapy.middleware",
    "scrapy.utils.log",
)
_FAILURES: Final = ("frontier/failed", "frontier/owed", "fault/incomplete")
_FAILED_FEEDS: Final = "feedexport/failed_count/"
_LISTS = ("Enabled ", "Overridden settings", "Scrapy %(version)s", "Versions")
_NEXT_SETTING: Final = ",\n '"  # between settings in a list of Scrapy
_FAILURE_LOGGERS = (
    "scrapy.crawler",
    "scrapy.core.engine",
    "scrapy.utils.signal",
    "asyncio",
)


def prepare_process(settings: BaseSettings) -> None:
    """Configure the process for one of our crawls.

    On a terminal, Scrapy's lists of components and settings are hidden.
    """
    gc.set_threshold(*GC_THRESHOLDS)
    # libuv's loop is faster.
    settings.set("ASYNCIO_EVENT_LOOP", "uvloop.Loop", "command")
    settings.set("LOG_LEVEL", defaults.LOG_LEVEL, "command")
    _check_log(settings)
    install_json_logs(settings)
    logging.getLogger("scrapy.crawler").addFilter(_without_secrets)
    if settings["LOG_LEVEL"] == "INFO" and not settings["LOG_FILE"]:
        for name in _VERBOSE_LOGGERS:  # not by level: Scrapy resets levels
            logging.getLogger(name).addFilter(_is_no_list)


def _check_log(settings: BaseSettings) -> None:
    """Exit with 2 and one line if Scrapy cannot write the log."""
    level, path = settings["LOG_LEVEL"], settings["LOG_FILE"]
    try:
        logging.Handler().setLevel(level)
        if path:
            Path(path).open("ab").close()
    except ValueError:
        names = ", ".join(logging.getLevelNamesMapping())
        fail(f"LOG_LEVEL={level!r}: must be one of {names}")
    except OSError as error:
        fail(f"LOG_FILE={path}: {error.strerror}; name a file that can be written")


def run_crawl(process: CrawlerProcessBase, checked: CheckedCrawl) -> int:
    """Run a crawl to its end; return the exit code."""
    from rdfcrawl.frontier.queue.worker_reports import DRAINED
    from rdfcrawl.stores.crawl_folder import mark_finished

    reasons: list[str] = []
    crawler, options = checked.crawler, checked.options
    stores = options.crawl.stores

    def note_reason(reason: str) -> None:
        reasons.append(reason)

    crawler.signals.connect(note_reason, signals.spider_closed)
    crawler.not_due = _queue_later_run(checked)
    gc.disable()  # objects created at the start of a crawl are not garbage
    crawler.signals.connect(_start_gc, signals.spider_opened)
    failure = StartFailure.watching()
    _count_failed_parts(crawler)
    root = options.crawl.paths.root

    def note_settings() -> None:
        keep_settings(root, crawler.settings)

    crawler.signals.connect(note_settings, signals.spider_opened)
    followers = _followers(stores, root, crawler.settings)
    compaction = _compaction(stores, root)
    process.settings = crawler.settings  # otherwise it would restore its settings
    task = process.crawl(crawler, **checked.arguments)
    if isinstance(task, asyncio.Task):
        task.add_done_callback(failure.note_end)
    _run_loop(process)
    _start_gc()  # exempt existing objects: exit frees them without a collection
    if reasons == ["finished"]:
        mark_finished(options.crawl.paths.quads)
    _finish(crawler, compaction, followers)
    failure.fail_if_any()
    if reasons and not {"shutdown", DRAINED} & {*reasons}:
        checked.launch.describing.by(options.fetch.user_agent).describe_ended(root)
    return _exit_code(reasons, crawler, checked.launch.codes)


def _finish(
    crawler: Crawler,
    compaction: BackgroundCompaction | None,
    followers: FollowerProcesses | None,
) -> None:
    """Wait for the processes of the stores."""
    if compaction is not None:
        compaction.finish()
    if followers is not None:
        followers.finish()
        for name, number in followers.counts.items():
            crawler.stats.set_value(name, number)


def _run_loop(process: CrawlerProcessBase) -> None:
    """Run a crawl; an exit of a user's component ends it without its code."""
    from rdfcrawl.frontier.queue.worker_reports import user_part

    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # it is ignored with nohup
        signal.signal(signal.SIGHUP, _hang_up)
    try:
        process.start()
    except SystemExit as ended:
        if not (part := user_part(ended)):
            raise
        logger.critical("%s ended the crawl: SystemExit(%s)", part, ended)


def _hang_up(_number: int, _frame: object) -> None:
    """End as by SIGTERM, but once: a worker may hear from terminal and pool."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.kill(os.getpid(), signal.SIGTERM)


def _count_failed_parts(crawler: Crawler) -> None:
    """Count the exceptions of components that Scrapy logs, and goes on."""
    from rdfcrawl.frontier.queue.worker_reports import note_failed_part

    def note(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and record.levelno >= logging.ERROR:
            note_failed_part(crawler.stats, error)
        return True

    for name in ("scrapy.core.engine", "scrapy.utils.signal"):
        logging.getLogger(name).addFilter(note)


def _queue_later_run(checked: CheckedCrawl) -> str:
    """Return `queue_later_run`, without changing the current event loop."""
    from rdfcrawl.stores.crawl_folder import read_runs

    if not read_runs(checked.options.crawl.paths.quads).ended:
        return ""
    from rdfcrawl.launch.later_run import queue_later_run

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(queue_later_run(checked))
    finally:
        loop.close()


def page_if_wanted(
    opts: argparse.Namespace, checked: CheckedCrawl
) -> AbstractContextManager[None]:
    """Serve the page of a crawl while it runs, if `--page` is given."""
    if not opts.page:
        return nullcontext()
    from rdfcrawl.launch.page_process import serving_page

    return serving_page(opts, checked.crawler.settings, checked.options.crawl)


def _start_gc() -> None:
    """Collect only future garbage: a scan of existing objects takes 0.1 s."""
    gc.freeze()
    gc.enable()


def _followers(
    stores: StoreOptions, root: Path, settings: BaseSettings
) -> FollowerProcesses | None:
    if not stores.followers:
        return None
    from rdfcrawl.stores.followers.supervision import FollowerProcesses

    dumps = settings.getbool("STATS_DUMP")
    return FollowerProcesses.begin(root, stores, dumps=dumps)


def _compaction(stores: StoreOptions, root: Path) -> BackgroundCompaction | None:
    if not stores.compaction_secs:
        return None
    from rdfcrawl.stores.log.compaction import BackgroundCompaction

    return BackgroundCompaction.begin(root, stores.compaction_secs)


def _exit_code(reasons: list[str], crawler: Crawler, codes: ExitCodes) -> int:
    from rdfcrawl.frontier.queue.worker_reports import DRAINED, PARTS
    from rdfcrawl.frontier.redis.errors import REDIS_REFUSES
    from rdfcrawl.uri.guard.gate import EXIT_CODE

    if reasons not in (["finished"], [DRAINED]):
        return 2 if REDIS_REFUSES in reasons else 1
    stats = crawler.stats.get_stats() if crawler.stats else {}
    if any(name.startswith(_FAILED_FEEDS) for name in stats):
        return 1
    if stats.get("guard/seeds"):
        return EXIT_CODE
    failed = any(map(stats.get, _FAILURES))
    has_own_faults = any(name.startswith(PARTS) for name in stats)
    return codes.of(has_failed=failed, has_own_faults=has_own_faults)


def load_spiders(settings: BaseSettings) -> SpiderLoaderProtocol:
    """Return the spiders of a project, including those of add-ons.

    The settings are not changed: Scrapy lets add-ons change them once.
    """
    if settings.get("ADDONS"):
        settings = settings.copy()
        load_addons(settings)
    return get_spider_loader(settings)


def load_addons(settings: BaseSettings) -> None:
    """Let the add-ons of a project add their spiders to its settings.

    Exit with 2 and one line if an add-on does not exist.
    """
    from rdfcrawl.core.options.values import dictionary, load_setting

    try:
        for path in dictionary("ADDONS", settings.get("ADDONS")):
            load_setting("ADDONS", str(path), path)
    except ConfigError as error:
        fail(str(error))
    AddonManager.load_pre_crawler_settings(settings)


def is_ours(spider: type[Spider]) -> TypeGuard[type[RdfSpider]]:
    """Return whether a spider is a subclass of ours, without importing ours."""
    base = sys.modules.get("rdfcrawl.spiders.base")
    return base is not None and issubclass(spider, base.RdfSpider)


def check_name(spider: str, loader: SpiderLoaderProtocol) -> None:
    """Exit with 2 and one line if there is no spider with this name."""
    names = loader.list()
    if spider in names:
        return
    if names:
        there = f"there are {', '.join(names)}"
    else:
        there = "there is none" if inside_project() else "there is no project here"
    hint = ""
    if spider in our_spiders():
        hint = (
            '; ADDONS = {"rdfcrawl.Addon": 500} in the settings brings it'
            if inside_project()
            else f"; `rdfcrawl crawl {spider}` needs none"
        )
    fail(f"spider {spider}: unknown{perhaps(spider, names)}; {there}{hint}")


def our_spiders() -> dict[str, type[Spider]]:
    """Return the spiders of this package by name."""
    loader = SpiderLoader(Settings({"SPIDER_MODULES": ["rdfcrawl.spiders"]}))
    return {name: loader.load(name) for name in loader.list()}


def check_operator(
    spider: type[RdfSpider],
    arguments: dict[str, str],
    settings: BaseSettings,
    process: CrawlerProcessBase | None = None,
    *,
    contacts: Path | None = None,
) -> CheckedCrawl:
    """Return a crawl with parsed and checked arguments and settings.

    Exit with 2 and one line if one of them is wrong. `contacts` is the folder that
    keeps the contact, by default `CRAWL_DIR`.
    """
    from rdfcrawl.pipelines.contact import ContactMissing, use_kept_contact
    from rdfcrawl.stores.crawl_folder import crawl_folder

    try:
        if contacts is not None:
            use_kept_contact(settings, contacts)
        return _checked_crawl(spider, arguments, settings, process)
    except ContactMissing as missing:
        folder = contacts or crawl_folder(settings)
        if _ask_contact(folder):
            return check_operator(spider, arguments, settings, process, contacts=folder)
        fail(str(missing))
    except ConfigError as error:
        fail(str(error))


def _checked_crawl(
    spider: type[RdfSpider],
    arguments: dict[str, str],
    settings: BaseSettings,
    process: CrawlerProcessBase | None,
) -> CheckedCrawl:
    from scrapy.crawler import CrawlerProcess

    from rdfcrawl.core.options.table import options_of
    from rdfcrawl.frontier.queue.options import WORKER
    from rdfcrawl.launch.options import CheckedCrawl, LaunchOptions
    from rdfcrawl.launch.scrapy_classes import StoppableCrawler
    from rdfcrawl.pipelines.spider_options import prepared

    crawler = StoppableCrawler(
        spider,
        cast("Settings", settings),
        init_reactor=isinstance(process, CrawlerProcess),
    )
    ready = spider.prepare(crawler, arguments)
    if crawler.settings.get(WORKER) is None:
        ready = prepared[crawler] = _with_shapes(ready, crawler.settings)
    stores = ready.options.crawl.stores
    stores.store_class()
    if stores.followers:
        _check_followers(stores, ready.arguments.shapes)
    _check_named(ready.arguments, ready.options)
    return CheckedCrawl(
        crawler=crawler,
        arguments=arguments,
        given=ready.given,
        options=ready.options,
        launch=options_of(crawler, LaunchOptions),
    )


def _ask_contact(folder: Path) -> bool:
    """Ask for a contact on a terminal; return whether a folder keeps one now."""
    from rdfcrawl.launch.contact_question import ask_contact
    from rdfcrawl.pipelines.contact import CONTACT_FILE

    try:
        return ask_contact(folder / CONTACT_FILE)
    except ConfigError as error:
        fail(str(error))


def _with_shapes(ready: PreparedSpider, settings: BaseSettings) -> PreparedSpider:
    """Add a SHACL judge if there are shapes; warn of exposed passwords."""
    stores, shapes = ready.options.crawl.stores, ready.arguments.shapes
    if stores.followers:
        from rdfcrawl.stores.followers.options import exposed_secrets

        warn(*exposed_secrets(settings, stores.followers))
    if shapes is None:
        return ready
    report = str(ready.options.crawl.paths.root / "shapes")
    followers = {f"shapes:{shapes}": {"report": report}, **stores.followers}
    options = ready.options.with_stores(replace(stores, followers=followers))
    return replace(ready, options=options)


def _check_followers(stores: StoreOptions, shapes: Path | None) -> None:
    """Raise `ConfigError` if a store is wrong; for shapes, name the argument."""
    from rdfcrawl.stores.followers.options import follower_plans

    try:
        follower_plans(stores)
    except ConfigError as error:
        raise ConfigError(
            str(error).removeprefix(f"STORES=shapes:{shapes}: ")
        ) from error


def _check_named(arguments: CrawlArguments, options: SpiderOptions) -> None:
    """Raise `ConfigError` if the guard refuses a URL of the command line."""
    from rdfcrawl.frontier.arguments.crawl import NAMED
    from rdfcrawl.uri.guard.gate import looked_up_refusal

    for name in ("seeds", *NAMED):
        urls = getattr(arguments, name)
        if isinstance(urls, tuple) and urls:
            # With a proxy, the proxy resolves names.
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
    return f"{name}{colon}'***'" if colon and is_secret(name) else setting


def _is_no_list(record: logging.LogRecord) -> bool:
    return record.levelno > logging.INFO or not str(record.msg).startswith(_LISTS)


class StartFailure:
    """An operator error that appears only when the crawl begins, such as for Redis.

    One line with `error` replaces the tracebacks that it causes.
    """

    def __init__(self) -> None:
        self.error: ConfigError | None = None

    @classmethod
    def watching(cls) -> Self:
        """Return an object that reads the error records of Scrapy from now on."""
        failure = cls()
        for name in _FAILURE_LOGGERS:
            logging.getLogger(name).addFilter(failure.is_worth_showing)
        return failure

    def fail_if_any(self) -> None:
        """Exit with 2 and one line if there was such an error."""
        if self.error is not None:
            fail(str(self.error))

    def note_end(self, crawl: asyncio.Task[None]) -> None:
        """Store the error that ended the crawl, if the operator can correct it.

        Other errors are logged here, since the exception of the task is not read.
        """
        error = None if crawl.cancelled() else crawl.exception()
        if isinstance(error, ConfigError):
            self.error = error
        elif isinstance(error, RdfcrawlError):
            logger.critical("%s", error)
        elif error is not None:
            logger.critical("the crawl did not begin", exc_info=error)

    def is_worth_showing(self, record: logging.LogRecord) -> bool:
        """Return False for error records that follow an operator error."""
        error = record.exc_info[1] if record.exc_info else None
        while error is not None and self.error is None:
            if isinstance(error, ConfigError):
                self.error = error
            error = error.__context__
        return self.error is None or record.levelno < logging.ERROR
