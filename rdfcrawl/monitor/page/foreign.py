"""Requests that another site has a browser send: blind, but not without effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import web


def is_foreign(request: web.Request) -> bool:
    """Return whether the page of another site has led to a request.

    Browsers say so in `Sec-Fetch-Site`. What takes long is not begun then: a link or an
    image elsewhere could have this machine work.
    """
    return request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")
