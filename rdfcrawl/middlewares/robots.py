"""robots.txt (RFC 9309), for visits and for the requests of any Scrapy spider."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest, NotConfigured, StopDownload
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import is_asyncio_available

from rdfcrawl.core.errors import ConfigError, Fault, Reason
from rdfcrawl.core.times import parse_retry_after
from rdfcrawl.downloader.robots.cache import RobotsCache, RobotsOptions
from rdfcrawl.downloader.robots.parser import MAX_ROBOTS_BYTES
from rdfcrawl.downloader.robots.policy import RobotsResponse, RobotsSettings
from rdfcrawl.uri import BadUri, is_of_web, requestable
from rdfcrawl.uri.guard.gate import GuardBlocked
from rdfcrawl.uri.hosts import origin_of
from rdfcrawl.uri.parse import MAX_INPUT_CHARS

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.queue.host_rules import RulesKeeper
    from rdfcrawl.frontier.request_turns import Take
    from rdfcrawl.middlewares.shared_rules import SharedRules

logger = logging.getLogger(__name__)

_TEXT: Final = "rdfcrawl_robots_txt"
_MAX_UNPACKED_BYTES: Final = 16 * 1024 * 1024
_META: Final = {
    "dont_obey_robotstxt": True,
    "dont_redirect": True,  # the cache follows redirects (RFC 9309 2.3.1.2)
    "handle_httpstatus_all": True,
    "allow_offsite": True,
    "download_maxsize": _MAX_UNPACKED_BYTES,
}
_COUNTED: Final = {
    Reason.ROBOTS_DISALLOWED: "robotstxt/forbidden",  # like in Scrapy's middleware
    Reason.ROBOTS_UNREACHABLE: "robotstxt/unreachable",
    Reason.CRAWL_DELAY_TOO_LONG: "robotstxt/crawl_delay_too_long",
}


class RobotsMiddleware:
    """A downloader middleware that drops requests that robots.txt disallows.

    It obeys RFC 9309 and `Crawl-delay` in any Scrapy project, in place of Scrapy's
    `RobotsTxtMiddleware`. All processes that have the same Redis in their settings
    share the rules; without Redis, each process keeps its own. From visits of our
    spiders it removes the disallowed records, and sets the delay of the host.

    Raises:
        NotConfigured: `ROBOTSTXT_OBEY` is off.
        ConfigError: the reactor is not that of asyncio, or `ROBOTSTXT_CRAWL_DELAY` is
            wrong.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        if not is_asyncio_available():
            raise ConfigError("TWISTED_REACTOR: RobotsMiddleware needs that of asyncio")
        self._crawler = crawler
        self._obeys_delay = _obeys_delay(crawler)
        self._shared: SharedRules | None = None
        self._opening: asyncio.Task[RobotsCache] | None = None
        crawler.signals.connect(self.close, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of a crawler."""
        return cls(crawler)

    async def process_request(self, request: Request, _spider: Any = None) -> None:
        """Apply robots.txt.

        Raises:
            IgnoreRequest: it disallows the request, or cannot be read (2.3.1.4).
        """
        visit = request.meta.get("visit")
        if visit is not None:
            await self._apply(visit)
        elif not request.meta.get("dont_obey_robotstxt"):
            await self._check(request)

    async def close(self) -> None:
        """Close the connection to Redis."""
        if self._opening is not None:
            await (await self._opening).close()
        if self._shared is not None:
            await self._shared.close()

    async def _apply(self, visit: Visit) -> None:
        from rdfcrawl.downloader.services import services_of

        robots = services_of(self._crawler).robots
        if robots is not None:
            with visit.cuttable():
                visit.delay_secs = await robots.apply(visit)
            if visit.is_cut:
                visit.give_back()

    async def _check(self, request: Request) -> None:
        if not is_of_web(request.url[:8].lower()):
            return
        try:
            url = requestable(request.url, max_chars=MAX_INPUT_CHARS)
        except BadUri as error:
            raise IgnoreRequest(str(error)) from error
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
        robots = await self._opening
        rules = await robots.rules(origin_of(url))
        if isinstance(rules, list):
            if rules[0].reason is Reason.GUARD_BLOCKED:
                return  # the request itself is refused, with its own message
            self._refuse(request, rules[0])
        if fault := robots.refusal(rules, url):
            self._refuse(request, fault)
        if delay_secs := robots.delay_of(rules):
            self._keep_delay(request, delay_secs)

    def _refuse(self, request: Request, fault: Fault) -> NoReturn:
        what = f"{fault.reason} {fault.detail}".rstrip()
        logger.debug("%s: %s", request, what, extra={"spider": self._crawler.spider})
        self._count(_COUNTED.get(fault.reason, f"robotstxt/{fault.reason}"))
        if fault.reason is Reason.ROBOTS_DISALLOWED:
            raise IgnoreRequest("Forbidden by robots.txt")
        raise IgnoreRequest(what)

    def _keep_delay(self, request: Request, secs: float) -> None:
        """Make Scrapy's downloader keep a delay for the host of a request."""
        engine: Any = self._crawler.engine
        downloader = engine.downloader
        key = downloader.get_slot_key(request)
        slot = downloader.slots.get(key)
        if slot is None:
            usual = {"delay": self._crawler.settings.getfloat("DOWNLOAD_DELAY")}
            given = usual | downloader.per_slot_settings.get(key, {})
            exact = {"delay": max(secs, given["delay"]), "jitter": 0.0}
            downloader.per_slot_settings[key] = given | exact
        elif slot.delay * (1 - slot.jitter) < secs:
            slot.delay, slot.jitter = max(secs, slot.delay), 0.0

    async def _open(self) -> RobotsCache:
        settings = self._crawler.settings
        agent = settings.get("ROBOTSTXT_USER_AGENT") or settings.get("USER_AGENT")
        options = RobotsOptions(agent=str(agent), obeys_delay=self._obeys_delay)
        try:
            keeper = await self._keeper()
        except ConfigError as error:  # as if Redis were unreachable
            logger.error("robots.txt is not shared: %s", error)  # noqa: TRY400 (one line)
            keeper = None
        return RobotsCache(self._fetch, options, keeper=keeper, count=self._count)

    async def _keeper(self) -> RulesKeeper | None:
        settings = self._crawler.settings
        session = getattr(self._crawler.spider, "session", None)
        from rdfcrawl.frontier.redis.address import named_redis

        if not session and named_redis(settings) is None:
            return None
        from rdfcrawl.middlewares.shared_rules import SharedRules

        self._shared = await SharedRules.open(settings, session)
        return self._shared.keeper

    async def _fetch(self, url: str, _take: Take) -> RobotsResponse:
        """Fetch one URL by Scrapy's downloader."""
        received: list[int] = []

        def stop(data: bytes, request: Request) -> None:
            if request.meta.get(_TEXT) is received:
                received.append(len(data))
                if sum(received) > MAX_ROBOTS_BYTES:
                    raise StopDownload(fail=False)

        sent = Request(
            url,
            callback=NO_CALLBACK,
            headers={"Accept-Encoding": "identity"},  # a truncated text stays readable
            meta={**_META, _TEXT: received},
            priority=1000,
        )
        engine: Any = self._crawler.engine
        self._crawler.signals.connect(stop, signals.bytes_received)
        try:
            response = await engine.download_async(sent)
        except Exception as error:
            if isinstance(getattr(error, "blocked", None), GuardBlocked):
                fault = Fault(Reason.GUARD_BLOCKED, str(error))
                return RobotsResponse(status=0, fault=fault)
            logger.warning("%s: %s", url, error or type(error).__name__)
            return RobotsResponse(status=0)
        finally:
            self._crawler.signals.disconnect(stop, signals.bytes_received)
        header = response.headers.get
        retry_after = (header(b"Retry-After") or b"").decode("latin-1")
        return RobotsResponse(
            status=response.status,
            body=response.body,
            location=(header(b"Location") or b"").decode("latin-1"),
            retry_after_secs=parse_retry_after(retry_after),
        )

    def _count(self, name: str) -> None:
        if self._crawler.stats is not None:
            self._crawler.stats.inc_value(name)


def _obeys_delay(crawler: Crawler) -> bool:
    """Return `ROBOTSTXT_CRAWL_DELAY`, which our spiders have read already."""
    known = getattr(getattr(crawler.spider, "options", None), "robots", None)
    if isinstance(known, RobotsSettings):
        return known.obeys_delay
    return bool(RobotsSettings.one(crawler.settings, "obeys_delay"))
