"""Character references, such as `&amp;` and `&#38;`."""

from __future__ import annotations

import re
from html import unescape

_replace_huge = re.compile(r"&#[0-9]{1000,}+;?").sub


def unescaped(text: str) -> str:
    r"""Return a text with characters in place of references to them.

    `html.unescape` fails at numbers of more than 4300 digits. They are no characters.

    >>> ascii(unescaped("&lt;&#" + "9" * 5000 + ";"))
    "'<\\ufffd'"
    """
    try:
        return unescape(text)
    except ValueError:
        return unescape(_replace_huge("\ufffd", text))
