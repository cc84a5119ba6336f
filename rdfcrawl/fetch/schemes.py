"""The way to each scheme that is crawled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.turns import FREE

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from rdfcrawl.fetch.answer import HttpClient, HttpResponse, RequestOptions
    from rdfcrawl.turns import SoloTurn


class SchemeExchange:
    """An exchange that leaves each URL to the one for its scheme.

    Args:
        web: for http and https, and for what no other is for.
        ftp: for ftp and ftps.
        requests: for those of users' spiders.
    """

    def __init__(
        self, web: HttpClient, ftp: HttpClient, requests: HttpClient | None = None
    ) -> None:
        self._web = web
        self._ftp = ftp
        self._requests = requests

    def get(
        self, url: str, ask: RequestOptions, turn: SoloTurn = FREE
    ) -> Awaitable[HttpResponse]:
        """See `HttpClient.get`."""
        if ask.request is not None and self._requests is not None:
            return self._requests.get(url, ask, turn)
        is_ftp = url.startswith(("ftp:", "ftps:"))
        return (self._ftp if is_ftp else self._web).get(url, ask, turn)
