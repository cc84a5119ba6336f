"""The receiving end of a connection, with bounds on everything but the body.

A server may send interim answers, header lines, chunks of one byte or trailers without
end. Each of them costs a turn of the parser: limits in time would come too late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from rdfcrawl.errors import Reason, SourceFault

if TYPE_CHECKING:
    import asyncio

# Of one answer, before anybody looks at what they bring.
FREE_BYTES: Final = 256 * 1024
# After that, at least one byte in so many must be of the body.
MOST_BYTES_PER_BYTE: Final = 4


class BoundedHandler(ResponseHandler):
    """aiohttp's protocol of one connection, which ends if nothing useful comes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._n_received = 0  # bytes of the answer, whatever they are

    def set_response_params(self, **params: Any) -> None:
        """See `ResponseHandler`: a request begins."""
        self._n_received = 0
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """See `ResponseHandler`."""
        super().data_received(data)
        self._n_received += len(data)
        if self._n_received > FREE_BYTES:
            self._look()

    def _look(self) -> None:
        payload = self._payload
        n_body = payload.total_bytes if payload is not None else 0
        if n_body * MOST_BYTES_PER_BYTE >= self._n_received:
            return
        what = "its chunks are too small" if n_body else "headers without an end"
        if payload is not None and not payload.is_eof():
            payload.set_exception(SourceFault(Reason.BAD_HTTP, what))
        self.set_exception(HttpProcessingError(code=400, message=what))
        if self.transport is not None:
            self.transport.abort()
