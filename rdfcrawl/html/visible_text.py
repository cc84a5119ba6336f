"""Find the text of a page that a reader sees, by one look at its bytes."""

from __future__ import annotations

import re
from html import unescape
from typing import Final

_UNSEEN: Final = rb"script|style|template|noscript|title"
# Each expression reads what follows once: what has no end goes to the end of the page,
# and a tag ends before the next one begins.
_remove_unseen = re.compile(
    rb"<!--(?:.*?-->|.*)|<(" + _UNSEEN + rb")\b[^<>]*+>(?:.*?</\1\s*+>|.*)", re.DOTALL
).sub
_remove_tags = re.compile(rb"<[^<>]*+>").sub


def visible_text(lower: bytes) -> str:
    """Return the text of a page without tags and without elements that are not shown.

    Styles may hide more. `lower` is the page in UTF-8 and in lower case.

    >>> visible_text(b"<title>t</title>one&nbsp;<b>two</b><script>3</script>").split()
    ['one', 'two']
    """
    text = _remove_tags(b" ", _remove_unseen(b" ", lower)).decode("utf-8", "replace")
    return unescape(text) if "&" in text else text
