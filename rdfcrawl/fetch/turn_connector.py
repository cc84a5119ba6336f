"""Connections that requests are sent over in their turn, and at no other time."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

import aiohttp

from rdfcrawl.turns import FREE, NotSentError, Turn

if TYPE_CHECKING:
    from aiohttp import ClientRequest, ClientTimeout
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

# The request that is being made by this task.
connecting_for: Final[ContextVar[Turn]] = ContextVar("connecting_for", default=FREE)


class TurnConnector(aiohttp.TCPConnector):
    """Hands out a connection if the turn of its request is still good.

    Whoever gets it writes the request at once.
    """

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109  (aiohttp's)
    ) -> Connection:
        """See `aiohttp.BaseConnector.connect`.

        Raises:
            NotSentError: the turn is over.
        """
        connection = await super().connect(req, traces, timeout)
        turn = connecting_for.get()
        if not turn.is_good():
            connection.release()
            raise NotSentError
        turn.sent()
        return connection
