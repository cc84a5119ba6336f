"""The settings of a crawl, read once and checked.

All of them but how to connect to Redis (`frontier/connection.py`) and by which name
to obey robots.txt (`middlewares/robots.py`).
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from rdfcrawl.contact import names_contact
from rdfcrawl.errors import ConfigError
from rdfcrawl.fetch.ftp_logins import FtpLogins
from rdfcrawl.fetch.options import FetchOptions
from rdfcrawl.frontier.options import FrontierOptions, WorkerOptions
from rdfcrawl.guard.settings import guard_of
from rdfcrawl.leaving import read_file
from rdfcrawl.rdf.limits import ParseLimits
from rdfcrawl.records import NO_BUDGET, Budget
from rdfcrawl.reservations import PRODUCT_TOKEN, Obedience, ReservationPolicy
from rdfcrawl.setting_values import integer, is_on, number
from rdfcrawl.stores.segments import SegmentLimits
from rdfcrawl.unpack.limits import UnpackLimits
from rdfcrawl.uri import SESSION_PARAMETERS, Grouping, NormalForm, PolitenessKey
from rdfcrawl.uri.traps import TrapLimits

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

E = TypeVar("E", bound=StrEnum)

_CRAWL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}").fullmatch


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlPaths:
    """Where a crawl keeps its things on this machine."""

    root: Path

    @property
    def frontier(self) -> Path:
        """The embedded server's data, socket and log."""
        return self.root / "frontier"

    @property
    def quads(self) -> Path:
        """Segments of documents."""
        return self.root / "quads"

    @property
    def provenance(self) -> Path:
        """Segments of provenance."""
        return self.root / "provenance"

    @property
    def spool(self) -> Path:
        """Large bodies between fetch and parser."""
        return self.root / "spool"

    @property
    def logs(self) -> Path:
        """Logs of the processes of `scrapy workers`."""
        return self.root / "logs"


class Display(StrEnum):
    """Where the progress of a crawl is shown."""

    AUTO = "auto"  # a board if stderr is a terminal, else the log
    BOARD = "board"
    LOG = "log"
    OFF = "off"


class ObeyRobots(StrEnum):
    """For which portals robots.txt counts when it forbids the API of a portal."""

    ALWAYS = "always"
    DISCOVERED = "discovered"  # not for those that the operator named
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How sources are harvested.

    Attributes:
        sitemap_entries: of one sitemap or list are queued together while it is read.
        ckan_robots: for which portals robots.txt counts.
        ckan_rows: datasets asked for at once.
        ckan_keys: URL prefix of a portal -> API key; the prefix may be empty.
        sparql_rows: statements asked for at once, to begin with.
        files: folder for the files of ResourceSync, or None: they are not kept.
    """

    sitemap_entries: int = 10_000
    ckan_robots: ObeyRobots = ObeyRobots.DISCOVERED
    ckan_rows: int = 100
    ckan_keys: tuple[tuple[str, str], ...] = ()
    sparql_rows: int = 10_000
    files: Path | None = None


@dataclass(frozen=True, slots=True)
class ProgressOptions:
    """How the progress of a crawl is shown."""

    display: Display
    log_secs: float  # between two lines


RUN: Final = "CRAWL_RUN"
"""Setting by which `scrapy workers` tells its workers their run; for nobody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions:
    """The options of one worker of one crawl.

    `run` is the run of the crawl that the worker was started for, if it was started by
    `scrapy workers`: it must not begin another one when the others are done before.
    """

    crawl_id: str
    worker: str
    paths: CrawlPaths
    redis_url: str | None
    redis_server: str | None
    is_persistent: bool
    run: int | None
    frontier: FrontierOptions
    work: WorkerOptions
    fetch: FetchOptions
    keys: PolitenessKey
    normal_form: NormalForm
    trap_limits: TrapLimits
    sources: SourceOptions
    ftp_logins: FtpLogins
    fetches_with_scrapy: bool
    reservation_policy: ReservationPolicy
    leave_hosts: Path | None

    @classmethod
    def read(
        cls, settings: BaseSettings, spider: str, *, budget: Budget = NO_BUDGET
    ) -> CrawlOptions:
        """Read the settings of a crawl.

        Args:
            settings: of the crawler.
            spider: name of the spider, the default of `CRAWL_ID`.
            budget: most URIs and hosts ever accepted.

        Raises:
            ConfigError: a value is not what it must be; one line that names it.
        """
        crawl_id = crawl_id_of(settings, spider)
        paths = paths_of(settings, spider)
        worker = f"{_host_name()}-{os.getpid()}-{secrets.token_hex(3)}"
        return cls(
            crawl_id=crawl_id,
            worker=worker,
            paths=paths,
            redis_url=redis_url_of(settings),
            redis_server=settings.get("REDIS_SERVER") or None,
            is_persistent=is_on(settings, "SCHEDULER_PERSIST"),
            run=settings.getint(RUN) if settings.get(RUN) is not None else None,
            frontier=_frontier(settings, budget),
            work=_work(settings, worker),
            fetch=_fetch(settings, paths.spool),
            keys=PolitenessKey(
                _one_of(Grouping, "POLITENESS_KEY", settings.get("POLITENESS_KEY"))
            ),
            normal_form=NormalForm(_session_parameters(settings)),
            trap_limits=_trap_limits(settings),
            sources=_sources(settings),
            ftp_logins=ftp_logins(),
            fetches_with_scrapy=is_on(settings, "FETCH_WITH_SCRAPY"),
            reservation_policy=_reservation_policy(settings),
            leave_hosts=_leave_hosts(settings),
        )

    def introduced(self, settings: BaseSettings) -> CrawlOptions:
        """Return the options of a crawl, which keeps within its own networks.

        It does so if those who are asked could not find out who asks them.

        Raises:
            ConfigError: it has none.
        """
        agent = self.fetch.user_agent
        if not is_on(settings, "CONTACT_REQUIRED") or names_contact(agent):
            return self
        guard = self.fetch.guard
        if not guard.allow_nets:
            raise ConfigError(
                f"USER_AGENT={agent}: a crawl of the open web needs a contact of yours"
                " in it, a URL or a mail address; or set CONTACT_REQUIRED=False"
            )
        confined = replace(guard, is_confined=True)
        return replace(self, fetch=replace(self.fetch, guard=confined))


