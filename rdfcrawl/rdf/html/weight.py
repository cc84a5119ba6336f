"""Refuse pages that are slow to parse: too deep, or with too many attributes.

Parsers of HTML search the open elements at most tags ("has an element in scope"), and
compare each attribute of a tag with those before it: both take quadratic time.
Browsers limit the depth to 512.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from rdfcrawl.core.errors import Reason, SourceFault

MAX_LIGHT_TAGS: Final = 20_000  # half a second of parsing if all are nested
MAX_DEPTH: Final = 4096
MAX_ATTRIBUTES: Final = 1024  # of one element
_LONG_TAG_BYTES: Final = 4 * 1024
_LOOKS: Final = 8  # scans of a byte, in overlapping candidates for tags

# Content without tags; matches an unterminated one too, so that it is read once.
SCRIPT = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style|textarea|title)\b.*?(?:</\1|\Z)",
    re.DOTALL | re.IGNORECASE,
)
# HTML Standard 13.2.5.6 to 13.2.5.39, from the name of a tag to its end.
_SPACE: Final = rb"\t\n\f\r "
_NAME: Final = rb"[^>/" + _SPACE + rb"]*+"
_VALUE: Final = rb"\"[^\"]*+\"?|'[^']*+'?|[^>\"'" + _SPACE + rb"][^>" + _SPACE + rb"]*+"
_ATTRIBUTE_NAME: Final = rb"[^>/" + _SPACE + rb"][^>/=" + _SPACE + rb"]*+"
_EQUALS: Final = rb"[" + _SPACE + rb"]*+=[" + _SPACE + rb"]*+"
_ATTRIBUTE: Final = _ATTRIBUTE_NAME + rb"(?:" + _EQUALS + rb"(?:" + _VALUE + rb")?+)?+"
_ATTRIBUTES: Final = rb"(?:[/" + _SPACE + rb"]++|" + _ATTRIBUTE + rb")*+"
TAG = re.compile(rb"<(/?)([a-zA-Z]" + _NAME + rb")(" + _ATTRIBUTES + rb")>?")
_EACH_ATTRIBUTE = re.compile(_ATTRIBUTE)
# Starts of tags, except tags with few attributes that end before the next tag begins:
# a quick expression excludes those.
_ODD_TAG = re.compile(
    rb"<(?=[a-zA-Z])(?![^<>\"'=/\t\n\f\r ]*+(?:[/\t\n\f\r ]++"
    rb"(?:[^<>\"'=/\t\n\f\r ]++(?:=(?:\"[^\"<]*+\"|'[^'<]*+'"
    rb"|[^<>\"'=\t\n\f\r ][^<>\"'\t\n\f\r ]*+))?+)?+){0,64}+>)"
)
_WHITE_SPACE: Final = b"\t\n\f\r "
_BEFORE_VALUE: Final = b"=" + _WHITE_SPACE
_VALUE_BEGINS: Final = tuple(bytes((byte,)) for byte in _BEFORE_VALUE)
VOID: Final = frozenset(
    b"area base br col embed hr img input link meta param source track wbr".split()
)
# Elements with optional end tags: the next one of the same kind closes them.
_IMPLIED: Final = frozenset(
    b"a p li dt dd option optgroup tr td th tbody thead tfoot colgroup rp rt rb".split()
)
_FOREIGN: Final = frozenset((b"svg", b"math"))
# HTML Standard 13.2.4.2, "have a particular element in scope": an end tag does not
# close elements outside these.
_SCOPES: Final = frozenset(
    b"applet caption html table td th marquee object template foreignobject".split()
)


def is_heavy(data: bytes) -> bool:
    """Return whether parsing a page in UTF-8 may take longer than its length suggests.

    Anything like a tag counts, even in a comment, a script or a value. The estimate
    can only be too high.
    """
    if len(data) > MAX_LIGHT_TAGS and data.count(b"<") > MAX_LIGHT_TAGS:
        return True
    n_bytes_left = _LOOKS * len(data)
    for begin in _iter_odd_tags(data):
        near = TAG.match(data, begin, begin + _LONG_TAG_BYTES)
        if near is None or near.end() < begin + _LONG_TAG_BYTES:
            continue
        tag = TAG.match(data, begin)
        n_bytes_left -= len(tag[0]) if tag else 0
        if n_bytes_left < 0 or (tag and _has_many_attributes(tag[3])):
            return True
    return False


def _iter_odd_tags(data: bytes) -> Iterator[int]:
    """Yield the start of odd tags that may be long.

    A tag ends at its first `">`, unless an equals sign precedes it and it begins a
    value. So no long tag begins between two nearby ends of tags, and only stretches
    without them are searched. If a value in single quotes contains an end, the full
    page is searched.
    """
    if _hides_end_of_tag(data):
        yield from (odd.start() for odd in _ODD_TAG.finditer(data))
        return
    at = 0
    while at < len(data):
        end = _last_end_of_tag(data, at, at + _LONG_TAG_BYTES)
        if end < 0:
            end = _next_end_of_tag(data, at + _LONG_TAG_BYTES - 1)
            yield from (odd.start() for odd in _ODD_TAG.finditer(data, at, end))
        at = end


def _last_end_of_tag(data: bytes, begin: int, end: int) -> int:
    """Return the end of the last `">` that ends a tag in a range; else -1."""
    at = data.rfind(b'">', begin + 1, end)
    while at >= 0:
        if data[at - 1] not in _BEFORE_VALUE:
            return at + 2
        at = data.rfind(b'">', begin + 1, at + 1)
    return -1


def _next_end_of_tag(data: bytes, begin: int) -> int:
    """Return the end of the first `">` that ends a tag, or the end of the data."""
    at = data.find(b'">', begin)
    while at >= 0:
        if data[at - 1] not in _BEFORE_VALUE:
            return at + 2
        at = data.find(b'">', at + 1)
    return len(data)


def _hides_end_of_tag(data: bytes) -> bool:
    """Return whether a possible value in single quotes contains `">`."""
    before = b""
    for part in data.split(b"'"):
        hides = before.endswith(_VALUE_BEGINS) and b'">' in part
        if hides and before.rstrip(_WHITE_SPACE).endswith(b"="):
            return True
        before = part
    return False


def check_weight(data: bytes) -> None:
    """Refuse a page that is nested too deep or has too many attributes.

    The depth is estimated from the tags alone, and never too low. The fault is
    `TOO_DEEP` or `TOO_LARGE`.
    """
    stack: list[bytes] = []
    n_foreign = 0
    for tag in TAG.finditer(SCRIPT.sub(b"", data)):
        end, raw_name, attributes = tag.groups()
        if len(attributes) > _LONG_TAG_BYTES and _has_many_attributes(attributes):
            detail = f"more than {MAX_ATTRIBUTES} attributes of one element"
            raise SourceFault(Reason.TOO_LARGE, detail)
        name = raw_name.lower()
        if end:
            n_foreign -= _close(stack, name)
            continue
        is_closed = attributes.endswith(b"/") if n_foreign else name in _IMPLIED
        if name in VOID or is_closed:
            continue
        n_foreign += name in _FOREIGN
        stack.append(name)
        if len(stack) > MAX_DEPTH:
            raise SourceFault(Reason.TOO_DEEP, f"more than {MAX_DEPTH} elements open")


def _close(stack: list[bytes], name: bytes) -> int:
    """Close an element with its descendants; return how many of these were foreign."""
    for depth in range(len(stack) - 1, -1, -1):
        if stack[depth] == name:
            n_foreign = sum(each in _FOREIGN for each in stack[depth:])
            del stack[depth:]
            return n_foreign
        if stack[depth] in _SCOPES:
            break
    return 0


def _has_many_attributes(attributes: bytes) -> bool:
    found = islice(_EACH_ATTRIBUTE.finditer(attributes), MAX_ATTRIBUTES + 1)
    return sum(1 for _ in found) > MAX_ATTRIBUTES
