"""The objects that views use."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rdfcrawl.monitor.page.crawl_access import CrawlAccess
    from rdfcrawl.monitor.page.host_sweep import HostSweep
    from rdfcrawl.monitor.page.messages import PageMessages
    from rdfcrawl.monitor.page.moment_feed import MomentFeed
    from rdfcrawl.monitor.page.options import PageOptions
    from rdfcrawl.monitor.page.rendering import PageRenderer


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
