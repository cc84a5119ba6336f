"""The objects that views use, and messages after a redirect."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Final, NamedTuple

from rdfcrawl.monitor.page.crawl_access import CrawlAccess
from rdfcrawl.monitor.page.host_table import HostSweep
from rdfcrawl.monitor.page.moment_feed import MomentFeed
from rdfcrawl.monitor.page.options import PageOptions
from rdfcrawl.monitor.page.rendering import PageRenderer

_MOST: Final = 100


class PageContext(NamedTuple):
    """The objects that views use.

    Attributes:
        access: to the crawl.
        renderer: of values.
        options: of the page.
        feed: of moments.
        sweep: over all hosts of the frontier.
        messages: results of changes, for the next view.
    """

    access: CrawlAccess
    renderer: PageRenderer
    options: PageOptions
    feed: MomentFeed
    sweep: HostSweep
    messages: PageMessages


class PageMessages:
    """The latest messages, named in URLs, so that links cannot forge them."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def note(self, text: str) -> str:
        """Keep a message; return its name."""
        while len(self._texts) >= _MOST:
            del self._texts[next(iter(self._texts))]
        name = secrets.token_urlsafe(9)
        self._texts[name] = text
        return name

    def of(self, query: Mapping[str, str]) -> str:
        """Return the message that a query string names; empty if there is none."""
        return self._texts.get(query.get("message", ""), "")
