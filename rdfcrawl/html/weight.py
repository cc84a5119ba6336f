"""What makes the parsing of a page slow: depth, and attributes of one element.

Parsers of HTML walk the open elements at most tags ("has an element in scope"), and
compare each attribute of a tag with those before it: both take the square of the time.
Browsers cut at a depth of 512.
"""

from __future__ import annotations

import re
from typing import Final

from rdfcrawl.errors import Reason, SourceFault

MAX_LIGHT_TAGS: Final = 20_000  # if all were nested, parsing took half a second
MAX_DEPTH: Final = 4096
MAX_ATTRIBUTES: Final = 1024  # of one element
_LONG_TAG_BYTES: Final = 4 * 1024

# What has no tags in it; also if it does not end, so that it is read but once.
_SCRIPT = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style|textarea|title)\b.*?(?:</\1|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(rb"<(/?)([a-zA-Z][^\s/>]*+)((?:[^>\"']|\"[^\"]*\"|'[^']*')*+)>?")
_QUOTED = re.compile(rb"\"[^\"]*+\"?|'[^']*+'?")
_VOID: Final = frozenset(
    b"area base br col embed hr img input link meta param source track wbr".split()
)
# Their end tags may be left out: the next one of the kind ends them.
_IMPLIED: Final = frozenset(
    b"a p li dt dd option optgroup tr td th tbody thead tfoot colgroup rp rt rb".split()
)
_FOREIGN: Final = frozenset((b"svg", b"math"))
# HTML Standard 13.2.4.2, "have a particular element in scope": an end tag does not
# see what is open outside of these.
_SCOPES: Final = frozenset(
    b"applet caption html table td th marquee object template foreignobject".split()
)


def is_heavy(data: bytes) -> bool:
    """Tell whether parsing a page may take longer than its length suggests."""
    pieces = data.split(b"<")
    if len(pieces) > MAX_LIGHT_TAGS:
        return True
    # Most that are long have a short tag before them: scripts, styles.
    long_tags = (
        piece.partition(b">")[0] for piece in pieces if len(piece) > _LONG_TAG_BYTES
    )
    return any(
        _has_many_attributes(tag) for tag in long_tags if len(tag) > _LONG_TAG_BYTES
    )


def check_weight(data: bytes) -> None:
    """Refuse a page that is nested too deep or has too many attributes.

    The depth is estimated from the tags alone, a little too large rather than too
    small.

    Raises:
        SourceFault: `TOO_DEEP` or `TOO_LARGE`.
    """
    stack: list[bytes] = []
    n_foreign = 0
    for tag in _TAG.finditer(_SCRIPT.sub(b"", data)):
        end, raw_name, attributes = tag.groups()
        if len(attributes) > _LONG_TAG_BYTES and _has_many_attributes(attributes):
            detail = f"more than {MAX_ATTRIBUTES} attributes of one element"
            raise SourceFault(Reason.TOO_LARGE, detail)
        name = raw_name.lower()
        if end:
            n_foreign -= _close(stack, name)
            continue
        if name in _VOID or (n_foreign and attributes.endswith(b"/")):
            continue
        if name in _IMPLIED and not n_foreign:
            continue
        n_foreign += name in _FOREIGN
        stack.append(name)
        if len(stack) > MAX_DEPTH:
            raise SourceFault(Reason.TOO_DEEP, f"more than {MAX_DEPTH} elements open")


def _close(stack: list[bytes], name: bytes) -> int:
    """Close an element and those in it; return how many of them were foreign."""
    for depth in range(len(stack) - 1, -1, -1):
        if stack[depth] == name:
            n_foreign = sum(each in _FOREIGN for each in stack[depth:])
            del stack[depth:]
            return n_foreign
        if stack[depth] in _SCOPES:
            break
    return 0


def _has_many_attributes(tag: bytes) -> bool:
    return len(_QUOTED.sub(b" ", tag).replace(b"/", b" ").split()) > MAX_ATTRIBUTES
