"""Scrapy's own handler of `http` and `https`, behind the guard."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

from scrapy.exceptions import CannotResolveHostError, IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.misc import build_from_crawler, load_object

from rdfcrawl.downloader.options import FetchOptions
from rdfcrawl.frontier.request_turns import (
    FREE,
    HostRestsError,
    NotSentError,
    SoloTurn,
    SoloTurns,
)
from rdfcrawl.uri.guard.gate import ConnectionGate, GuardBlocked
from rdfcrawl.uri.guard.policy import Guard, RefusalCause, literal_address

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector
    from twisted.internet.defer import Deferred


logger = logging.getLogger(__name__)

TURN: Final = "rdfcrawl_turn"  # in `meta`: the turn of a request
# The turn of the present request, and the address to connect to.
_connecting_for: Final[ContextVar[tuple[SoloTurn, str]]] = ContextVar(
    "connecting_for", default=(FREE, "")
)
_MAX_OTHERS: Final = 4  # kept connections to other addresses of a host


class GuardRefused(IgnoreRequest):
    """The guard refuses a request."""

    def __init__(self, blocked: GuardBlocked) -> None:
        super().__init__(blocked.detail)
        self.blocked = blocked


class TurnIsOver(IgnoreRequest):
    """The turn of a request was over before it could be sent."""


class ScrapyHttpHandler:
    """Scrapy's default handler, behind the guard.

    Args:
        crawler: its requests wait for their turns if it takes part in a crawl.
    """

    def __init__(self, handler: Any, gate: ConnectionGate, crawler: Crawler) -> None:
        self._handler = handler
        self._gate = gate
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the handler of a crawler.

        Raises:
            NotConfigured: the guard cannot check its connections.
        """
        from twisted.internet import reactor  # noqa: PLC0415  (it must be installed)
        from twisted.web.client import HTTPConnectionPool  # noqa: PLC0415  (see above)

        from rdfcrawl.uri.guard.twisted_names import install  # noqa: PLC0415  (see above)

        install(reactor)
        path = crawler.settings.getdict("DOWNLOAD_HANDLERS_BASE")["http"]
        handler: Any = build_from_crawler(load_object(path), crawler)
        pool = getattr(handler, "_pool", None)
        if not isinstance(pool, HTTPConnectionPool):  # others bypass the reactor
            raise NotConfigured(f"{path} would connect without the guard")
        # Twisted would reconnect without a check; the caller repeats the request in its
        # own turn.
        pool.retryAutomatically = False
        # Last check before a request is sent.
        handler._pool.getConnection = partial(_connection, pool.getConnection)  # noqa: SLF001
        gate = ConnectionGate(_guard_of(crawler), count=partial(_count, crawler.stats))
        return cls(handler, gate, crawler)

    async def download_request(self, request: Request) -> Response:
        """Send a request.

        Raises:
            GuardRefused: its destination is not allowed.
            TurnIsOver: the request was not sent.
        """
        turn = request.meta.get(TURN)
        if turn is not None:
            return await self._send(request, turn)
        if getattr(self._crawler.spider, "session", None) is None:
            return await self._send(request, FREE)
        return await self._send_in_turn(request)

    async def _send_in_turn(self, request: Request) -> Response:
        """Send a request outside of visits, such as one that a spider yields."""
        spider: Any = self._crawler.spider
        turns: SoloTurns = spider.request_turns()
        while True:
            try:
                turn = await turns.of_url(request.url)
            except HostRestsError as rest:
                raise IgnoreRequest(str(rest)) from rest
            if turn is None:
                raise IgnoreRequest("it got no turn")
            try:
                return await self._send(request, turn)
            except TurnIsOver:
                continue
            finally:
                turn.end()

    async def _send(self, request: Request, turn: SoloTurn) -> Response:
        # A proxy has its own address.
        address = "" if request.meta.get("proxy") else turn.address
        token = _connecting_for.set((turn, address))
        try:
            return await self._judged(request)
        except NotSentError as exc:
            raise TurnIsOver from exc
        finally:
            _connecting_for.reset(token)

    async def _judged(self, request: Request) -> Response:
        try:
            self._check(request.url)
            if request.meta.get("proxy"):
                # The proxy resolves names itself.
                self._check_confined(request.url)
                response: Response = await self._handler.download_request(request)
                return response
            return await self._download(request)
        except GuardBlocked as blocked:
            if request.callback is not NO_CALLBACK:  # otherwise not reported
                logger.error("%s: %s", request.url, blocked.detail)  # noqa: TRY400
            raise GuardRefused(blocked) from blocked

    async def _download(self, request: Request) -> Response:
        from rdfcrawl.uri.guard.twisted_names import judging  # noqa: PLC0415  (see above)

        with judging(self._gate, _connecting_for.get()[1]) as lookup:
            try:
                response: Response = await self._handler.download_request(request)
            except CannotResolveHostError:
                if lookup.blocked is not None and not lookup.n_allowed:
                    raise lookup.blocked from None
                raise
        return response

    def _check_confined(self, url: str) -> None:
        """Refuse names that are not resolved here and may lead anywhere."""
        host = urlsplit(url).hostname or ""
        if self._gate.guard.is_confined and not literal_address(host):
            raise self._gate.blocked(host, "", 0, RefusalCause.NO_CONTACT)

    def _check(self, url: str) -> None:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        self._gate.check_literal(parts.hostname or "", port)

    async def close(self) -> None:
        """Close the connections."""
        await self._handler.close()


def _connection(get: Callable[..., Deferred[Any]], *arguments: Any) -> Deferred[Any]:
    """Return the connection for a request, if its turn is still valid."""
    turn, address = _connecting_for.get()

    def use(connection: Any, n_others: int = 0) -> Any:
        is_other = address and connection.transport.getPeer().host != address
        if is_other and n_others < _MAX_OTHERS:
            connection.abort()  # a kept one, to another address of the host
            return get(*arguments).addCallback(use, n_others + 1)
        if not turn.is_good():
            connection.abort()
            raise NotSentError
        turn.sent()
        return connection

    return get(*arguments).addCallback(use)


def _count(stats: StatsCollector | None, why: RefusalCause) -> None:
    if stats is not None:
        stats.inc_value(f"guard/{why}")


def _guard_of(crawler: Crawler) -> Guard:
    """Return the guard of a crawl, which may be confined; else that of the settings."""
    fetch = getattr(getattr(crawler.spider, "options", None), "fetch", None)
    if isinstance(fetch, FetchOptions):
        return fetch.guard
    return Guard.from_settings(crawler.settings)
