"""`scrapy look`: show what a site publishes, and the command that crawls it."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rdfcrawl.core.console import fail, program, switch, write_lines
from rdfcrawl.core.messages import counted, escaped
from rdfcrawl.launch.private_crawls import PrivateCrawlCommand

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from rdfcrawl.launch.looking.findings import SiteDoor, SiteLook


class Command(PrivateCrawlCommand):
    """Look at a site by a few requests; 0: it has a way to data, 1: none was found."""

    synopsis = "[options] SITE"
    summary = "Show what a site publishes, and how to crawl it"
    options = (switch("--json", "write JSON"),)

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """Look; return 0 if there is a way to data, else 1."""
        from rdfcrawl.launch.looking.spider import look
        from rdfcrawl.uri.parse import named_url

        if len(args) != 1 or self.crawler_process is None:
            fail("look: name one site: a host, or a URL of it")
        url = named_url(args[0])
        with tempfile.TemporaryDirectory(prefix="look-") as folder:
            found = look(self.crawler_process, settings, url, folder=Path(folder))
        if opts.json:
            sys.stdout.write(f"{json.dumps(found.as_json())}\n")
        else:
            write_lines(*map(escaped, _lines(found)))
        return 0 if found.doors else 1


def _lines(found: SiteLook) -> Iterator[str]:
    """Yield the findings for people."""
    from rdfcrawl.monitor.page.query_examples import shortened

    requests = counted(found.requests, "request")
    yield f"site        {found.url}, by {requests}"
    yield f"robots.txt  {found.robots}; delay {found.delay_secs:g} s"
    for each in found.samples:
        statements = counted(each.statements, "statement")
        yield f"read        {each.url} ({each.result}): {statements}"
    if found.reservations:
        names = ", ".join(f"{x} {n:,}" for x, n in found.reservations.items())
        yield f"reserved    {names}"
    for name in ("formats", "classes", "properties"):
        numbers: Mapping[str, int] = getattr(found, name)
        if numbers:
            listed = ", ".join(f"{shortened(x)} {n:,}" for x, n in numbers.items())
            yield f"{name:11} {listed}"
    for door in found.doors:
        yield f"door        {_door(door)}"
    if found.doors:
        yield f"command     {program()} {found.doors[0].command}"
    elif found.has_responded:
        yield "no data was found: no source, and no page with statements"
        if found.n_unread:
            pages = counted(found.n_unread, "linked page")
            yield f"not read    {pages}: {program()} {found.command_for_links}"
    else:
        scheme, _, place = found.url.partition(":")
        other = f" (http:{place}?)" if scheme == "https" else ""
        yield f"the site did not respond: check its URL{other}, and try again later"


def _door(door: SiteDoor) -> str:
    if door.pages is None or door.secs is None:
        return f"{door.kind} {door.url}"
    pages = counted(door.pages, "page")
    return f"{door.kind} {door.url}: {pages}, {_duration(door.secs)}"


def _duration(secs: float) -> str:
    """Return a duration for people.

    >>> _duration(90)
    'at least 2 min'
    """
    for unit, length in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if secs >= length:
            return f"at least {secs / length:.0f} {unit}"
    return f"at least {secs:.0f} s"
