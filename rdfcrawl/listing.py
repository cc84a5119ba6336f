"""What a sitemap has said about a page that it lists, in the page's record.

There is one for each page that waits, so that it is short: `s0.8 1790000000`.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Self

_TEXT = re.compile(r"s([01](?:\.[0-9]+)?) ([0-9]{1,12})").fullmatch


class Listing(NamedTuple):
    """What a sitemap says about a page.

    Attributes:
        priority: 0 to 1.
        listed: when the sitemap that lists it was fetched, Unix time in seconds.
    """

    priority: float
    listed: int

    def encode(self) -> str:
        """Return it as the task of a record."""
        priority = f"{min(max(self.priority, 0.0), 1.0):.4f}".rstrip("0").rstrip(".")
        return f"s{priority} {self.listed}"

    @classmethod
    def decode(cls, task: str) -> Self | None:
        """Return what `encode` gave; None if a task says something else.

        >>> Listing.decode("s0.8 1790000000")
        Listing(priority=0.8, listed=1790000000)
        """
        found = _TEXT(task)
        return cls(float(found[1]), int(found[2])) if found else None
