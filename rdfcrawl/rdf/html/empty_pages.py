"""Why a page has no statements: scripts that were not run, a login, no annotation."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from rdfcrawl.rdf.html.visible_text import visible_text

SEEN_BYTES: Final = 256 * 1024
"""Bytes of a page that are enough for a decision."""
_FEW_WORDS: Final = 20
_FIRST_BYTES: Final = 16 * 1024  # of a page in which the words are counted at first
_find_hyperlinks = re.compile(rb"<a\s(?:[^<>h]++|h(?!ref))*+href").findall
_find_password = re.compile(rb"<input\s[^<>]*type\s*=\s*[\"']?password").search
# Blocks of data are no scripts.
_find_script = re.compile(rb"<script(?![^<>]*\stype\s*=\s*[\"']?application/)").search


class EmptyPage(StrEnum):
    """Why a page has no statements."""

    SCRIPTED = "needs_scripts"
    LOGIN = "needs_login"
    PLAIN = "no_annotation"


def classify_empty(page: bytes, *, n_words: int = 0) -> EmptyPage:
    """Return why a page without statements has none.

    A page with scripts and less than 20 words counts as filled by its scripts.

    Args:
        page: its beginning, `SEEN_BYTES` or less, in any encoding based on ASCII.
        n_words: that the page is known to have at least.

    >>> str(classify_empty(b"<div id=app></div><script src=app.js></script>"))
    'needs_scripts'
    """
    lower = page.lower()
    if _find_password(lower):
        return EmptyPage.LOGIN
    if n_words < _FEW_WORDS and _find_script(lower) and not _has_words(lower):
        return EmptyPage.SCRIPTED
    return EmptyPage.PLAIN


def _has_words(lower: bytes) -> bool:
    """Return whether a page has some words; its beginning usually has enough."""
    n_bytes = _FIRST_BYTES
    while True:
        # The beginning of a page never has more words than the page.
        n_words = len(visible_text(lower[:n_bytes]).split(None, _FEW_WORDS))
        if n_words >= _FEW_WORDS or n_bytes >= len(lower):
            return n_words >= _FEW_WORDS
        n_bytes *= 4


def count_hyperlinks(page: bytes) -> int:
    """Return the number of hyperlinks in a page.

    >>> count_hyperlinks(b"<a href=/x>x</a> <a name=y>")
    1
    """
    return len(_find_hyperlinks(page.lower()))
