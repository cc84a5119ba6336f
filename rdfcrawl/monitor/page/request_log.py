"""The log of the server: its own errors, not those of visitors."""

from __future__ import annotations

import logging
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

_OF_VISITORS: Final = HttpProcessingError, web.RequestPayloadError


class _OwnErrors(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether an error is other than malformed HTTP."""
        kind = record.exc_info[0] if record.exc_info else None
        return not (kind and issubclass(kind, _OF_VISITORS))


REQUEST_LOG: Final = logging.getLogger(__name__)
"""Logger of failed requests, without malformed ones, which any client can send."""
REQUEST_LOG.addFilter(_OwnErrors())
