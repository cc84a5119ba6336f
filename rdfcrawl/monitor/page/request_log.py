"""What the server says of requests: of its own errors, not of those of visitors."""

from __future__ import annotations

import logging
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

_OF_VISITORS: Final = HttpProcessingError, web.RequestPayloadError


class _OwnErrors(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether an error is not that a request is no HTTP."""
        kind = record.exc_info[0] if record.exc_info else None
        return not (kind and issubclass(kind, _OF_VISITORS))


REQUEST_LOG: Final = logging.getLogger(__name__)
"""Logger of requests that fail; anybody can send what is no HTTP, at any rate."""
REQUEST_LOG.addFilter(_OwnErrors())
