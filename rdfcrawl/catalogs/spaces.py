"""URI spaces of datasets, as prefixes of URLs that need not be crawled.

Source: VoID (W3C Note 2011) section 4.2.
"""

from __future__ import annotations

import re
from typing import Final

_is_prefix = re.compile(r"https?://[^/\x00-\x20<>\"]+/[^\x00-\x20<>\"#]*").fullmatch
_ALL: Final = re.compile(r"\(?\.[*+]\)?\$?\Z")  # what follows does not matter
_SPECIAL: Final = re.compile(r"[\[\](){}*+?|^$]")
_escaped = re.compile(r"\\(.)").sub


def space_of(text: str) -> str:
    """Return the prefix that `void:uriSpace` states; empty if it is not usable.

    A prefix without a path would include other hosts.
    """
    return text if _is_prefix(text) else ""


def space_of_pattern(pattern: str) -> str:
    r"""Return the prefix that `void:uriRegexPattern` means; empty for other patterns.

    >>> space_of_pattern(r"^http://a\.example/r/.*")
    'http://a.example/r/'
    >>> space_of_pattern(r"^http://a\.example/r/[0-9]+$")
    ''
    """
    body = pattern.removeprefix("^")
    is_open = bool(_ALL.search(body))
    body = _ALL.sub("", body)
    if not is_open and body.endswith("$"):
        return ""
    literal = re.sub(r"\\[^A-Za-z0-9]", "", body)
    if _SPECIAL.search(literal) or "\\" in literal:
        return ""
    return space_of(_escaped(r"\1", body))
