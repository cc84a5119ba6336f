"""Parse language tags of pages."""

from __future__ import annotations

import re

_TAG = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")


def language_tag(text: str) -> str:
    """Return a well-formed language tag; empty for other text.

    >>> language_tag(" en_US "), language_tag("English (US)")
    ('en-US', '')
    """
    tag = text.strip().replace("_", "-")
    return tag if _TAG.fullmatch(tag) else ""