def ftp_logins() -> FtpLogins:
    """Return the logins of FTP servers, which the environment has.

    Raises:
        ConfigError: `FTP_CREDENTIALS` is wrong.
    """
    name = "FTP_CREDENTIALS"
    return FtpLogins.parse(name, os.environ.get(name, ""))


def crawl_id_of(settings: BaseSettings, spider: str) -> str:
    """Return the name that workers of one crawl share.

    Raises:
        ConfigError: `CRAWL_ID` cannot be part of a file name and a Redis key.
    """
    crawl_id = str(settings.get("CRAWL_ID") or spider)
    if not _CRAWL_ID(crawl_id):
        raise ConfigError(
            f"CRAWL_ID={crawl_id!r}: want letters, digits, '.', '_', '-', at most 100"
        )
    return crawl_id


def paths_of(settings: BaseSettings, spider: str) -> CrawlPaths:
    """Return where a crawl keeps its things; nothing is made.

    Raises:
        ConfigError: see `crawl_id_of`.
    """
    folder = Path(str(settings.get("CRAWL_DIR"))).expanduser().absolute()
    return CrawlPaths(root=folder / crawl_id_of(settings, spider))


def redis_url_of(settings: BaseSettings) -> str | None:
    """Return the Redis that the settings name, or None for the embedded server.

    Raises:
        ConfigError: `REDIS_PORT` is no port.
    """
    if url := settings.get("REDIS_URL"):
        return str(url)
    if host := settings.get("REDIS_HOST"):
        port = settings.get("REDIS_PORT") or 6379
        if not str(port).isdecimal():
            raise ConfigError(f"REDIS_PORT={port!r}: want a whole number")
        return f"redis://{host}:{port}"
    return None


def _frontier(settings: BaseSettings, budget: Budget) -> FrontierOptions:
    return FrontierOptions(
        partitions=integer(settings, "FRONTIER_PARTITIONS", 1, 4096),
        lease_secs=number(settings, "FRONTIER_LEASE_SECS", 1, 86_400),
        batch=integer(settings, "VISIT_MAX_DOCUMENTS", 1, 1000),
        window_secs=number(settings, "VISIT_WINDOW_SECS", 0, 86_400),
        delay_secs=number(settings, "DOWNLOAD_DELAY", 0, 86_400),
        budget=budget,
    )


