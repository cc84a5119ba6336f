"""The parts that visits share, and the first request for each record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.records import Kind, Record
from rdfcrawl.core.tasks import RefreshedPage, RequestTask
from rdfcrawl.downloader.client import HttpClient, HttpRequest, RequestOptions
from rdfcrawl.downloader.host_delay import InterruptibleSleep
from rdfcrawl.downloader.redirects import RedirectJudge, options_of_user
from rdfcrawl.frontier.queue.candidate import kind_of_named
from rdfcrawl.frontier.request_turns import SoloTurns
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.downloader.robots_txt import FetchedRobots
    from rdfcrawl.downloader.spool import Spool


@dataclass(slots=True, eq=False)
class VisitServices:
    """The parts of a worker process that its visits share.

    Attributes:
        key_of: politeness key of a URL; redirects within a key are followed.
        is_new: marks a redirect target as seen in the frontier; returns whether it was
            unseen, and so may be fetched here.
        prime: called with a URL before the first lookup of its key.
        request_for: returns the request for a record of a source.
        is_for_all: also for a record that is only a URL.
        hops: decides which redirects are followed.
        robots_txt: files already read for their rules; None to request them again.
        begin: called with a visit whose only record is a suspect (`Record.lost`),
            before its request.
        sleepers: waits that `stop` ends.
    """

    exchange: HttpClient
    spool: Spool
    options: FetchOptions
    _: KW_ONLY
    key_of: Callable[[str], str]
    is_new: Callable[[str], Awaitable[bool]]
    prime: Callable[[str], Awaitable[None]] | None = None
    request_for: Callable[[Record], Awaitable[HttpRequest | None]] | None = None
    is_for_all: bool = False
    hops: RedirectJudge = field(default_factory=RedirectJudge)
    robots_txt: FetchedRobots | None = None
    begin: Callable[[Visit], Awaitable[None]] | None = None
    sleepers: InterruptibleSleep = field(default_factory=InterruptibleSleep)
    turns: SoloTurns = field(default_factory=SoloTurns)
    _options_of_kinds: dict[Kind, RequestOptions] = field(init=False)

    def __post_init__(self) -> None:
        self._options_of_kinds = {
            kind: self.options.request_options(kind) for kind in Kind
        }

    def plain_request(self, record: Record) -> tuple[str, RequestOptions] | None:
        """Return the first request for a record that is only a URL; else None."""
        is_special = record.task or record.kind.is_source or self.is_for_all
        if is_special or self.hops.refuses(record):
            return None
        return record.url, self._options_of_kinds[record.kind]

    async def first_request(self, record: Record) -> tuple[str, RequestOptions]:
        """Return the first URL to request for a record, and the options.

        Raises:
            SourceFault: `NOT_WANTED`, or that of its source.
            Exception: any error of its source.
        """
        plain = self.plain_request(record)
        if plain is not None:
            return plain
        if self.hops.refuses(record):
            raise SourceFault(Reason.NOT_WANTED, record.url)
        options = self._options_of_kinds[record.kind]
        if isinstance(record.task, RequestTask):
            return record.url, options_of_user(options, record.task)
        if isinstance(record.task, RefreshedPage):
            options = replace(options, refreshed=record.task)
        if self.request_for is None:
            return record.url, options
        request_for = await self.request_for(record)
        if request_for is None:
            return record.url, options
        if host_of(request_for.url) != host_of(record.url):
            # Lease, delay and rules belong to the record's host.
            raise SourceFault(Reason.CROSS_SITE, request_for.url)
        return request_for.url, request_for.options(
            options, self.options.first_byte_secs
        )

    def with_limits(
        self, options: RequestOptions, record: Record, target: str
    ) -> RequestOptions:
        """Return the options for a redirect's target, with the limits of that kind."""
        limits = self._options_of_kinds[kind_of_named(record.kind, target)]
        return replace(
            options,
            max_bytes=limits.max_bytes,
            timeout_secs=limits.timeout_secs,
            first_byte_secs=limits.first_byte_secs,
            is_resumable=limits.is_resumable,
        )
