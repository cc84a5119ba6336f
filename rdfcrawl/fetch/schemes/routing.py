"""The exchange of each scheme."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.errors import Fault, Reason
from rdfcrawl.fetch.answer import HttpResponse
from rdfcrawl.request_turns import FREE
from rdfcrawl.uri.schemes import scheme_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from rdfcrawl.fetch.answer import HttpClient, RequestOptions
    from rdfcrawl.request_turns import SoloTurn


class SchemeExchange:
    """A client that passes each request to the client of the scheme.

    Args:
        requests: for those of users' spiders.
        fetchers: for the schemes of the user's.
        own: these schemes.
    """

    def __init__(
        self,
        web: HttpClient,
        ftp: HttpClient,
        requests: HttpClient | None = None,
        fetchers: HttpClient | None = None,
        own: Iterable[str] = (),
    ) -> None:
        self._of = {"http": web, "https": web, "ftp": ftp, "ftps": ftp}
        if fetchers is not None:
            self._of |= dict.fromkeys(own, fetchers)
        self._requests = requests

    def get(
        self, url: str, ask: RequestOptions, turn: SoloTurn = FREE
    ) -> Awaitable[HttpResponse]:
        """See `HttpClient.get`."""
        if ask.request is not None and self._requests is not None:
            return self._requests.get(url, ask, turn)
        exchange = self._of.get(scheme_of(url))
        return _unknown(url) if exchange is None else exchange.get(url, ask, turn)


async def _unknown(url: str) -> HttpResponse:
    """Return the answer for a scheme that another worker may know."""
    detail = f"FETCH_SCHEMES has no {scheme_of(url)!r} here"
    return HttpResponse(fault=Fault(Reason.BAD_URI, detail))
