"""Fetch robots.txt for the robots cache."""

from __future__ import annotations

import errno
from collections import OrderedDict
from dataclasses import replace
from functools import partial
from typing import Final

from rdfcrawl.core.content import head_of
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.times import now_ms, parse_retry_after
from rdfcrawl.downloader.client import HttpClient, HttpResponse, response_in_turn
from rdfcrawl.downloader.options import FetchOptions
from rdfcrawl.downloader.robots.cache import ROBOTS_PATH
from rdfcrawl.downloader.robots.parser import MAX_ROBOTS_BYTES
from rdfcrawl.downloader.robots.policy import RobotsResponse
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.frontier.request_turns import Take

_ABSENT: Final = (404, 410)
_MAX_RESPONSES: Final = 64
_MAX_BYTES: Final = 16 * 1024
_KEPT_MS: Final = 600_000


class FetchedRobots:
    """Recently fetched robots.txt files, which harvesters also read.

    Each response is handed out once, to save a second request; long, redirected or
    failed ones are requested again.
    """

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._responses: OrderedDict[str, HttpResponse] = OrderedDict()

    def note(self, url: str, response: HttpResponse, started_ms: int) -> None:
        """Keep a response, before its body is released."""
        is_whole = response.status == 200 and response.fault is None
        if not url.endswith(ROBOTS_PATH) or response.path is not None:
            return
        if (is_whole or response.status in _ABSENT) and response.n_bytes <= _MAX_BYTES:
            self._responses[url] = replace(response, started_ms=started_ms)
            self._responses.move_to_end(url)
            if len(self._responses) > _MAX_RESPONSES:
                self._responses.popitem(last=False)

    def take(self, url: str) -> HttpResponse | None:
        """Return the response for a URL, with its body in the memory of the spool."""
        response = self._responses.pop(url, None)
        if response is None or now_ms() - response.started_ms > _KEPT_MS:
            return None
        self._spool.memory_bytes += len(response.body or b"")
        return response


class RobotsFetch:
    """Fetch robots.txt by the client that fetches everything.

    Responses are passed to `fetched`.
    """

    def __init__(
        self,
        exchange: HttpClient,
        spool: Spool,
        options: FetchOptions,
        fetched: FetchedRobots | None = None,
    ) -> None:
        self._fetched = fetched
        self._exchange = exchange
        self._spool = spool
        # One byte beyond the parsed size reveals a truncated last line.
        self._options = options.robots_options(MAX_ROBOTS_BYTES + 1)

    async def __call__(self, url: str, take: Take) -> RobotsResponse:
        """Fetch `url`; a longer text is truncated without a fault."""
        started_ms = now_ms()
        response = await response_in_turn(
            partial(self._exchange.get, url, self._options), partial(take, url)
        )
        body = head_of(
            response, self._options.max_bytes
        )  # in a file if memory was short
        if self._fetched is not None:
            self._fetched.note(url, response, started_ms)
        self._spool.release(response)
        is_whole = response.fault is None or response.fault.reason is Reason.TOO_LARGE
        return RobotsResponse(
            status=response.status if is_whole or response.status >= 300 else 0,
            body=body,
            location=response.location,
            retry_after_secs=parse_retry_after(response.retry_after),
            fault=None if is_whole else response.fault,
            is_connection_refused=response.errno == errno.ECONNREFUSED,
            is_unsent=response.is_local_failure,
        )
