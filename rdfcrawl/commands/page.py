"""`scrapy page`: serve the live page of a crawl."""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys

from scrapy.settings import BaseSettings

from rdfcrawl.core.console import (
    LOOPBACK,
    QuietCommand,
    fail,
    listening,
    option,
    stop_event,
    switch,
)
from rdfcrawl.core.errors import needed_by_operator

_PORT = 6824


class Command(QuietCommand):
    """Show a crawl, running or finished, in a browser."""

    synopsis = "[options]"
    summary = "Serve a page with the state and the content of a crawl"
    options = (
        *listening(
            _PORT,
            on_address="; others need a token, RDFCRAWL_PAGE_TOKEN in the environment",
            on_port=", or the next one that is free",
        ),
        option(
            "--prefix",
            "PATH",
            "of all paths, behind a proxy, as /crawl (none)",
            default="",
        ),
        switch(
            "--control", "let visitors steer the crawl: pause hosts, add seeds, stop it"
        ),
    )

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """Serve until Ctrl-C; return 0."""
        if args:
            fail(f"page: takes options only, not {args[0]}")
        asyncio.run(_serve(settings, opts))
        return 0


async def _serve(settings: BaseSettings, opts: argparse.Namespace) -> None:
    with needed_by_operator("page", "page"):
        from rdfcrawl.monitor.page.application import PageServer
    from rdfcrawl.monitor.page.crawl_access import CrawlAccess
    from rdfcrawl.monitor.page.known_crawls import crawls_in_folder
    from rdfcrawl.monitor.page.options import SOCKET, PageOptions, page_socket, url_of

    options = PageOptions.checked(
        address=opts.address or LOOPBACK,
        port=opts.port,
        prefix=opts.prefix,
        has_control=opts.control,
        environment=os.environ,
    )
    stopped = stop_event()
    given = settings.get(SOCKET)
    main = None
    if settings.get("CRAWL_ID") or len(crawls_in_folder(settings)) < 2:
        main = CrawlAccess.of(settings, is_awaited=given is not None)
    bound = socket.socket(fileno=int(given)) if given else page_socket(options)
    server = PageServer(settings, main, options)
    try:
        await server.serve(bound)
        if not given:  # the command that passed the socket has printed the URL
            about = f"crawl {main.name}" if main else "crawls"
            sys.stdout.write(f"{about}: {url_of(bound, options)}\n")
            sys.stdout.flush()
        await stopped.wait()
    finally:
        await server.close()
