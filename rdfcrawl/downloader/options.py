"""The settings of the fetch, read and checked; its `Accept` headers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.core.options.values import integer, is_on, mapping, number
from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.answer import RequestOptions
from rdfcrawl.downloader.attempt import FAILING
from rdfcrawl.downloader.fetcher_classes import fetcher_classes
from rdfcrawl.downloader.ftp_logins import FtpLogins
from rdfcrawl.downloader.pace import PaceOptions
from rdfcrawl.downloader.unread_types import UnreadTypes
from rdfcrawl.frontier.ignored_options import own_formats
from rdfcrawl.frontier.queue.options import scheme_policy
from rdfcrawl.uri.guard.options import guard_of
from rdfcrawl.uri.guard.policy import Guard

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


_RDF: Final = (
    "application/n-quads, application/trig, application/n-triples;q=0.95, "
    "text/turtle;q=0.9, application/ld+json;q=0.85, application/rdf+xml;q=0.8"
)
# Read by readers of our own, slower, and seldom served without one of the above.
_RARE: Final = (
    "text/n3;q=0.7, application/trix;q=0.6, application/rdf+json;q=0.6, "
    "application/hex+x-ndjson;q=0.6"
)

ACCEPT: Final = {
    # A server that negotiates must find a concrete type: many answer a bare `*/*`
    # with HTML, and some answer 406 where nothing matches, hence the last range.
    Kind.PAGE: f"{_RDF}, {_RARE}, application/xhtml+xml;q=0.4, text/html;q=0.3, "
    "*/*;q=0.1",
    # A dump is a file: archives and octet streams are as good as RDF types. HDT is
    # a file of everything, which nobody wants instead of a page.
    Kind.DUMP: f"{_RDF}, {_RARE}, application/vnd.hdt;q=0.7, application/gzip;q=0.7, "
    "*/*;q=0.5",
    Kind.SITEMAP: "application/xml, text/xml;q=0.9, text/plain;q=0.8, "
    "application/rss+xml;q=0.8, application/atom+xml;q=0.8, */*;q=0.5",
    Kind.RESOURCESYNC: "application/xml, text/xml;q=0.9, */*;q=0.5",
    Kind.CKAN: "application/json, */*;q=0.1",
    Kind.SPARQL: "application/sparql-results+json, application/n-triples;q=0.9, "
    "text/turtle;q=0.8, */*;q=0.1",
    Kind.REQUEST: "*/*",  # the request says it
    Kind.CUSTOM: "*/*",
    Kind.WARC: "application/warc, application/gzip;q=0.9, */*;q=0.5",
}
"""`Accept` header of each kind: explicit types first, any type last and least."""


def accept_also(media_types: Iterable[str]) -> Mapping[Kind, str]:
    """Return the headers with further types, behind the common ones of RDF."""
    also = "".join(f", {each};q=0.7" for each in media_types)
    if not also:
        return ACCEPT
    return ACCEPT | {kind: ACCEPT[kind] + also for kind in (Kind.PAGE, Kind.DUMP)}


ROBOTS_ACCEPT: Final = "text/plain, */*;q=0.1"
"""`Accept` header for robots.txt (RFC 9309 2.3: served as text/plain)."""

ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"
"""The content codings that `content_encoding` can undo."""


KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """Limits and manners of the fetch; times in seconds, sizes in bytes."""

    user_agent: str
    spool_dir: Path  # folder of the spool files, shared by the workers of a machine
    accept: Mapping[Kind, str] = field(default_factory=lambda: ACCEPT)
    # for one GET of a page, from connecting to the last byte
    timeout_secs: float = 60.0
    dump_timeout_secs: float = 6 * 3600.0  # the same for a dump
    first_byte_secs: float = 30.0  # from connecting to the end of the headers
    # the same for endpoints and portals, which search
    endpoint_first_byte_secs: float = 600.0
    connect_secs: float = 20.0  # for name lookup, connecting and the TLS handshake
    keep_alive_secs: float = 10.0  # an idle connection is kept so long
    max_document_bytes: int = 64 * MIB  # longest decoded body of a page
    max_dump_bytes: int = 50 * GIB  # longest decoded body of a dump
    max_ratio: float = 200.0  # decoded : received, once 1 MiB is decoded
    spool_bytes: int = 256 * KIB  # a longer body goes to a spool file
    visit_memory_bytes: int = 64 * MIB  # while open visits hold more, every body does
    spool_max_bytes: int = 0  # of all spool files; 0 is no limit
    spool_host_max_bytes: int = 0  # of those of one host; 0 is no limit
    min_free_bytes: int = 0  # left free on each disk that is written to
    redirect_limit: int = 5  # redirects on the way to one document, over all hosts
    # a document is asked for so many times more within its visit, and a host that
    # refuses is visited so many times more
    retry_times: int = 2
    # statuses that may be better the next time
    retry_codes: frozenset[int] = FAILING | {408}
    # statuses that ask for the whole host to be left alone
    busy_codes: frozenset[int] = frozenset({429, 503})
    verify_certificates: bool = True
    visit_max_secs: float = 300.0  # no request of a visit starts later than this
    min_bytes_per_sec: int = KIB  # a slower answer is given up (slow loris)
    # for which it must have been so
    min_rate_after_secs: float = 10.0
    backoff_base_secs: float = 1.0  # first wait after a failure; it doubles with each
    backoff_max_secs: float = 3600.0  # longest wait of that kind
    retry_after_max_secs: float = 6 * 3600.0  # longest `Retry-After` that is obeyed
    pace: PaceOptions = field(default_factory=PaceOptions)
    with_scrapy: bool = False  # Scrapy's downloader does the requests
    guard: Guard = field(default_factory=Guard)
    # responses whose bodies are not received
    unread: UnreadTypes = field(default_factory=UnreadTypes)
    # classes of the user's, by the schemes that they are for
    fetchers: Mapping[str, type] = field(default_factory=dict)

    @classmethod
    def from_settings(cls, settings: BaseSettings, *, spool_dir: Path) -> Self:
        """Read the settings.

        Raises:
            ConfigError: one is out of range.
        """
        timeout = number(settings, "DOWNLOAD_TIMEOUT", 0.01, 86_400)
        redirects = integer(settings, "REDIRECT_MAX_TIMES", 0, 100)
        retries = integer(settings, "RETRY_TIMES", 0, 3)
        return cls(
            user_agent=str(settings.get("USER_AGENT")),
            spool_dir=spool_dir,
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
            retry_after_max_secs=number(
                settings, "RETRY_AFTER_MAX_SECS", 0, 86_400 * 30
            ),
            pace=PaceOptions(
                factor=number(settings, "DELAY_FACTOR", 0, 100),
                max_secs=number(settings, "DELAY_MAX_SECS", 0, 3600),
            ),
            verify_certificates=is_on(settings, "DOWNLOAD_VERIFY_CERTIFICATES"),
            visit_max_secs=number(settings, "VISIT_MAX_SECS", 1, 86_400),
            with_scrapy=is_on(settings, "FETCH_WITH_SCRAPY"),
            guard=guard_of(settings),
            fetchers=fetcher_classes(settings, scheme_policy(settings)),
            accept=accept_also(own_formats(settings).media_types),
            unread=UnreadTypes.from_settings(settings, has_magic=_has_magic(settings)),
        )

    def ask(self, kind: Kind) -> RequestOptions:
        """Return how a URI of `kind` is asked for."""
        searches = kind in (Kind.SPARQL, Kind.CKAN)
        # A list of resources or a result of a query may be as long as a dump.
        is_dump = kind in (Kind.DUMP, Kind.RESOURCESYNC, Kind.SPARQL, Kind.WARC)
        return RequestOptions(
            accept=self.accept[kind],
            max_bytes=self.max_dump_bytes if is_dump else self.max_document_bytes,
            spool_bytes=self.spool_bytes,
            timeout_secs=self.dump_timeout_secs if is_dump else self.timeout_secs,
            first_byte_secs=(
                self.endpoint_first_byte_secs if searches else self.first_byte_secs
            ),
            goes_on=kind in (Kind.DUMP, Kind.RESOURCESYNC),
            # An endpoint that fails is asked for less.
            is_final=kind is Kind.SPARQL,
            unread=self.unread if kind.is_of_url else None,
        )

    def ask_robots(self, max_bytes: int) -> RequestOptions:
        """Return how robots.txt is asked for: always kept in memory."""
        return RequestOptions(
            accept=ROBOTS_ACCEPT,
            max_bytes=max_bytes,
            spool_bytes=max_bytes,
            timeout_secs=self.timeout_secs,
            first_byte_secs=self.first_byte_secs,
        )


def _has_magic(settings: BaseSettings) -> bool:
    """Return whether an extractor of the user's is selected by first bytes."""
    if not mapping(settings, "EXTRACTORS"):  # as of most
        return False
    from rdfcrawl.rdf.extraction.options import custom_extractors  # noqa: PLC0415

    return any(each.magic for each in custom_extractors(settings))


def ftp_logins() -> FtpLogins:
    """Return the logins of FTP servers, which the environment has.

    Raises:
        ConfigError: `FTP_CREDENTIALS` is wrong.
    """
    name = "FTP_CREDENTIALS"
    return FtpLogins.parse(name, os.environ.get(name, ""))
