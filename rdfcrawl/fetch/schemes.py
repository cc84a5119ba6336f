"""The way to each scheme that is crawled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.turns import FREE

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from rdfcrawl.fetch.answer import Answer, Ask, Exchange
    from rdfcrawl.turns import Turn


class SchemeExchange:
    """An exchange that leaves each URL to the one for its scheme.

    Args:
        web: for http and https, and for what no other is for.
        ftp: for ftp and ftps.
        requests: for those of users' spiders.
    """

    def __init__(
        self, web: Exchange, ftp: Exchange, requests: Exchange | None = None
    ) -> None:
        self._web = web
        self._ftp = ftp
        self._requests = requests

    def get(self, url: str, ask: Ask, turn: Turn = FREE) -> Awaitable[Answer]:
        """See `Exchange.get`."""
        if ask.request is not None and self._requests is not None:
            return self._requests.get(url, ask, turn)
        is_ftp = url.startswith(("ftp:", "ftps:"))
        return (self._ftp if is_ftp else self._web).get(url, ask, turn)
