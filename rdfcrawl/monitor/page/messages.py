"""Results of changes, shown after a redirect."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST: Final = 100


class PageMessages:
    """The latest messages, named in URLs, so that links cannot forge them."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def note(self, text: str) -> str:
        """Keep a message; return its name."""
        while len(self._texts) >= _MOST:
            del self._texts[next(iter(self._texts))]
        name = secrets.token_urlsafe(9)
        self._texts[name] = text
        return name

    def of(self, query: Mapping[str, str]) -> str:
        """Return the message that a query string names; empty if there is none."""
        return self._texts.get(query.get("message", ""), "")
