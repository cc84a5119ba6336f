"""Time until which a response is declared not to change (RFC 8246)."""

from __future__ import annotations

import re
from typing import Final

_IMMUTABLE: Final = re.compile(r"(?:\A|[\s,])immutable(?=[\s,]|\Z)", re.IGNORECASE)
_MAX_AGE: Final = re.compile(
    r"(?:\A|[\s,])max-age\s*=\s*\"?([0-9]{1,18})", re.IGNORECASE
)
_MOST_SECS: Final = 10 * 366 * 86_400


def immutable_until_ms(cache_control: str, at_ms: int) -> int | None:
    """Return the time until which a response is immutable, Unix time in ms.

    None: `Cache-Control` has no `immutable`, or no lifetime (RFC 8246 section 2).
    Lifetimes are limited to ten years.

    >>> immutable_until_ms("public, max-age=60, immutable", 1_000_000)
    1060000
    >>> immutable_until_ms("max-age=60", 0)
    """
    age = _MAX_AGE.search(cache_control) if cache_control else None
    if age is None or _IMMUTABLE.search(cache_control) is None:
        return None
    return at_ms + min(int(age[1]), _MOST_SECS) * 1000
