"""The spider that looks at a site: a few requests to each kind of source it has."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from rdfcrawl.core.errors import MAY_PASS, Reason, SourceFault
from rdfcrawl.core.records import FollowUp, Kind, Record, Urgency
from rdfcrawl.core.tasks import RevisitedPage
from rdfcrawl.downloader.client import HttpRequest
from rdfcrawl.launch.looking.findings import SiteLook, read_look
from rdfcrawl.launch.private_crawls import run_private_crawl
from rdfcrawl.sources.ckan.api import PortalAddress
from rdfcrawl.sources.ckan.portal import portal_url
from rdfcrawl.spiders.base import RdfSpider
from rdfcrawl.uri import requestable
from rdfcrawl.uri.page_forms import page_form

if TYPE_CHECKING:
    from scrapy.crawler import CrawlerProcessBase
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.core.visits import Visit

MOST_REQUESTS: Final = 8  # without those of robots.txt and redirects
_MOST_PAGES: Final = 4
_MOST_OF_FORM: Final = 2
_MOST_OF_SOURCES: Final = {Kind.SITEMAP: 3, Kind.RESOURCESYNC: 5}
_MOST_OF_SOURCE: Final = 2
_is_endpoint_path: Final = re.compile(r"(?i)/(?:sparql|query)/?$").search
_is_repository_path: Final = re.compile(r"(?i)\boai").search
_REFUSED: Final = 2  # exit code of a crawl
# Prefixes of statistics.
_FORMATS: Final = ("document/format/", "document/extractor/")
_RESERVATIONS: Final = ("robots_tag/", "tdm/", "content_signal/")


class LookSpider(RdfSpider):
    """Requests the front page, the sources of its site, and a few pages.

    If these have no data, it requests sources that many sites have without a link.

    Attributes:
        delay_secs: time between two requests to the host, as its rules and the settings
            demand.
        guesses: URLs of sources that nothing on the site names.
    """

    name = "look"
    chooses_requests = True

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)
        self.delay_secs = 0.0
        self._chosen: set[Record] = set()
        self._n_chosen: Counter[object] = Counter()
        self.guesses: set[str] = set()
        self._has_statements = False
        self._ending: asyncio.Future[None] | None = None

    async def process_visit(self, response: Response) -> None:
        """Process the documents of a visit, and note the delay of the host."""
        visit: Visit = response.meta["visit"]
        self.delay_secs = max(self.delay_secs, visit.floor_secs or visit.delay_secs)
        documents = list(visit.documents)
        await super().process_visit(response)
        self._has_statements |= any(each.n_quads for each in documents)
        for each in documents:
            is_site = each.record.kind is Kind.PAGE and not each.record.parent
            reasons = {fault.reason for fault in each.faults}
            if is_site and not each.status and reasons & MAY_PASS:
                self._end()
            elif is_site and not self._has_data():
                await self._guess(each.record.url)

    def _end(self) -> None:
        """End the look at a site that does not respond."""
        if self._ending is None and self.crawler.engine is not None:
            close = self.crawler.engine.close_spider_async(reason="no_response")
            self._ending = asyncio.ensure_future(close)

    async def _guess(self, url: str) -> None:
        """Queue the sources that a site may have, after all that it names."""
        for kind, place in iter_guesses(url):
            root = self.harvesters.root(kind, place, is_named=False)
            self.guesses.add(requestable(root.url))
            if kind is Kind.CKAN:
                self.guesses.update(PortalAddress(url=place.rstrip("/")).catalogue_urls)
            guess = FollowUp(root, is_part_of_source=True, urgency=Urgency.LATER)
            await self.joined().seeds.add_sources([guess])

    async def request_for(self, record: Record) -> HttpRequest | None:
        """Return the request for a record that the look has a request for.

        Raises:
            SourceFault: `NOT_WANTED`: it has none left.
        """
        found = await super().request_for(record)
        if not (record.chain or record in self._chosen):
            self._choose(record)
            self._chosen.add(record)
        return found

    def _choose(self, record: Record) -> None:
        limits: dict[object, int] = {"all": MOST_REQUESTS}
        if record.url in self.guesses and self._has_data():
            limits[record.kind] = 0
        elif record.kind.is_source:
            limits[record.kind] = _MOST_OF_SOURCES.get(record.kind, _MOST_OF_SOURCE)
        elif record.kind is Kind.DUMP:
            limits[record.kind] = 0 if record.task else 1
        elif record.parent and not isinstance(record.task, RevisitedPage):
            limits[record.kind] = _MOST_PAGES
            limits[page_form(record.url).narrow] = _MOST_OF_FORM
        if any(self._n_chosen[each] >= most for each, most in limits.items()):
            raise SourceFault(Reason.NOT_WANTED, "a look has no request left for it")
        self._n_chosen.update(limits.keys())

    def _has_data(self) -> bool:
        if not self._has_statements and (stats := self.crawler.stats) is not None:
            # Of the parts of responses, too, but late.
            self._has_statements = stats.get_value("document/quads", 0) > 0
        return self._has_statements


def iter_guesses(url: str) -> Iterator[tuple[Kind | str, str]]:
    """Yield kinds and URLs of sources that the site of a URL may have; none for FTP.

    >>> for kind, place in iter_guesses("https://data.example/de/dataset/lakes"):
    ...     print(kind.name, place)
    CKAN https://data.example/de/
    SPARQL https://data.example/sparql
    """
    if not url.startswith(("http://", "https://")):
        return
    start = url.index("/", url.index("//") + 2)
    path = url[start:].partition("?")[0]
    if _is_repository_path(path):
        yield "oaipmh", url
        return
    portal = portal_url(url)
    has_portal_path = len(portal) < len(url[:start] + path.rstrip("/"))
    yield Kind.CKAN, (portal if has_portal_path else url[:start]) + "/"
    is_endpoint = _is_endpoint_path(path)
    yield Kind.SPARQL, url if is_endpoint else f"{url[:start]}/sparql"


_MOST_SECS: Final = 30
_MOST_BYTES: Final = 1024 * 1024  # of a dump
_SETTINGS: Final = {
    "CLOSESPIDER_TIMEOUT": _MOST_SECS,
    "DUMP_MAXSIZE": _MOST_BYTES,
    "HOST_LAST_WAIT_SECS": 0,
    "RETRY_TIMES": 0,
    "VISIT_MAX_DOCUMENTS": 1,  # each choice knows the results of those before
}
_ARGUMENTS: Final = {
    "scope": "host",
    "harvest": "all",
    "follow": "abox,hyperlink",
    "max_per_host": "300",  # candidates, of which a few are requested
}


def look(
    process: CrawlerProcessBase, settings: BaseSettings, url: str, *, folder: Path
) -> SiteLook:
    """Look at a site; return the findings.

    Args:
        process: in which the site is read.
        settings: those of the look are set in them.
        url: of the site.
        folder: of temporary files.

    Raises:
        ConfigError: a setting is wrong.
        OSError: a disk cannot be read, or is full; or the crawl could not begin.
    """
    code, crawler = run_private_crawl(
        process,
        settings,
        LookSpider,
        {"seeds": url, **_ARGUMENTS},
        folder=folder,
        more=_SETTINGS,
    )
    spider, stats = cast("LookSpider", crawler.spider), crawler.stats
    if code == _REFUSED or stats is None:
        raise OSError("the site was not read")
    return read_look(
        folder / LookSpider.name,
        url,
        n_requests=int(stats.get_value("http/requests", 0)),
        delay_secs=spider.delay_secs,
        formats=_counts(stats, _FORMATS),
        reservations=_counts(stats, _RESERVATIONS),
        guesses=spider.guesses,
    )


def _counts(stats: StatsCollector, prefixes: Iterable[str]) -> dict[str, int]:
    """Return the statistics with some prefixes, without these."""
    return {
        name.removeprefix(prefix): int(number)
        for prefix in prefixes
        for name, number in stats.get_stats().items()
        if name.startswith(prefix)
    }
