"""Requests from pages of other sites, which cannot see the response but cause work."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import web


def is_foreign(request: web.Request) -> bool:
    """Return whether a page of another site has led to a request.

    Browsers say so in `Sec-Fetch-Site`. Slow work is refused then: otherwise a link or
    an
    image elsewhere could load this machine.
    """
    return request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")
