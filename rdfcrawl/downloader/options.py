"""The settings of the fetch, and its `Accept` headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.formats import FORMATS
from rdfcrawl.core.options import defaults
from rdfcrawl.core.options.table import (
    OptionsTable,
    integer,
    number,
    parsed,
    part,
    switch,
)
from rdfcrawl.core.options.values import header_value, texts
from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.client import FAILING, RequestOptions, UnreadTypes, media_types
from rdfcrawl.downloader.host_delay import PaceOptions
from rdfcrawl.uri.guard.policy import Guard

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.rdf.html.extractors import CustomExtractor


_RDF: Final = (
    "application/n-quads, application/trig, application/n-triples;q=0.95, "
    "text/turtle;q=0.9, application/ld+json;q=0.85, application/rdf+xml;q=0.8"
)
# Parsed by our own, slower parsers; rarely served without one of the above.
_RARE: Final = ", ".join(
    ["text/n3;q=0.7"]
    + [f"{x.media_types[0]};q=0.6" for x in FORMATS if x.reader and x.media_types]
)

ACCEPT: Final = {
    # A server that negotiates must find a concrete type: many answer a bare `*/*`
    # with HTML, and some answer 406 where nothing matches, hence the last range.
    Kind.PAGE: f"{_RDF}, {_RARE}, application/xhtml+xml;q=0.4, text/html;q=0.3, "
    "*/*;q=0.1",
    # A dump is a file: archives and octet streams are as good as RDF types. HDT is
    # never useful for a single page.
    Kind.DUMP: f"{_RDF}, {_RARE}, application/vnd.hdt;q=0.7, application/gzip;q=0.7, "
    "*/*;q=0.5",
    Kind.SITEMAP: "application/xml, text/xml;q=0.9, text/plain;q=0.8, "
    "application/rss+xml;q=0.8, application/atom+xml;q=0.8, */*;q=0.5",
    Kind.RESOURCESYNC: "application/xml, text/xml;q=0.9, */*;q=0.5",
    Kind.CKAN: "application/json, */*;q=0.1",
    Kind.SPARQL: "application/sparql-results+json, application/n-triples;q=0.9, "
    "text/turtle;q=0.8, */*;q=0.1",
    Kind.REQUEST: "*/*",  # the request has its own
    Kind.CUSTOM: "*/*",
    Kind.WARC: "application/warc, application/gzip;q=0.9, */*;q=0.5",
}
"""`Accept` header of each kind: explicit types first, any type last."""
ROBOTS_ACCEPT: Final = "text/plain, */*;q=0.1"
"""`Accept` header for robots.txt (RFC 9309 2.3: served as text/plain)."""
ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"
"""The content codings that `content_encoding` can undo."""
_DAY: Final = 86_400
_is_header = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch  # RFC 9110 5.6.2


def accept_also(media_types: Iterable[str]) -> Mapping[Kind, str]:
    """Return the headers with further types, after the common ones of RDF."""
    also = "".join(f", {each};q=0.7" for each in media_types)
    if not also:
        return ACCEPT
    return ACCEPT | {kind: ACCEPT[kind] + also for kind in (Kind.PAGE, Kind.DUMP)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions(OptionsTable):
    """Limits and behaviour of the fetch; times in seconds, sizes in bytes."""

    user_agent: str = parsed("USER_AGENT", defaults.USER_AGENT, header_value)
    """how the crawler introduces itself. **Set it to name you and a way to reach you**:
    a URL or a mail address"""
    spool_dir: Path  # folder of the spool files, shared by the workers of a machine
    accept: Mapping[Kind, str] = field(default_factory=lambda: ACCEPT)
    timeout_secs: float = number(
        "DOWNLOAD_TIMEOUT", defaults.DOWNLOAD_TIMEOUT, 0.01, _DAY
    )
    """for one request of a page, from connecting to the last byte"""
    dump_timeout_secs: float = number("DUMP_TIMEOUT_SECS", 6 * 3600.0, 0.01, _DAY * 7)
    """the same for a dump"""
    first_byte_secs: float = number("TRANSFER_FIRST_BYTE_SECS", 30.0, 0.01, _DAY)
    """from connecting to the end of the headers of any response; in
    FTP, for each reply"""
    endpoint_first_byte_secs: float = number(
        "ENDPOINT_FIRST_BYTE_SECS", 600.0, 0.01, _DAY
    )
    """the same for portals, and for endpoints that have responded before:
    their queries may take long"""
    connect_secs: float = 20.0  # for name lookup, connecting and the TLS handshake
    keep_alive_secs: float = 10.0  # lifetime of an idle connection
    # idle connections to all hosts; fewer if a process may open few files
    idle_connections: int = 4096
    max_document_bytes: int = integer("DOWNLOAD_MAXSIZE", defaults.DOWNLOAD_MAXSIZE, 1)
    """longest body of a page, decompressed; longer ones are truncated"""
    max_dump_bytes: int = integer("DUMP_MAXSIZE", 50 * 1024 * 1024 * 1024, 1)
    """the same for a dump"""
    max_ratio: float = 200.0  # decoded : received, once 1 MiB is decoded
    spool_bytes: int = integer("VISIT_SPOOL_BYTES", 256 * 1024, 1)
    """a longer body goes to a file in `spool`"""
    visit_memory_bytes: int = integer("VISIT_MEMORY_BYTES", 64 * 1024 * 1024, 0)
    """bodies that one worker holds in memory; beyond it, all go to files"""
    spool_max_bytes: int = integer(
        "SPOOL_MAX_BYTES", 100 * 1024 * 1024 * 1024, 0, unread=0
    )
    """such files of one worker, all together; a response without room goes
    back to the queue unchanged. 0: no limit"""
    spool_host_max_bytes: int = integer(
        "SPOOL_HOST_MAX_BYTES", 60 * 1024 * 1024 * 1024, 0, unread=0
    )
    """the same for those of one host; a single longer response is truncated
    (`too_large`). 0: no limit"""
    min_free_bytes: int = integer("DISK_MIN_FREE_BYTES", 256 * 1024 * 1024, 0, unread=0)
    """left free on the disks of `quads`, `provenance`, `spool` and
    `RESOURCESYNC_FILES`: below that, requests
    [pause](../explanation/politeness.md#rules-for-all-requests). 0: not before a disk
    is full"""
    redirects: bool = switch("REDIRECT_ENABLED", True)
    redirect_limit: int = integer(
        "REDIRECT_MAX_TIMES", defaults.REDIRECT_MAX_TIMES, 0, 100
    )
    """redirects on the way to one document, over all hosts; `REDIRECT_ENABLED=False` is
    0"""
    retry_times: int = integer("RETRY_TIMES", defaults.RETRY_TIMES, 0, 3)
    """retries of a document, and least number of further visits to a refusing host (see
    `HOST_PATIENCE_SECS`); `RETRY_ENABLED=False` means 0, without patience"""
    # statuses that are worth a retry
    retry_codes: frozenset[int] = FAILING | {408}
    # statuses that stop requests to the entire host
    busy_codes: frozenset[int] = frozenset({429, 503})
    verify_certificates: bool = switch(
        "DOWNLOAD_VERIFY_CERTIFICATES", defaults.DOWNLOAD_VERIFY_CERTIFICATES
    )
    """refuse hosts whose certificate cannot be verified"""
    visit_max_secs: float = number("VISIT_MAX_SECS", 300.0, 1, _DAY)
    """no request of a visit starts after this time; the rest goes back to the queue"""
    min_bytes_per_sec: int = integer("TRANSFER_MIN_BYTES_PER_SEC", 1024, 0)
    """slower responses are aborted"""
    min_rate_after_secs: float = number("TRANSFER_MIN_RATE_SECS", 10.0, 0.1, _DAY)
    """period over which the rate is measured, repeatedly during the response"""
    backoff_base_secs: float = number("HOST_BACKOFF_SECS", 5.0, 0.01, 3600, unread=1.0)
    """first wait for a host that refuses or cannot be reached; it doubles each time, up
    to an hour"""
    backoff_max_secs: float = 3600.0  # longest such wait
    retry_after_max_secs: float = number(
        "RETRY_AFTER_MAX_SECS", 6 * 3600.0, 0, _DAY * 30
    )
    """longest `Retry-After` that is obeyed; after it, the host is requested again"""
    pace: PaceOptions = part(PaceOptions)
    with_scrapy: bool = False  # use Scrapy's downloader
    guard: Guard = field(default_factory=Guard)
    ignored_types: tuple[str, ...] = parsed(
        "IGNORED_MEDIA_TYPES",
        None,
        media_types,
        allowed="media types, `*` at the end of one",
    )
    """responses of these types are not received beyond their headers; unset, a
    [built-in list](../explanation/politeness.md#skipped-files). An empty
    value: all are received"""
    # responses whose bodies are not received
    unread: UnreadTypes = field(default_factory=UnreadTypes)
    # custom classes, by scheme
    fetchers: Mapping[str, type] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        settings: BaseSettings,
        crawl: CrawlOptions,
        extractors: Iterable[CustomExtractor] = (),
    ) -> Self:
        """Read the settings of a crawl, after its other options.

        Raises:
            ConfigError: one is wrong.
        """
        read = cls.read(settings, spool_dir=crawl.paths.spool)
        retries, redirects = crawl.work.retries, read["redirects"]
        formats, has_magic = crawl.formats, any(each.magic for each in extractors)
        read |= {
            "connect_secs": min(20.0, read["timeout_secs"]),
            "redirect_limit": read["redirect_limit"] if redirects else 0,
            "retry_times": read["retry_times"] if retries else 0,
            "with_scrapy": crawl.work.with_scrapy,
            "guard": crawl.guard,
            "accept": accept_also(formats.media_types),
            "unread": UnreadTypes.of(
                read["ignored_types"], formats, has_magic=has_magic
            ),
        }
        if crawl.fetchers:
            from rdfcrawl.downloader.scheme_fetcher import (  # noqa: PLC0415
                fetcher_classes,
            )

            read["fetchers"] = fetcher_classes(crawl.fetchers)
        return cls(**read)

    def request_options(self, kind: Kind) -> RequestOptions:
        """Return the options of a request for a URI of `kind`."""
        searches = kind in (Kind.SPARQL, Kind.CKAN)
        # Lists of resources and query results may be as long as a dump.
        is_dump = kind in (Kind.DUMP, Kind.RESOURCESYNC, Kind.SPARQL, Kind.WARC)
        return RequestOptions(
            accept=self.accept[kind],
            max_bytes=self.max_dump_bytes if is_dump else self.max_document_bytes,
            spool_bytes=self.spool_bytes,
            timeout_secs=self.dump_timeout_secs if is_dump else self.timeout_secs,
            first_byte_secs=(
                self.endpoint_first_byte_secs if searches else self.first_byte_secs
            ),
            is_resumable=kind in (Kind.DUMP, Kind.RESOURCESYNC),
            # A failed query is replaced by smaller ones.
            is_final=kind is Kind.SPARQL,
            unread=self.unread if kind.is_of_url else None,
        )

    def robots_options(self, max_bytes: int) -> RequestOptions:
        """Return the options of a request for robots.txt: always kept in memory."""
        return RequestOptions(
            accept=ROBOTS_ACCEPT,
            max_bytes=max_bytes,
            spool_bytes=max_bytes,
            timeout_secs=self.timeout_secs,
            first_byte_secs=self.first_byte_secs,
        )


def _headers(name: str, value: Any) -> tuple[str, ...]:
    headers = texts(value)
    for header in headers:
        if not _is_header(header):
            raise ConfigError(f"{name}: {header!r}: must be the name of a header")
    return headers


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings(OptionsTable):
    """Options of a crawl's web archive."""

    is_wanted: bool = switch("WARC", False)
    """`True`: keep requests and responses in [WARC
    files](../how-to/web-archives.md#keep-responses)"""
    max_bytes: int = integer("WARC_MAX_BYTES", 1024 * 1024 * 1024, 1024)
    """size at which a WARC file is finished and the next begins; one record may be
    longer"""
    redacted_headers: tuple[str, ...] = parsed(
        "WARC_REDACTED_HEADERS",
        ["Authorization", "Cookie", "Proxy-Authorization", "X-API-Key", "X-Auth-Token"],
        _headers,
        allowed="names",
    )
    """headers of requests whose values are left out of WARC files"""
