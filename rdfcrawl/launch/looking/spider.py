"""The spider that looks at a site: a few requests to each kind of source it has."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.records import Kind, Record
from rdfcrawl.core.tasks import RevisitedPage
from rdfcrawl.downloader.client import HttpRequest
from rdfcrawl.spiders.base import RdfSpider

if TYPE_CHECKING:
    from scrapy.http import Response

    from rdfcrawl.core.visits import Visit

MOST_REQUESTS: Final = 8  # without those of robots.txt and redirects
_MOST_PAGES: Final = 4
_MOST_OF_FORM: Final = 2
_MOST_OF_SOURCES: Final = {Kind.SITEMAP: 3, Kind.RESOURCESYNC: 5}
_MOST_OF_SOURCE: Final = 2
_numbers: Final = re.compile(r"[0-9]+")


class LookSpider(RdfSpider):
    """Requests the front page, the sources of its site, and a few pages.

    Attributes:
        delay_secs: time between two requests to the host, as its rules and the settings
            demand.
    """

    name = "look"
    chooses_requests = True

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)
        self.delay_secs = 0.0
        self._chosen: set[Record] = set()
        self._n_chosen: Counter[object] = Counter()

    async def process_visit(self, response: Response) -> None:
        """Process the documents of a visit, and note the delay of the host."""
        visit: Visit = response.meta["visit"]
        self.delay_secs = max(self.delay_secs, visit.floor_secs or visit.delay_secs)
        await super().process_visit(response)

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
        if record.kind.is_source:
            limits[record.kind] = _MOST_OF_SOURCES.get(record.kind, _MOST_OF_SOURCE)
        elif record.kind is Kind.DUMP:
            limits[record.kind] = 0 if record.task else 1
        elif record.parent and not isinstance(record.task, RevisitedPage):
            limits[record.kind] = _MOST_PAGES
            limits[url_form(record.url)] = _MOST_OF_FORM
        if any(self._n_chosen[each] >= most for each, most in limits.items()):
            raise SourceFault(Reason.NOT_WANTED, "a look has no request left for it")
        self._n_chosen.update(limits.keys())


def url_form(url: str) -> str:
    """Return the form of a URL: its numbers and its last part may differ.

    >>> url_form("https://shop.example/p/12/lamp?page=3")
    'https://shop.example/p/0/'
    """
    path = url.partition("?")[0].rpartition("/")[0]
    return _numbers.sub("0", path) + "/"
