"""Large keys, page by page, and how much one script looks at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

_PAGE: Final = 1000
MAX_ADDED_UP: Final = 10_000
"""Hosts with work, leases, buckets and URIs that one script looks at beside workers: 4
to 10 us each, for which all others wait."""


async def pages_of(
    scan: Callable[..., Awaitable[Any]], name: str, *, match: str | None = None
) -> AsyncIterator[Any]:
    """Yield what a key holds, page by page, as `scan` of the client returns it."""
    cursor = 0
    while True:
        cursor, rows = await scan(name, cursor, match=match, count=_PAGE)
        yield rows
        if not cursor:
            return