def _work(settings: BaseSettings, worker: str) -> WorkerOptions:
    patience = number(settings, "HOST_PATIENCE_SECS", 0, 86_400 * 365)
    return WorkerOptions(
        name=worker,
        visits=integer(settings, "CONCURRENT_REQUESTS", 1, 10_000),
        slow_visits=integer(settings, "SLOW_VISITS", 0, 10_000),
        slow_secs=number(settings, "VISIT_SLOW_SECS", 0.1, 86_400),
        commit_secs=number(settings, "FRONTIER_COMMIT_SECS", 0.01, 3600),
        ack_lag_secs=number(settings, "FRONTIER_ACK_LAG_SECS", 0, 3600),
        patience_secs=patience if is_on(settings, "RETRY_ENABLED") else 0,
        last_wait_secs=number(settings, "HOST_LAST_WAIT_SECS", 0, 86_400 * 365),
        idle_secs=number(settings, "SCHEDULER_IDLE_BEFORE_CLOSE", 0, 86_400 * 365),
    )


def _fetch(settings: BaseSettings, spool: Path) -> FetchOptions:
    timeout = number(settings, "DOWNLOAD_TIMEOUT", 0.01, 86_400)
    redirects = integer(settings, "REDIRECT_MAX_TIMES", 0, 100)
    retries = integer(settings, "RETRY_TIMES", 0, 3)
    return FetchOptions(
        user_agent=str(settings.get("USER_AGENT")),
        spool_dir=spool,
        timeout_secs=timeout,
        dump_timeout_secs=number(settings, "DUMP_TIMEOUT_SECS", 0.01, 86_400 * 7),
        first_byte_secs=number(settings, "TRANSFER_FIRST_BYTE_SECS", 0.01, 86_400),
        endpoint_first_byte_secs=number(
            settings, "ENDPOINT_FIRST_BYTE_SECS", 0.01, 86_400
        ),
        min_bytes_per_sec=integer(settings, "TRANSFER_MIN_BYTES_PER_SEC", 0),
        min_rate_after_secs=number(settings, "TRANSFER_MIN_RATE_SECS", 0.1, 86_400),
        connect_secs=min(20.0, timeout),
        max_document_bytes=integer(settings, "DOWNLOAD_MAXSIZE", 1),
        max_dump_bytes=integer(settings, "DUMP_MAXSIZE", 1),
        spool_bytes=integer(settings, "VISIT_SPOOL_BYTES", 1),
        visit_memory_bytes=integer(settings, "VISIT_MEMORY_BYTES", 0),
        spool_max_bytes=integer(settings, "SPOOL_MAX_BYTES", 0),
        spool_host_max_bytes=integer(settings, "SPOOL_HOST_MAX_BYTES", 0),
        min_free_bytes=integer(settings, "DISK_MIN_FREE_BYTES", 0),
        redirect_limit=redirects if is_on(settings, "REDIRECT_ENABLED") else 0,
        retry_times=retries if is_on(settings, "RETRY_ENABLED") else 0,
        backoff_base_secs=number(settings, "HOST_BACKOFF_SECS", 0.01, 3600),
        verify_certificates=is_on(settings, "DOWNLOAD_VERIFY_CERTIFICATES"),
        visit_max_secs=number(settings, "VISIT_MAX_SECS", 1, 86_400),
        guard=guard_of(settings),
    )


def _sources(settings: BaseSettings) -> SourceOptions:
    files = settings.get("RESOURCESYNC_FILES")
    return SourceOptions(
        sitemap_entries=integer(settings, "SITEMAP_ENTRIES", 1, 50_000),
        ckan_robots=_one_of(ObeyRobots, "CKAN_ROBOTS", settings.get("CKAN_ROBOTS")),
        ckan_rows=integer(settings, "CKAN_ROWS", 1, 1000),
        ckan_keys=_keys("CKAN_API_KEY", os.environ.get("CKAN_API_KEY", "")),
        sparql_rows=integer(settings, "SPARQL_ROWS", 1, 1_000_000),
        files=Path(str(files)).expanduser().absolute() if files else None,
    )


def _keys(name: str, text: str) -> tuple[tuple[str, str], ...]:
    """Return the keys in an environment variable: one, or one for each URL.

    A key alone is one for all portals that the operator names; its URL is empty.

    Raises:
        ConfigError: an entry is neither.
    """
    entries = text.split()
    if len(entries) == 1 and "://" not in entries[0]:
        return (("", entries[0]),)
    pairs = [entry.partition("=")[::2] for entry in entries]
    if not all("://" in url and key for url, key in pairs):
        raise ConfigError(f"{name}: want a key, or URL=KEY for each portal")
    return tuple(pairs)


