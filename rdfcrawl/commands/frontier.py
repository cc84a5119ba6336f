"""`scrapy frontier`: inspect a running crawl, and steer its hosts."""

from __future__ import annotations

import argparse
import asyncio
import sys

from scrapy.settings import BaseSettings

from rdfcrawl.core.console import (
    LOOPBACK,
    QuietCommand,
    fail,
    listening,
    number,
    option,
    stop_event,
    switch,
)
from rdfcrawl.core.errors import ConfigError, needed_by_operator

_ACTIONS = (
    *("status", "hosts", "host HOST", "pause HOST", "resume HOST", "drop HOST"),
    *("set-delay HOST SECS", "set-budget HOST URIS", "check"),
    *("uri URI", "add URI...", "dead list|retry|drop", "forget CRAWL"),
    *("drain WORKER", "export FILE", "import FILE|KEY", "exporter"),
)
_EXPORTER = "exporter"
_PORT = 6823
_OPTIONS = (
    switch("--json", "write JSON"),
    switch("--all", "of status: list all crawls in Redis"),
    switch("--partitions", "of status: a line for each partition"),
    option(
        "--sort",
        "BY",
        "of hosts: queue (the longest first), delay, next, failures, accepted or name",
        default="queue",
    ),
    switch("--reverse", "of hosts: reverse the order"),
    option(
        "--phase",
        "PHASE",
        "of hosts: only ready, leased, refusing, paused or idle ones",
    ),
    option(
        "--below", "DOMAIN", "of hosts: only this domain and hosts below it", default=""
    ),
    switch("--repair", "of check: repair damage"),
    option(
        "--spider",
        "NAME",
        "of add, import KEY: spider of the seeds (the first by default)",
        default="",
    ),
    switch("--failed", "of dead: URIs that were given up because their hosts failed"),
    number(
        "--most",
        "N",
        "limit of listed hosts (20), URIs of a host (10), dead (1000)",
        least=1,
        most=100_000,
    ),
    *listening(_PORT, action=_EXPORTER),
)


class Command(QuietCommand):
    """Read and steer the frontier of a crawl, with or without running workers."""

    synopsis = "[options] ACTION [ARGUMENT]..."
    summary = "Show the state of a crawl; pause hosts, check or move its frontier"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        super().add_options(parser)
        group = parser.add_argument_group("frontier", f"actions: {', '.join(_ACTIONS)}")
        for declare in _OPTIONS:
            declare(group)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Do one action; exit with 2 on errors of the operator."""
        if self.settings is None:
            return
        if not args:
            fail(f"frontier: choose an action: {', '.join(_ACTIONS)}")
        try:
            if args == [_EXPORTER]:
                asyncio.run(_export(self.settings, opts))
                return
            from rdfcrawl.monitor.operating.actions import run_action

            self.exitcode = asyncio.run(
                run_action(self.settings, args, opts, sys.stdout.write)
            )
        except ConfigError as error:
            fail(f"frontier {args[0]}: {error}")
        except OSError as error:
            fail(f"frontier {args[0]}: {error}")


async def _export(settings: BaseSettings, opts: argparse.Namespace) -> None:
    """Serve metrics until Ctrl-C is pressed."""
    with needed_by_operator("metrics", "frontier exporter"):
        from rdfcrawl.monitor.metrics.exporter import PATH, MetricsExporter
    from rdfcrawl.uri import host_of_address

    stopped = stop_event()
    exporter = await MetricsExporter.open(settings)
    address = opts.address or LOOPBACK
    port = _PORT if opts.port is None else opts.port
    try:
        bound = await exporter.listen(address, port)
        sys.stdout.write(f"metrics: http://{host_of_address(address)}:{bound}{PATH}\n")
        sys.stdout.flush()
        await stopped.wait()
    except OSError as error:
        where = f"--address {address} --port {port}"
        raise ConfigError(f"{where}: {error.strerror or error}") from error
    finally:
        await exporter.close()
