"""Find the end of a page's head, which is enough for its links and JSON-LD."""

from __future__ import annotations

import re
from typing import Final

from rdfcrawl.html.weight import TAG

_MAX_TAGS: Final = 1000  # of a head; of one with more, the whole page is parsed
_END = re.compile(rb"<(?:/head|body)[\s/>]")
_COMMENT = re.compile(rb"<!--(?:-?>|.*?--!?>)", re.DOTALL)
# HTML Standard 13.2.6.2 and those that use it: elements that hold text alone.
_ENDS_OF_TEXT: Final = {
    name: re.compile(rb"</" + name + rb"(?=[\t\n\f\r />])")
    for name in (
        *(b"title", b"textarea", b"style", b"xmp", b"iframe", b"noembed"),
        *(b"noframes", b"script"),
    )
}
# In these, tags mean something else than in a head.
_NOT_TOLD: Final = frozenset(
    (b"template", b"svg", b"math", b"select", b"frameset", b"plaintext")
)


def end_of_head(lower: bytes) -> int:
    """Return where the tag begins that ends the head of a page; 0 if unknown.

    The page is in lower case. Text like this tag in a comment, a script or a value does
    not count.

    >>> end_of_head(b"<head><!--<body>--><title></head></title></head>")
    41
    """
    if _END.search(lower) is None:
        return 0
    at = lower.find(b"<")
    for _ in range(_MAX_TAGS):
        if at < 0:
            break
        tag = TAG.match(lower, at)
        if tag is None:
            end = _after_other(lower, at)
        else:
            slash, name = tag[1], tag[2]
            if name == (b"head" if slash else b"body"):
                return at
            end = tag.end() if slash else _after_element(lower, name, tag.end())
        if end < 0:
            break
        at = lower.find(b"<", end)
    return 0


def _after_other(lower: bytes, at: int) -> int:
    """Return where a comment, other markup or plain text ends; -1 if nowhere."""
    if lower.startswith(b"<!--", at):
        comment = _COMMENT.match(lower, at)
        return comment.end() if comment else -1
    if lower[at + 1 : at + 2] in {b"!", b"?", b"/"}:
        return lower.find(b">", at)
    return at + 1


def _after_element(lower: bytes, name: bytes, at: int) -> int:
    """Return where tags may begin again after a start tag; -1 if unknown."""
    if name in _NOT_TOLD:
        return -1
    end_of_text = _ENDS_OF_TEXT.get(name)
    if end_of_text is None:
        return at
    end = end_of_text.search(lower, at)
    if end is None:
        return -1
    # 13.2.5.20 "Script data escaped state" and those after it: a script in a comment
    # in a script hides the end of that.
    if name == b"script":
        comment = lower.find(b"<!--", at, end.start())
        if comment >= 0 and lower.find(b"<script", comment, end.start()) >= 0:
            return -1
    return end.start()
