"""Where a redirect leads."""

from __future__ import annotations

from typing import Final

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.uri import BadUri, requestable

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
"""Statuses that name one other URI to ask (RFC 9110 15.4)."""


def resolve_redirect(base: str, location: str) -> str:
    """Return the URL to request for `Location` in an answer of `base`.

    Raises:
        SourceFault: `REDIRECT_BAD_TARGET`: none, no URL, or not http(s).

    >>> resolve_redirect("http://example.org/id/a", "../doc/a#it")
    'http://example.org/doc/a'
    """
    if not location:
        raise SourceFault(Reason.REDIRECT_BAD_TARGET, "no Location")
    try:
        return requestable(location, base)
    except BadUri as exc:
        raise SourceFault(Reason.REDIRECT_BAD_TARGET, exc.fault.detail) from exc
