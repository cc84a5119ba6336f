"""Scans of large keys by pages, and the limit of one script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

_PAGE: Final = 1000
MAX_ADDED_UP: Final = 10_000
"""Hosts with work, leases, buckets and URIs that one script examines while workers
run: 4 to 10 us each, for which all other clients wait."""


async def pages_of(
    scan: Callable[..., Awaitable[Any]], name: str, *, match: str | None = None
) -> AsyncIterator[Any]:
    """Yield the content of a key, page by page, as `scan` of the client returns it."""
    cursor = 0
    while True:
        cursor, rows = await scan(name, cursor, match=match, count=_PAGE)
        yield rows
        if not cursor:
            return
