"""Fetch robots.txt for the room that reads it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from rdfcrawl.bytesource import head_of
from rdfcrawl.errors import Reason
from rdfcrawl.fetch.answer import HttpClient, answer_in_turn
from rdfcrawl.fetch.retry_policy import parse_retry_after
from rdfcrawl.robots.cache import RobotsResponse
from rdfcrawl.robots.parser import MAX_ROBOTS_BYTES

if TYPE_CHECKING:
    from rdfcrawl.fetch.options import FetchOptions
    from rdfcrawl.fetch.spool import Spool
    from rdfcrawl.request_turns import Take


class RobotsFetch:
    """Fetch robots.txt by the client that fetches everything."""

    def __init__(
        self, exchange: HttpClient, spool: Spool, options: FetchOptions
    ) -> None:
        self._exchange = exchange
        self._spool = spool
        # One byte more than is parsed shows that the last line may be cut off.
        self._ask = options.ask_robots(MAX_ROBOTS_BYTES + 1)

    async def __call__(self, url: str, take: Take) -> RobotsResponse:
        """Fetch `url`; a longer text than is read is no fault."""
        answer = await answer_in_turn(
            partial(self._exchange.get, url, self._ask), partial(take, url)
        )
        body = head_of(answer, self._ask.max_bytes)  # in a file if memory was short
        self._spool.release(answer)
        is_whole = answer.fault is None or answer.fault.reason is Reason.TOO_LARGE
        return RobotsResponse(
            status=answer.status if is_whole or answer.status >= 300 else 0,
            body=body,
            location=answer.location,
            retry_after_secs=parse_retry_after(answer.retry_after, datetime.now(UTC)),
            fault=None if is_whole else answer.fault,
            is_unasked=answer.is_own_fault,
        )
