"""Why a page has no statements: scripts that were not run, a login, no annotation."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from rdfcrawl.rdf.html.visible_text import visible_text

SEEN_BYTES: Final = 256 * 1024
"""Bytes of a page that are enough for a decision."""
_FEW_WORDS: Final = 20
_find_hyperlinks = re.compile(rb"<a\s[^<>]*href", re.IGNORECASE).findall
_find_password = re.compile(rb"<input\s[^<>]*type\s*=\s*[\"']?password").search
# Blocks of data are no scripts.
_find_script = re.compile(rb"<script(?![^<>]*\stype\s*=\s*[\"']?application/)").search


class EmptyPage(StrEnum):
    """Why a page has no statements."""

    SCRIPTED = "needs_scripts"
    LOGIN = "needs_login"
    PLAIN = "no_annotation"


def classify_empty(page: bytes) -> EmptyPage:
    """Return why a page without statements has none.

    A page with scripts and less than 20 words counts as filled by its scripts.

    Args:
        page: its beginning, `SEEN_BYTES` or less, in any encoding based on ASCII.

    >>> str(classify_empty(b"<div id=app></div><script src=app.js></script>"))
    'needs_scripts'
    """
    lower = page.lower()
    if _find_password(lower):
        return EmptyPage.LOGIN
    n_words = len(visible_text(lower).split(None, _FEW_WORDS))
    if n_words < _FEW_WORDS and _find_script(lower):
        return EmptyPage.SCRIPTED
    return EmptyPage.PLAIN


def count_hyperlinks(page: bytes) -> int:
    """Return the number of hyperlinks in a page.

    >>> count_hyperlinks(b"<a href=/x>x</a> <a name=y>")
    1
    """
    return len(_find_hyperlinks(page))
