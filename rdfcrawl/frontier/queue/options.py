"""The settings of the frontier, read and checked: values, without a connection.

How to connect to Redis is read in `redis_client.py`.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import (
    integer,
    is_on,
    mapping,
    number,
    one_of,
    value_of,
)
from rdfcrawl.core.records import NO_BUDGET, CrawlBudget
from rdfcrawl.frontier.ignored_options import ignored_names
from rdfcrawl.frontier.queue.blocked_hosts import read_file
from rdfcrawl.frontier.queue.decisions import DecisionOptions
from rdfcrawl.frontier.queue.epoch_options import EpochOptions
from rdfcrawl.frontier.queue.score_bands import ScoreChoice
from rdfcrawl.frontier.queue.start_urls import PushedUrls
from rdfcrawl.frontier.queue.working_hours import WorkingHours, working_hours
from rdfcrawl.frontier.redis.client_settings import named_redis
from rdfcrawl.uri import (
    CRAWLED_SCHEMES,
    SESSION_PARAMETERS,
    HostGrouping,
    NormalForm,
    PolitenessKey,
)
from rdfcrawl.uri.guard.options import guard_of
from rdfcrawl.uri.schemes import NO_SCHEMES, SchemePolicy
from rdfcrawl.uri.traps import TrapLimits

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import BaseSettings

    from rdfcrawl.uri.guard.policy import Guard
    from rdfcrawl.uri.ignored_names import IgnoredNames

RUN: Final = "CRAWL_RUN"
WORKER: Final = "CRAWL_WORKER"
"""Settings by which `scrapy workers` tells workers run and number; for nobody else."""

_CLUSTER_ACK_LAG_SECS: Final = 3.0  # replicas are milliseconds behind, if not cut off
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{0,31}").fullmatch
_TAKEN: Final = CRAWLED_SCHEMES | {"visit"}
_is_crawl_id = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}").fullmatch


class CrawlPaths:
    """Where a crawl keeps its things on this machine.

    Attributes:
        frontier: data, socket and log of the embedded server.
        quads: segments of documents.
        provenance: segments of provenance.
        links: segments of the log of links.
        warc: files of the web archive.
        spool: large bodies between fetch and parser.
        logs: of the processes of `scrapy workers`.
        epochs: what became of the epochs of domains that have a quota.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.frontier = root / "frontier"
        self.quads = root / "quads"
        self.provenance = root / "provenance"
        self.links = root / "links"
        self.decisions = root / "decisions"
        self.warc = root / "warc"
        self.spool = root / "spool"
        self.logs = root / "logs"
        self.epochs = root / "epochs"

    @classmethod
    def from_settings(cls, settings: BaseSettings, crawl_id: str) -> Self:
        """Return the folders of a crawl; nothing is made."""
        folder = Path(str(value_of(settings, "CRAWL_DIR"))).expanduser().absolute()
        return cls(folder / crawl_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierOptions:
    """What is fixed for one worker."""

    partitions: int = 16  # wanted for a new crawl; an existing one keeps its own
    # a worker that did not renew for so long is taken for dead
    lease_secs: float = 60.0
    batch: int = 50  # most URIs of a visit
    # a visit has as many URIs as fit into this at the host's delay
    window_secs: float = 5.0
    delay_secs: float = 1.0  # least time between two requests to a host that sets none
    budget: CrawlBudget = NO_BUDGET  # most URIs and hosts ever accepted
    # hosts of a registered domain that lie in its own partition, in a new crawl; 0: all
    domain_hosts: int = 1000
    # of registered domains; None: as the crawl was begun
    epochs: EpochOptions | None = None

    @classmethod
    def from_settings(
        cls, settings: BaseSettings, *, budget: CrawlBudget = NO_BUDGET, quota: int = 0
    ) -> Self:
        """Read the settings; raise `ConfigError` for a value out of range."""
        return cls(
            partitions=integer(settings, "FRONTIER_PARTITIONS", 1, 4096),
            lease_secs=number(settings, "FRONTIER_LEASE_SECS", 1, 86_400),
            batch=integer(settings, "VISIT_MAX_DOCUMENTS", 1, 1000),
            window_secs=number(settings, "VISIT_WINDOW_SECS", 0, 86_400),
            delay_secs=number(settings, "DOWNLOAD_DELAY", 0, 86_400),
            budget=budget,
            domain_hosts=integer(settings, "FRONTIER_DOMAIN_HOSTS", 0, 2**31 - 1),
            epochs=_epochs(settings, quota),
        )


class RevisitsBy(StrEnum):
    """Who fetches the pages of sitemaps, and pages that failed, in later runs."""

    RUNS = "runs"  # these runs of the crawl, by their dates
    REFRESH = "refresh"  # `scrapy refresh`, by its policy


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What is fixed for one worker."""

    name: str  # unique among all workers of the crawl, now and ever
    visits: int = 32  # hosts visited at once, that are quick
    slow_visits: int = 64  # hosts visited at once beside them, that are not
    # requests of Scrapy's at once that one visit needs: with Scrapy's downloader, there
    # is one more beside that of the visit
    visit_weight: int = 1
    slow_secs: float = 3.0  # a visit is slow that has waited so long for one answer
    commit_secs: float = 1.0  # stores are flushed and visits acknowledged so often
    # pause between the flush of the stores and the acknowledgement; needed only where
    # children and parent lie on different Redis masters
    ack_lag_secs: float = 0.0
    # with so many links unsent (Redis is unreachable), no new visits
    max_buffered: int = 50_000
    # the crawl must have had no work for so long before it is over
    idle_secs: float = 0.0
    patience_secs: float = 0.0  # hosts that refuse are tried for so long
    last_wait_secs: float = 0.0  # the same once there is nothing else to do
    hours: WorkingHours | None = None  # in which hosts may be asked
    has_refresher: bool = False  # `scrapy refresh` asks again for pages that failed

    @classmethod
    def from_settings(cls, settings: BaseSettings, *, name: str) -> Self:
        """Read the settings; raise `ConfigError` for a value out of range."""
        patience = number(settings, "HOST_PATIENCE_SECS", 0, 86_400 * 365)
        return cls(
            name=name,
            visits=integer(settings, "CONCURRENT_REQUESTS", 1, 10_000),
            slow_visits=integer(settings, "SLOW_VISITS", 0, 10_000),
            visit_weight=2 if is_on(settings, "FETCH_WITH_SCRAPY") else 1,
            slow_secs=number(settings, "VISIT_SLOW_SECS", 0.1, 86_400),
            commit_secs=number(settings, "FRONTIER_COMMIT_SECS", 0.01, 3600),
            ack_lag_secs=_ack_lag_secs(settings),
            patience_secs=patience if is_on(settings, "RETRY_ENABLED") else 0,
            last_wait_secs=number(settings, "HOST_LAST_WAIT_SECS", 0, 86_400 * 365),
            hours=working_hours(settings),
            has_refresher=one_of(settings, "REVISITS", RevisitsBy)
            is RevisitsBy.REFRESH,
            idle_secs=number(settings, "SCHEDULER_IDLE_BEFORE_CLOSE", 0, 86_400 * 365),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions:
    """What is fixed for one worker of one crawl."""

    crawl_id: str  # name that the workers of one crawl share
    worker: str  # name of this worker, unique now and ever
    paths: CrawlPaths  # of the crawl on this machine
    # Redis that the settings name, or None for the embedded server
    redis_url: str | None
    pushed: PushedUrls  # where URLs are pushed to while it runs
    redis_server: str | None  # program of the embedded server, or None to look for one
    is_persistent: bool  # the crawl is kept when it is over
    # run of the crawl that `scrapy workers` has started the worker for; it must not
    # begin another one when the others are done before. Else None.
    run: int | None
    frontier: FrontierOptions  # options of the frontier
    work: WorkerOptions  # options of the worker
    keys: PolitenessKey  # which URIs share a delay and a queue
    normal_form: NormalForm  # which URIs are one
    # which of them are crawled, and from where those of the user's
    schemes: SchemePolicy
    trap_limits: TrapLimits  # which URIs are taken for endless
    ignored_names: IgnoredNames  # names of files that links are not followed to
    leave_hosts: Path | None  # file of hosts that are left alone, or None
    guard: Guard  # addresses and ports that may be connected to
    scores: ScoreChoice  # by which URIs are ordered
    # least time between two requests to an address, beside that of hosts; 0: none
    address_delay_secs: float = 0.0
    decisions: DecisionOptions  # which decisions that a URI is not queued are logged

    @classmethod
    def from_settings(
        cls,
        settings: BaseSettings,
        spider: str,
        *,
        budget: CrawlBudget = NO_BUDGET,
        quota: int = 0,
    ) -> Self:
        """Read the settings.

        Raises:
            ConfigError: a value is not what it must be; one line that names it.
        """
        crawl_id = _crawl_id(settings, spider)
        worker = f"{_host_name()}-{os.getpid()}-{secrets.token_hex(3)}"
        return cls(
            crawl_id=crawl_id,
            worker=worker,
            paths=CrawlPaths.from_settings(settings, crawl_id),
            redis_url=named_redis(settings),
            pushed=PushedUrls(key=f"{crawl_id}:start_urls"),
            redis_server=settings.get("REDIS_SERVER") or None,
            is_persistent=is_on(settings, "SCHEDULER_PERSIST"),
            run=settings.getint(RUN) if settings.get(RUN) is not None else None,
            frontier=FrontierOptions.from_settings(
                settings, budget=budget, quota=quota
            ),
            work=WorkerOptions.from_settings(settings, name=worker),
            keys=PolitenessKey(one_of(settings, "POLITENESS_KEY", HostGrouping)),
            normal_form=normal_form_of(settings),
            schemes=scheme_policy(settings),
            trap_limits=TrapLimits(
                repeats=integer(settings, "TRAP_REPEATS", 0, 1000),
                segments=integer(settings, "TRAP_SEGMENTS", 0, 2000),
                of_form=integer(settings, "TRAP_FORM_URLS", 0),
            ),
            ignored_names=ignored_names(settings),
            leave_hosts=_leave_hosts(settings),
            guard=guard_of(settings),
            scores=ScoreChoice.from_settings(settings),
            address_delay_secs=_address_delay_secs(settings),
            decisions=DecisionOptions.from_settings(settings),
        )

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


def _address_delay_secs(settings: BaseSettings) -> float:
    secs = number(settings, "ADDRESS_DELAY", 0, 86_400)
    if secs and one_of(settings, "POLITENESS_KEY", HostGrouping) is HostGrouping.IP:
        raise ConfigError(
            "ADDRESS_DELAY: with POLITENESS_KEY=ip, DOWNLOAD_DELAY is that of addresses"
        )
    return secs


def _epochs(settings: BaseSettings, quota: int) -> EpochOptions | None:
    """Return how domains are scheduled; the settings are checked in any case."""
    epochs = EpochOptions.from_settings(settings, quota)
    if not quota:
        return None
    if one_of(settings, "POLITENESS_KEY", HostGrouping) is HostGrouping.IP:
        raise ConfigError(
            "argument schedule=domain: POLITENESS_KEY must be host or domain, as an"
            " address may have hosts of many domains"
        )
    return epochs


def scheme_policy(settings: BaseSettings) -> SchemePolicy:
    """Return the schemes that are crawled, and from where those of the user's.

    Raises:
        ConfigError: one is none, is crawled anyway, or has no fetcher.
    """
    paths = mapping(settings, "FETCH_SCHEMES")
    for scheme in paths:
        if not _SCHEME(scheme) or scheme in _TAKEN:
            raise ConfigError(
                f"FETCH_SCHEMES: {scheme!r}: must be the scheme of a URI in lower case,"
                f" and none of {', '.join(sorted(_TAKEN))}"
            )
    own = frozenset(scheme for scheme, path in paths.items() if path is not None)
    from_web = frozenset(settings.getlist("FETCH_SCHEMES_FROM_WEB"))
    if unknown := from_web - own:
        raise ConfigError(
            f"FETCH_SCHEMES_FROM_WEB: FETCH_SCHEMES has no {min(unknown)!r}"
        )
    return SchemePolicy(own, from_web) if own else NO_SCHEMES


def _crawl_id(settings: BaseSettings, spider: str) -> str:
    """Return the name that workers of one crawl share, fit for file names and keys."""
    crawl_id = str(settings.get("CRAWL_ID") or spider)
    if not _is_crawl_id(crawl_id):
        raise ConfigError(
            f"CRAWL_ID={crawl_id!r}: must be letters, digits, '.', '_', '-';"
            " at most 100"
        )
    return crawl_id


def _ack_lag_secs(settings: BaseSettings) -> float:
    """Return how long an ack waits: longer than replicas of a cluster lag behind."""
    if settings.get("FRONTIER_ACK_LAG_SECS") is not None:
        return number(settings, "FRONTIER_ACK_LAG_SECS", 0, 3600)
    scheme = str(settings.get("REDIS_URL") or "").partition("://")[0].lower()
    return _CLUSTER_ACK_LAG_SECS if scheme.endswith("+cluster") else 0.0


def _leave_hosts(settings: BaseSettings) -> Path | None:
    text = settings.get("LEAVE_HOSTS")
    if not text:
        return None
    path = Path(str(text)).expanduser().absolute()
    read_file(path)  # as a check
    return path


def normal_form_of(settings: BaseSettings) -> NormalForm:
    """Return the normal form by which a crawl compares URLs.

    Raises:
        ConfigError: a session parameter is no name.
    """
    if settings.get("SESSION_PARAMETERS") is None:
        return NormalForm(SESSION_PARAMETERS)
    return NormalForm(tuple(settings.getlist("SESSION_PARAMETERS")))


def _host_name() -> str:
    name = socket.gethostname().partition(".")[0]
    return re.sub(r"[^A-Za-z0-9]+", "-", name)[:40].strip("-") or "host"
