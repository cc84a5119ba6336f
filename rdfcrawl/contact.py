"""Whether those who are crawled are told how to reach the one who crawls."""

from __future__ import annotations

import re
from typing import Final

PROJECT: Final = "https://github.com/rdfcrawl/rdfcrawl"  # knows nothing of the crawl

_has_address = re.compile(
    r"[^\s@;,()<>]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE
).search
_has_page = re.compile(r"https?://[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE).search


def names_contact(user_agent: str) -> bool:
    """Tell whether a `User-Agent` has a mail address, or the URL of a page.

    That of the software itself does not count.

    >>> names_contact("lab/1 (+https://lab.example.org)"), names_contact("lab/1")
    (True, False)
    """
    own = user_agent.replace(PROJECT, "")
    return bool(_has_address(own) or _has_page(own))
