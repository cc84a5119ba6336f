"""Detect host names that imitate others (Unicode TS 39, section 5).

Hosts are stored and requested as A-labels (`xn--…`), which are unambiguous; those that
would be confusable in Unicode are marked.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from rdfcrawl.uri.origin import host_of

# Scripts that are written together: Japanese, Chinese, Korean, each with Latin.
_TOGETHER: Final = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)
# Letters that look like Latin ones, of Cyrillic, Greek and Armenian.
_LIKE_LATIN: Final = frozenset(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0457\u0458\u0455\u0501\u04bb"
    "\u04cf\u051b\u051d\u044c\u0475\u0454"
    "\u03b1\u03bf\u03bd\u03c1\u03c5\u03b9\u03ba"
    "\u0585\u057d\u0578\u0570\u0581"
)


def has_lookalike(url: str) -> bool:
    """Return whether the host of a requestable URL imitates another."""
    return "xn--" in url and is_lookalike(host_of(url))


@lru_cache(maxsize=4096)
def is_lookalike(host: str) -> bool:
    """Return whether a label of the host mixes scripts or only looks Latin.

    >>> is_lookalike("xn--80ak6aa92e.com"), is_lookalike("xn--mller-kva.de")
    (True, False)
    """
    return any(map(_is_lookalike, _unicode_labels(host)))


def _unicode_labels(host: str) -> Iterator[str]:
    for label in host.split("."):
        if label.startswith("xn--"):
            try:
                yield label[4:].encode("ascii").decode("punycode")
            except (UnicodeError, ValueError):
                continue


def _is_lookalike(label: str) -> bool:
    letters = [char for char in label if char.isalpha()]
    scripts = {unicodedata.name(char, "?").partition(" ")[0] for char in letters}
    if len(scripts) > 1:
        return not any(scripts <= together for together in _TOGETHER)
    return bool(letters) and all(char in _LIKE_LATIN for char in letters)
