"""Values of elements: datatypes of times, and elements with only a value.

Most elements with `property` set no subject, type, relation, language or prefix. They
need no own evaluation context.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.namespaces import XSD
from rdfcrawl.rdf.terms import literal

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from rdfcrawl.rdf.html.rdfa.scope import RdfaNames, RdfaScope
    from rdfcrawl.rdf.html.walking import Attributes

_ZONE = r"(?:Z|[+-]\d\d:\d\d)?"
_DATE = r"-?\d{4,}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?"
_FORMS = (
    (
        "duration",
        (
            r"-?P(?=\d|T\d)(?:\d+Y)?(?:\d+M)?(?:\d+D)?"
            r"(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?"
        ),
    ),
    ("dateTime", f"{_DATE}T{_TIME}{_ZONE}"),
    ("date", f"{_DATE}{_ZONE}"),
    ("time", f"{_TIME}{_ZONE}"),
    ("gYearMonth", r"-?\d{4,}-(?:0[1-9]|1[0-2])"),
    ("gYear", r"-?\d{4,}"),
)
_PATTERNS = tuple(
    (XSD + name, re.compile(form, re.ASCII).fullmatch) for name, form in _FORMS
)


def time_datatype(text: str) -> str:
    """Return the datatype that matches a text; empty if none does.

    Source: HTML+RDFa 1.1 section 3.1, rule 5. Seconds may be left out, as in HTML.

    >>> time_datatype("2012-03-18Z").rpartition("#")[2]
    'date'
    """
    for datatype, is_form in _PATTERNS:
        if is_form(text):
            return datatype
    return ""


_NOT_PLAIN: Final = frozenset(
    [
        *("about", "datatype", "inlist", "prefix", "rel", "resource", "rev"),
        *("typeof", "vocab", "lang", "xml:base", "xml:lang"),
    ]
)
_TARGETS: Final = frozenset(["href", "src"])


def is_plain(attributes: Attributes) -> bool:
    """Return whether an element with these attributes is plain."""
    return (
        "property" in attributes
        and _NOT_PLAIN.isdisjoint(attributes)
        # With `content`, these name the subject.
        and ("content" not in attributes or _TARGETS.isdisjoint(attributes))
        and "xmlns" not in " ".join(attributes)
    )


def plain_value(
    node: LexborNode, attributes: Attributes, scope: RdfaScope, names: RdfaNames
) -> str:
    """Return the term of a plain element of HTML, by the rules of RDFa 1.1.

    The result is empty if the element has more content than one text, or is a `time`.

    Source: RDFa Core 1.1 section 7.5, step 11; HTML+RDFa 1.1 section 3.1.
    """
    if "content" in attributes:
        return literal(attributes["content"] or "", language=scope.language)
    if "datetime" in attributes:
        text = attributes["datetime"] or ""
        if datatype := time_datatype(text):
            return literal(text, datatype=datatype)
        return literal(text, language=scope.language)
    for name in ("href", "src"):
        if name in attributes:
            return names.url(attributes[name] or "", scope)
    content = _only_text(node)
    if content is None or node.tag == "time":
        return ""
    names.spend(len(content))
    return literal(content, language=scope.language)


def _only_text(node: LexborNode) -> str | None:
    """Return the text of an element without any other content; else None."""
    inner = node.first_child
    if inner is None or not inner.is_text_node or inner.next is not None:
        return None
    return inner.text_content or ""
