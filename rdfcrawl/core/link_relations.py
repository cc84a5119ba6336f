"""The relation of a link to its target, and the strongest of several.

Source: RFC 8288 (relation types), RFC 6596 (canonical), RFC 6892 (describedby),
RFC 9264 (linkset); HTML Standard 4.6.7 "Link types"; FAIR Signposting.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rdfcrawl.core.formats import FORMATS, HTML


class Relation(StrEnum):
    """The relation of a link outside of statements."""

    ALTERNATE = "alternate"  # another form that we read
    DESCRIBEDBY = "describedby"  # RFC 6892, signposting
    LINKSET = "linkset"  # RFC 9264
    CANONICAL = "canonical"
    NEXT = "next"  # the next page of a list
    DATASET = "dataset"  # in statements about datasets and pages of collections
    HYPERLINK = "hyperlink"
    NOFOLLOW = "nofollow"  # a hyperlink that its page does not vouch for


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page or of a `Link` header."""

    url: str  # absolute; not checked
    relation: Relation  # strongest of those that the link states
    media_type: str = ""  # declared for the target; lower case, or empty


# An alternate HTML page is a translation, or a page for people.
_READ_TYPES: Final = frozenset(
    name for each in FORMATS if each is not HTML for name in each.media_types
)
_STRONGEST_FIRST: Final = (
    Relation.ALTERNATE,
    Relation.DESCRIBEDBY,
    Relation.LINKSET,
    Relation.CANONICAL,
    Relation.NEXT,
)


def strongest_relation(relations: Container[str], media_type: str) -> Relation | None:
    """Return the strongest known relation, or None.

    Args:
        relations: stated by the link, in lower case.
        media_type: declared for the target, lower case, without parameters; an
            alternate counts only if this is a data format that we read.
    """
    for relation in _STRONGEST_FIRST:
        if relation in relations and (
            relation is not Relation.ALTERNATE or media_type in _READ_TYPES
        ):
            return relation
    return None
