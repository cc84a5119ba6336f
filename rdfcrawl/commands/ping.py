"""`scrapy ping`: notify a crawl of a changed sitemap, or accept such pings."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from rdfcrawl.core.console import (
    LOOPBACK,
    QuietCommand,
    fail,
    listening,
    stop_event,
    warn,
    write_lines,
)
from rdfcrawl.core.errors import hide_logins

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from rdfcrawl.monitor.pings.server import PingServer

_USAGE = 2  # exit code: wrong usage, or refused
_PORT = 6822


class Command(QuietCommand):
    """Pass sitemaps to a crawl, or serve an address for pings."""

    synopsis = "[options] URL... | serve"
    summary = "Have a crawl read a sitemap now, or serve pings of sites"
    options = (*listening(_PORT, action="serve"),)

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """Ping or serve; return 2 if a sitemap is refused."""
        if not args:
            fail("ping: give a sitemap: ping URL; or ping serve")
        if args == ["serve"]:
            asyncio.run(_serve(settings, opts))
            return 0
        if opts.address is not None or opts.port is not None:
            fail("ping: --address and --port belong to `ping serve`")
        return asyncio.run(_ping(settings, args))


async def _ping(settings: BaseSettings, urls: list[str]) -> int:
    from rdfcrawl.frontier.queue.inbox import PingLimits
    from rdfcrawl.monitor.pings.server import PingIntake

    intake = await PingIntake.open(settings)
    try:
        answers = [await intake.take(url, PingLimits()) for url in urls]
        is_running = (
            any(x.is_accepted for x in answers) and await intake.n_workers() > 0
        )
    finally:
        await intake.close()
    when = (
        "a worker reads it now" if is_running else "the next run of the crawl reads it"
    )
    for url, answer in zip(urls, answers, strict=True):
        if answer.is_accepted:
            sys.stdout.write(f"{hide_logins(url)}: {when}\n")
        else:
            why = f"crawl {intake.crawl_id}: {answer.detail or answer.text}"
            warn(hide_logins(f"ping {url}: {why}"))
    return 0 if all(answer.is_accepted for answer in answers) else _USAGE


async def _serve(settings: BaseSettings, opts: argparse.Namespace) -> None:
    """Serve until Ctrl-C is pressed."""
    from rdfcrawl.frontier.queue.inbox import PingLimits
    from rdfcrawl.monitor.pings.server import PingIntake, PingServer
    from rdfcrawl.uri import host_of_address

    limits = PingLimits.from_settings(settings)
    address = opts.address or LOOPBACK
    port = _PORT if opts.port is None else opts.port
    stopped = stop_event()
    intake = await PingIntake.open(settings)
    try:
        server = PingServer(intake, limits)
        try:
            bound = await server.open(address, port)
        except OSError as error:
            where = f"--address {address} --port {port}"
            fail(f"ping serve: {where}: {error.strerror or error}")
        where = f"http://{host_of_address(address)}:{bound}/ping?sitemap=URL"
        write_lines(f"pings for crawl {intake.crawl_id}: {where}")
        await stopped.wait()
        await server.close()
        write_lines(_summary(server))
    finally:
        await intake.close()


def _summary(server: PingServer) -> str:
    counts = [f"{n:,} x {status}" for status, n in sorted(server.counts.items())]
    return f"answered: {', '.join(counts) or 'nothing'}"
