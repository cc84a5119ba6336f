"""Spiders whose requests are visits, as seen by the components of a crawl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, runtime_checkable

from scrapy.exceptions import NotConfigured

from rdfcrawl.core.records import Document, Urgency

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfcrawl.core.records import Record
    from rdfcrawl.core.reservations import Reservations
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.arguments.crawl import CrawlArguments
    from rdfcrawl.frontier.arguments.stored import CrawlMember
    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.rdf.links.policy import EveryLink


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpiderServices:
    """Functions of a spider that has joined a crawl, for the scheduler.

    Attributes:
        process_visit: callback of visits.
        release: frees the bodies of documents that were not processed.
        is_pausing: whether requests pause because of a local failure.
        keeps_from_writing: whether stores would refuse data now.
        pause_if_local_failure: see `OwnTrouble.pause_if_local_failure`.
        active_transfers: tasks whose transfers make progress.
    """

    process_visit: Callable[[Response], Any]
    release: Callable[[Visit], None]
    is_pausing: Callable[[], bool]
    keeps_from_writing: Callable[[], bool]
    pause_if_local_failure: Callable[[BaseException, Visit | None], bool]
    active_transfers: Callable[[], AbstractSet[object]]


@runtime_checkable
class VisitingSpider(Protocol):
    """A spider whose requests are visits."""

    arguments: CrawlArguments
    session: CrawlSession | None
    # it reads one page, for `scrapy fetch` or `shell`, without joining the crawl
    is_onlooker: bool
    member: CrawlMember

    @property
    def crawl_options(self) -> CrawlOptions:
        """Options of the crawl and of this worker."""

    @property
    def request_of(self) -> Callable[[str], Record] | None:
        """Makes a record of a pushed seed; None if seeds are documents."""

    def link_policy(self) -> EveryLink | None:
        """Return the user's link policy; None if every link is followed."""

    def join(self, session: CrawlSession) -> SpiderServices:
        """Join a crawl, with the options and arguments stored in it."""

    def joined(self) -> CrawlSession:
        """Return the connection to the crawl; raise `ConfigError` without one."""

    @property
    def makes_documents(self) -> bool:
        """Whether a request with only a URL is for a document."""

    @property
    def parses_documents(self) -> bool:
        """Whether the spider overrides `parse_document`."""

    def obey(self, document: Document, reservations: Reservations) -> None:
        """Apply the reservations of a publisher to a document."""


def visiting_spider(crawler: Crawler) -> VisitingSpider:
    """Return the visiting spider of a crawler, or raise `NotConfigured`."""
    spider = crawler.spider
    if not makes_visits(spider):
        raise NotConfigured
    return spider


def makes_visits(spider: object) -> TypeGuard[VisitingSpider]:
    """Return whether a spider takes part in a crawl."""
    return isinstance(spider, VisitingSpider) and not spider.is_onlooker


def urgency_of(request: Request) -> Urgency:
    """Return the urgency of a request, by its priority."""
    if not request.priority:
        return Urgency.ORDINARY
    return Urgency.SOON if request.priority > 0 else Urgency.LATER


def is_plain(request: Request) -> bool:
    """Return whether a request has only a URL: a request for a document."""
    return (
        request.method == "GET"
        and not request.body
        and request.callback is None
        and request.errback is None
        and not request.cb_kwargs
        and not request.headers
        and not request.dont_filter
    )
