"""The views of a crawl, and those of others, which are opened on the first visit."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import replace
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler
from scrapy.settings import BaseSettings

from rdfcrawl.monitor.page.context import PageContext, PageMessages
from rdfcrawl.monitor.page.crawl_access import CrawlAccess
from rdfcrawl.monitor.page.guarding import FormToken
from rdfcrawl.monitor.page.host_table import HostSweep
from rdfcrawl.monitor.page.moment_feed import MomentFeed
from rdfcrawl.monitor.page.options import PageOptions
from rdfcrawl.monitor.page.rendering import PageRenderer
from rdfcrawl.monitor.page.views import (
    classes,
    control,
    datasets,
    export,
    faults,
    graph,
    host,
    hosts,
    metrics,
    now,
    query,
    report,
    settings,
    uri,
)

_VIEWS: Final = (
    *(now, faults, hosts, host, control, uri, datasets, graph, query, report),
    *(classes, export, settings, metrics),
)
_MOST_OTHERS: Final = 8  # open at a time: each reads Redis once a second


class CrawlPage:
    """The views of one crawl.

    Args:
        access: to the crawl; the page opens and closes it.
        options: of the page.
        renderer: of its views.
    """

    def __init__(
        self, access: CrawlAccess, options: PageOptions, renderer: PageRenderer
    ) -> None:
        self._access = access
        self._feed, self._sweep = MomentFeed(access), HostSweep(access)
        context = PageContext(
            access=access,
            renderer=renderer,
            options=options,
            feed=self._feed,
            sweep=self._sweep,
            messages=PageMessages(),
        )
        self._handlers = dict[str, dict[str, Handler]]()
        for route in (route for view in _VIEWS for route in view.routes(context)):
            methods = self._handlers.setdefault(route.path, {})
            methods[route.method] = route.handler
            if route.kwargs.get("allow_head"):
                methods["HEAD"] = route.handler

    def handler(self, method: str, path: str) -> Handler | None:
        """Return the handler of a view; None if there is no such view.

        Raises:
            web.HTTPMethodNotAllowed: the view has other methods.
        """
        methods = self._handlers.get(path)
        if methods is None:
            return None
        if method not in methods:
            raise web.HTTPMethodNotAllowed(method, list(methods))
        return methods[method]

    async def open(self) -> None:
        """Connect, and start to read.

        Raises:
            ConfigError: Redis refuses, and will do so until a setting is changed.
        """
        await self._access.open()
        await self._feed.begin()
        await self._sweep.open()

    async def close(self) -> None:
        """Stop reading, and disconnect; open streams end."""
        await self._feed.end()
        await self._sweep.close()
        await self._access.close()


class CrawlPages:
    """The pages of all crawls that the settings reach.

    Eight at most are open, and that of the main crawl: the one visited least recently
    is closed.

    Attributes:
        main: the page of the crawl at the top; None: there is none.

    Args:
        settings: of the command.
        options: of the page.
        form_token: of forms.
        main: access to the crawl at the top; None: there is none.
    """

    def __init__(
        self,
        settings: BaseSettings,
        options: PageOptions,
        form_token: FormToken,
        main: CrawlAccess | None,
    ) -> None:
        self._settings = settings
        self._options = options
        self._form_token = form_token
        self._main_name = main.name if main else ""
        self.main = None if main is None else self._page_of(main, "")
        self._others = OrderedDict[str, CrawlPage]()
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Open the page of the main crawl."""
        if self.main is not None:
            await self.main.open()

    async def close(self) -> None:
        """Close all pages."""
        for page in (self.main, *self._others.values()):
            if page is not None:
                await page.close()

    async def of(self, name: str) -> CrawlPage:
        """Return the open page of a crawl.

        Raises:
            ConfigError: there is no such crawl.
        """
        if self.main is not None and name == self._main_name:
            return self.main
        if name not in self._others:  # else do not wait while another one is opened
            async with self._opening:
                if name not in self._others:
                    self._others[name] = await self._opened(name)
                while len(self._others) > _MOST_OTHERS:
                    _, oldest = self._others.popitem(last=False)
                    await oldest.close()
        self._others.move_to_end(name)
        return self._others[name]

    async def _opened(self, name: str) -> CrawlPage:
        named = self._settings.copy()
        named.set("CRAWL_ID", name, "cmdline")
        access = await asyncio.to_thread(CrawlAccess.of, named)
        page = self._page_of(access, f"/crawl/{name}")
        try:
            await page.open()
        except BaseException:
            await page.close()
            raise
        return page

    def _page_of(self, access: CrawlAccess, below: str) -> CrawlPage:
        options = replace(self._options, prefix=self._options.prefix + below)
        renderer = PageRenderer(
            options, access.name, self._form_token, top=self._options.prefix
        )
        return CrawlPage(access, options, renderer)
