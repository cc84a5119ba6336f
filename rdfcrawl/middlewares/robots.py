"""robots.txt, for visits and for ordinary requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware

from rdfcrawl.fetch.robots_txt import RobotsFetch
from rdfcrawl.fetch.transport import transport_of
from rdfcrawl.robots.cache import RobotsCache, RobotsOptions
from rdfcrawl.robots.policy import PRODUCT_TOKEN

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class RobotsMiddleware(RobotsTxtMiddleware):
    """Strikes out the records of a visit that robots.txt disallows; sets its delay.

    Ordinary requests are treated as Scrapy treats them.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._rules: RobotsCache | None = None
        token = crawler.settings.get("ROBOTSTXT_USER_AGENT")
        self._agent = str(token) if token else PRODUCT_TOKEN

    async def process_request(self, request: Request, _spider: Any = None) -> None:
        """Apply robots.txt."""
        visit = request.meta.get("visit")
        if visit is None:
            await super().process_request(request)
            return
        if self._rules is None:
            visitor = transport_of(self.crawler).visitor
            options = visitor.options
            self._rules = RobotsCache(
                RobotsFetch(visitor.exchange, visitor.spool, options),
                RobotsOptions(
                    agent=self._agent,
                    put_off_secs=options.backoff_base_secs,
                    retry_times=options.retry_times,
                ),
                sleep=visitor.sleepers.sleep,
            )
        visit.delay_secs = await self._rules.apply(visit)
