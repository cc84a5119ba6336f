"""Crawls: all crawls of a folder and of its Redis, with links to their pages."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web
from scrapy.settings import BaseSettings

from rdfcrawl.monitor.page.known_crawls import (
    KnownCrawl,
    crawls_in_folder,
    crawls_in_redis,
)
from rdfcrawl.monitor.page.rendering import PageRenderer

_MOST: Final = 1000


class CrawlsView:
    """The list of crawls.

    Args:
        settings: of the command.
        main_name: of the crawl at the top; empty: there is none.
        renderer: of the list.
    """

    def __init__(
        self, settings: BaseSettings, main_name: str, renderer: PageRenderer
    ) -> None:
        self._settings = settings
        self._main_name = main_name
        self._renderer = renderer

    async def respond(self, request: web.Request) -> web.Response:
        """Respond with the list."""
        settings = self._settings
        in_folder = await asyncio.to_thread(crawls_in_folder, settings)
        found = {each.name: each for each in await crawls_in_redis(settings)}
        found |= {each.name: each for each in in_folder}
        known = sorted(found.values(), key=lambda each: (-each.written_ms, each.name))
        return self._renderer.respond(
            request,
            "crawls.html",
            crawls=[self._listed(each) for each in known[:_MOST]],
            n_more=max(0, len(known) - _MOST),
        )

    def _listed(self, crawl: KnownCrawl) -> dict[str, str | int]:
        """Return a crawl with the path of its page."""
        path = "/" if crawl.name == self._main_name else f"/crawl/{crawl.name}/"
        return crawl._asdict() | {"path": self._renderer.at(path)}