def _reservation_policy(settings: BaseSettings) -> ReservationPolicy:
    return ReservationPolicy(
        robots=_one_of(Obedience, "XROBOTS_POLICY", settings.get("XROBOTS_POLICY")),
        tdm=_one_of(Obedience, "TDM_POLICY", settings.get("TDM_POLICY")),
        agent=str(settings.get("ROBOTSTXT_USER_AGENT") or PRODUCT_TOKEN).lower(),
    )


def _trap_limits(settings: BaseSettings) -> TrapLimits:
    return TrapLimits(
        repeats=integer(settings, "TRAP_REPEATS", 0, 1000),
        segments=integer(settings, "TRAP_SEGMENTS", 0, 2000),
        of_form=integer(settings, "TRAP_FORM_URLS", 0),
    )


def _leave_hosts(settings: BaseSettings) -> Path | None:
    text = settings.get("LEAVE_HOSTS")
    if not text:
        return None
    path = Path(str(text)).expanduser().absolute()
    read_file(path)  # as a check
    return path


def _one_of(kind: type[E], name: str, value: object) -> E:
    try:
        return kind(str(value))
    except ValueError:
        raise ConfigError(f"{name}={value!r}: want one of {', '.join(kind)}") from None


def _session_parameters(settings: BaseSettings) -> tuple[str, ...]:
    if settings.get("SESSION_PARAMETERS") is None:
        return SESSION_PARAMETERS
    return tuple(settings.getlist("SESSION_PARAMETERS"))


def _host_name() -> str:
    name = socket.gethostname().partition(".")[0]
    return re.sub(r"[^A-Za-z0-9]+", "-", name)[:40].strip("-") or "host"


def failed_exit_code(settings: BaseSettings) -> int:
    """Return the exit code of a crawl that gave up URIs whose hosts failed.

    Raises:
        ConfigError: it can be none.
    """
    return integer(settings, "FAILED_EXIT_CODE", 0, 255)


def segment_limits(settings: BaseSettings) -> SegmentLimits:
    """Return the sizes of segments.

    Raises:
        ConfigError: a setting is out of range.
    """
    return SegmentLimits(rotate_bytes=integer(settings, "SEGMENT_MAX_BYTES", 1024))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOptions:
    """How documents are read.

    Attributes:
        limits: on one document.
        unpack: on what documents are packed in.
        processes: children that read at the same time.
        memory_bytes: address space of each of them.
        rules: file or folder of scraping rules; empty is none.
    """

    limits: ParseLimits
    unpack: UnpackLimits
    processes: int
    memory_bytes: int
    rules: str


def extract_options(settings: BaseSettings) -> ExtractOptions:
    """Return how documents are read; the scraping rules are loaded, as a check.

    Raises:
        ConfigError: a setting is out of range, or a rule is wrong.
    """
    rules = str(settings.get("SCRAPING_RULES") or "")
    if rules:
        from rdfcrawl.extract.reading import rules_in  # noqa: PLC0415 (slow to import)

        rules_in(rules)
    return ExtractOptions(
        limits=ParseLimits(
            literal_bytes=integer(settings, "RDF_LITERAL_MAX_BYTES", 1),
            secs=number(settings, "RDF_PARSE_SECS", 0.1, 86_400),
        ),
        unpack=UnpackLimits(
            n_bytes=integer(settings, "UNPACK_MAXSIZE", 1),
            ratio=number(settings, "UNPACK_MAX_RATIO", 1),
            n_members=integer(settings, "UNPACK_MAX_MEMBERS", 1),
            depth=integer(settings, "UNPACK_MAX_DEPTH", 1, 10),
        ),
        processes=integer(settings, "EXTRACT_PROCESSES", 1, 64),
        memory_bytes=integer(settings, "RDF_PARSE_MEMORY_BYTES", 256 * 1024 * 1024),
        rules=rules,
    )


def progress_options(settings: BaseSettings) -> ProgressOptions:
    """Return how progress is shown.

    Raises:
        ConfigError: a setting is unknown or out of range.
    """
    return ProgressOptions(
        _one_of(Display, "PROGRESS", settings.get("PROGRESS")),
        number(settings, "PROGRESS_LOG_SECS", 1, 86_400),
    )
