"""robots.txt, for visits and for ordinary requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware

from rdfcrawl.downloader.services import services_of

if TYPE_CHECKING:
    from scrapy import Request


class RobotsMiddleware(RobotsTxtMiddleware):
    """Strikes out the records of a visit that robots.txt disallows; sets its delay.

    Ordinary requests are treated as Scrapy treats them.
    """

    async def process_request(self, request: Request, _spider: Any = None) -> None:
        """Apply robots.txt."""
        visit = request.meta.get("visit")
        if visit is None:
            await super().process_request(request)
            return
        robots = services_of(self.crawler).robots
        if robots is not None:
            with visit.cuttable():
                visit.delay_secs = await robots.apply(visit)
            if visit.is_cut:
                visit.give_back()
