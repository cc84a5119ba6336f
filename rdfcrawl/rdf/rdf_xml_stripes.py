"""Check in outlines that nodes and properties of RDF/XML alternate.

One expression matches ordinary text in linear time. It knows whether a tag is that of a
node or of a property, since each start or end tag leads from one to the other.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from rdfcrawl.rdf.xml_screen import outline_of

_ABOUT, _RESOURCE, _TYPE, _BAG, _DATATYPE, _PARSE_TYPE = (
    outline_of(name)
    for name in (b":about", b":resource", b":type", b"bagID", b"datatype", b"parseType")
)
_MAX_RESOURCES: Final = 3  # properties that are nodes, in each other
_COMMENTS: Final = rb"[^<]*+(?:<!(?!AAAAA)[^<>]*+>[^<]*+)"  # not CDATA


def has_stripes(outline: bytes, *, begins_with_node: bool) -> bool:
    """Return whether each attribute of well-formed text is at its place.

    Some text does not match: CDATA, instructions, tags in comments, line breaks in
    attributes, properties that are nodes if they have other nodes or many levels, a
    datatype of a node. The values of `rdf:parseType` are `Collection` and `Resource`.
    """
    pattern = _stripes(has_comments=b"!" in outline, begins_with_node=begins_with_node)
    return pattern.match(outline) is not None


@cache
def _stripes(*, has_comments: bool, begins_with_node: bool) -> re.Pattern[bytes]:
    text = _COMMENTS + b"*+" if has_comments else rb"[^<]*+"
    node = _tag(_RESOURCE, _DATATYPE, _PARSE_TYPE, _BAG)
    leaf = _tag(_ABOUT, _TYPE, _PARSE_TYPE, _BAG)
    # A property with nodes; a datatype would be lost.
    outer = _tag(_ABOUT, _TYPE, _PARSE_TYPE, _BAG, _DATATYPE)
    outer += rb"(?:(?<=%b)=\"A\")?+" % _PARSE_TYPE  # Collection
    outer += rb"(?!>%b++</)" % _COMMENTS  # the parser would leave out white space
    end = rb"/[^<>]*+"
    nodes = rb"(?:%b<%b/>)*+" % (text, node)
    leaf += rb"(?:/>|>[^<]*+<%b>)" % end
    both = _tag(_ABOUT, _TYPE, _PARSE_TYPE, _BAG, _DATATYPE, _RESOURCE)
    both += rb"(?<=%b)=\"%b\">" % (_PARSE_TYPE, outline_of(b"Resource"))
    inner = leaf
    for _ in range(_MAX_RESOURCES):
        inner = rb"(?:%b|%b(?:%b<%b)*+%b<%b>)" % (leaf, both, text, inner, text, end)
    leaves = rb"(?:%b<%b)*+" % (text, inner)
    from_node = rb"%b%b<(?:%b|%b)>" % (nodes, text, end, node)
    from_property = rb"%b%b<(?:%b|%b)>" % (leaves, text, end, outer)
    if begins_with_node:
        parts = from_node, from_property, from_node, leaves, nodes, text
    else:
        parts = from_property, from_node, from_property, nodes, leaves, text
    return re.compile(rb"(?:%b%b)*+(?:%b%b|%b)%b\Z" % parts)


def _tag(*excluded: bytes) -> bytes:
    """Return the expression of a start tag up to its end."""
    # Of one length, for one look-behind; most tags have no `=`, which is found first.
    ends = [b"%b=" % name[-3:] for name in excluded]
    before = b"(?<!\n=)(?<!%b)" % b"|".join(end for end in ends if len(end) == 4)
    before += b"".join(b"(?<!%b)" % end for end in ends if len(end) < 4)
    value = rb"(?:\"[^\"\n<]*+\"|'[^'\n<]*+')"
    return rb"[^<>=/!?]*+(?:=%b%b[^<>=/]*+)*+" % (before, value)
