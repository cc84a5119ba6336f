"""The contact of the operator in the `User-Agent`."""

from __future__ import annotations

import re
from typing import Final

# Pages of the software in default values: nobody there knows of the crawl.
SOFTWARE: Final = ("https://github.com/rdfcrawl/rdfcrawl", "https://scrapy.org")

# RFC 5321 4.5.3.1.1: at most 64 characters stand before the @.
_has_address = re.compile(
    r"[^\s@;,()<>]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE
).search
_has_page = re.compile(r"https?://[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE).search


def names_contact(user_agent: str) -> bool:
    """Return whether a `User-Agent` has a mail address, or the URL of a page.

    The URL of the software itself does not count.

    >>> names_contact("lab/1 (+https://lab.example.org)"), names_contact("lab/1")
    (True, False)
    """
    for page in SOFTWARE:
        user_agent = user_agent.replace(page, "")
    return bool(_has_address(user_agent) or _has_page(user_agent))
