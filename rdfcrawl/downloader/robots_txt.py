"""Fetch robots.txt for the robots cache."""

from __future__ import annotations

import errno
from collections import OrderedDict
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.bytesource import head_of
from rdfcrawl.core.clock import now_ms
from rdfcrawl.core.errors import Reason
from rdfcrawl.downloader.answer import HttpClient, answer_in_turn
from rdfcrawl.downloader.retry_policy import parse_retry_after
from rdfcrawl.downloader.robots.answers import RobotsResponse
from rdfcrawl.downloader.robots.cache import ROBOTS_PATH
from rdfcrawl.downloader.robots.parser import MAX_ROBOTS_BYTES

if TYPE_CHECKING:
    from rdfcrawl.downloader.answer import HttpResponse
    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.downloader.spool import Spool
    from rdfcrawl.frontier.request_turns import Take

_ABSENT: Final = (404, 410)
_MAX_ANSWERS: Final = 64
_MAX_BYTES: Final = 16 * 1024
_KEPT_MS: Final = 600_000


class FetchedRobots:
    """Recently fetched robots.txt files, which harvesters also read.

    Each response is handed out once, to save a second request; long, redirected or
    failed ones are requested again.
    """

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._answers: OrderedDict[str, HttpResponse] = OrderedDict()

    def note(self, url: str, answer: HttpResponse, started_ms: int) -> None:
        """Keep a response, before its body is released."""
        is_whole = answer.status == 200 and answer.fault is None
        if not url.endswith(ROBOTS_PATH) or answer.path is not None:
            return
        if (is_whole or answer.status in _ABSENT) and answer.n_bytes <= _MAX_BYTES:
            self._answers[url] = replace(answer, started_ms=started_ms)
            self._answers.move_to_end(url)
            if len(self._answers) > _MAX_ANSWERS:
                self._answers.popitem(last=False)

    def take(self, url: str) -> HttpResponse | None:
        """Return the response for a URL, with its body in the memory of the spool."""
        answer = self._answers.pop(url, None)
        if answer is None or now_ms() - answer.started_ms > _KEPT_MS:
            return None
        self._spool.memory_bytes += len(answer.body or b"")
        return answer


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
        self._ask = options.ask_robots(MAX_ROBOTS_BYTES + 1)

    async def __call__(self, url: str, take: Take) -> RobotsResponse:
        """Fetch `url`; a longer text is truncated without a fault."""
        started_ms = now_ms()
        answer = await answer_in_turn(
            partial(self._exchange.get, url, self._ask), partial(take, url)
        )
        body = head_of(answer, self._ask.max_bytes)  # in a file if memory was short
        if self._fetched is not None:
            self._fetched.note(url, answer, started_ms)
        self._spool.release(answer)
        is_whole = answer.fault is None or answer.fault.reason is Reason.TOO_LARGE
        return RobotsResponse(
            status=answer.status if is_whole or answer.status >= 300 else 0,
            body=body,
            location=answer.location,
            retry_after_secs=parse_retry_after(answer.retry_after, datetime.now(UTC)),
            fault=None if is_whole else answer.fault,
            is_connection_refused=answer.errno == errno.ECONNREFUSED,
            is_unasked=answer.is_own_fault,
        )
