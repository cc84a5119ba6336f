"""Scrapy's own handler of `http` and `https`, imported when a request needs it.

A crawl makes visits and needs none, and the import takes as long as all of aiohttp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from scrapy.utils.misc import build_from_crawler, load_object

if TYPE_CHECKING:
    from scrapy.core.downloader.handlers import DownloadHandlerProtocol
    from scrapy.crawler import Crawler


class ScrapyHttpHandler:
    """Stands for what Scrapy would take, and gives it when it is made."""

    lazy = True

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DownloadHandlerProtocol:
        """Return Scrapy's handler."""
        path = crawler.settings.getdict("DOWNLOAD_HANDLERS_BASE")["http"]
        handler: Any = build_from_crawler(load_object(path), crawler)
        return cast("DownloadHandlerProtocol", handler)


class _IsTunnelError(type):
    def __instancecheck__(cls, error: object) -> bool:
        name = "scrapy.core.downloader.handlers.http11", "TunnelError"
        return name in (
            (each.__module__, each.__qualname__) for each in type(error).__mro__
        )


class TunnelError(Exception, metaclass=_IsTunnelError):
    """Stands for Scrapy's, which `RETRY_EXCEPTIONS` would import the handler for."""
