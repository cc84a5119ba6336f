"""The download handlers: visits, and requests of Scrapy itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.http import Response

from rdfcrawl.core.visits import stop_visits
from rdfcrawl.downloader.services import close_services, services_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from rdfcrawl.downloader.http.scrapy_handler import ScrapyHttpHandler


class VisitHandler(BaseDownloadHandler):
    """Handle `visit://`: one request is one visit to one host.

    Results are in `response.meta["visit"]`.
    """

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


class HttpHandler:
    """Handle `http` and `https` by Scrapy's own handler, behind the guard.

    It is imported on first use, which takes long.
    """

    lazy = True

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ScrapyHttpHandler:
        """Return the handler of a crawler; see `ScrapyHttpHandler.from_crawler`."""
        from rdfcrawl.downloader.http.scrapy_handler import (  # noqa: PLC0415
            ScrapyHttpHandler,
        )

        return ScrapyHttpHandler.from_crawler(crawler)


class _IsTunnelError(type):
    def __instancecheck__(cls, error: object) -> bool:
        name = "scrapy.core.downloader.handlers.http11", "TunnelError"
        return name in (
            (each.__module__, each.__qualname__) for each in type(error).__mro__
        )


class TunnelError(Exception, metaclass=_IsTunnelError):
    """Stands for Scrapy's class: `RETRY_EXCEPTIONS` would import the handler."""
