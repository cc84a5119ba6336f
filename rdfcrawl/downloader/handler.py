"""The download handler of `visit://`: one request is one visit to one host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.http import Response

from rdfcrawl.core.visits import stop_visits
from rdfcrawl.downloader.services import close_services, services_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class VisitHandler(BaseDownloadHandler):
    """Make visits; results are in `response.meta["visit"]`."""

    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawler.signals.connect(self._stop, stop_visits)

    async def download_request(self, request: Request) -> Response:
        """Make a visit; failures on the web never raise."""
        visit = request.meta["visit"]
        if visit.pending:
            with visit.cuttable():
                await services_of(self.crawler).visitor.visit(visit)
        return Response(request.url, request=request)

    async def close(self) -> None:
        """Close connections and spool."""
        await close_services(self.crawler)

    def _stop(self) -> None:
        services_of(self.crawler).visitor.stop()
