"""Elements of RDFa: their subjects, and values without an own context.

Most elements with `property` set no subject, type, relation, language or prefix. They
need no own evaluation context.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.namespaces import XSD
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.terms import literal

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from rdfcrawl.rdf.html.page import Attributes
    from rdfcrawl.rdf.html.rdfa.scope import Incomplete, RdfaNames, RdfaScope


class RdfaElement:
    """An element being processed; names as in RDFa Core 1.1 section 7.5.

    Attributes:
        outer: scope of its parent; `scope` is passed to its children.
        is_section: the `head` or `body` of HTML.
        rel: predicates; None without the attribute; so is `rev`.
        subject: "new subject".
        object: "current object resource", or empty.
        typed: "typed resource", or empty.
        target: of `resource`, `href` or `src`, or empty.
        is_skipped: the "skip element" flag.
        incomplete: "local list of incomplete triples".
    """

    __slots__ = (
        *("attributes", "incomplete", "is_root", "is_section", "is_skipped", "name"),
        *("object", "outer", "rel", "rev", "scope", "subject", "target", "typed"),
    )

    def __init__(
        self, name: str, attributes: Attributes, *, outer: RdfaScope, scope: RdfaScope
    ) -> None:
        self.name, self.attributes = name, attributes
        self.outer, self.scope = outer, scope
        self.is_root = self.is_section = self.is_skipped = False
        self.rel: Sequence[str] | None = None
        self.rev: Sequence[str] | None = None
        self.subject = self.object = self.typed = self.target = ""
        self.incomplete: Incomplete = []

    @property
    def is_link(self) -> bool:
        """Whether the element has `rel` or `rev`."""
        return self.rel is not None or self.rev is not None


def find_subject(element: RdfaElement, names: RdfaNames) -> None:
    """Set subject, object, typed resource and target: RDFa Core 1.1 section 7.5."""
    attributes = element.attributes
    has_type = "typeof" in attributes
    about = _resource("about", element, names) if "about" in attributes else ""
    if not _TARGETS.isdisjoint(attributes):
        element.target = _target(element, names, ("resource", "href", "src"))
    if element.is_link:
        element.subject = about or _default(element)
        element.object = element.target
        if has_type and "about" in attributes:
            element.typed = element.subject
        elif has_type:
            element.typed = element.object = element.target or names.new_blank()
    elif "property" in attributes and _HAS_VALUE.isdisjoint(attributes):
        element.subject = about or _default(element)
        if has_type:
            root = _default(element) if element.is_root else ""
            section = _default(element) if element.is_section else ""
            typed = about or root or element.target or section or names.new_blank()
            element.typed = element.object = typed
    else:
        element.subject = about or element.target or _default_or_new(element, names)
        element.typed = element.subject if has_type else ""


def find_subject_first(element: RdfaElement, names: RdfaNames) -> None:
    """Set the same by RDFa 1.0: "RDFa in XHTML" section 5.5, steps 4 and 5."""
    has_type = "typeof" in element.attributes
    about = _resource("about", element, names) or _target(element, names, ("src",))
    element.target = _target(element, names, ("resource", "href"))
    if not element.is_link:
        about = about or element.target
    element.object = element.target if element.is_link else ""
    if not about and element.is_section:
        about = terms.iri(element.scope.base)
    element.subject = about or _default_or_new(element, names)
    element.typed = element.subject if has_type else ""


_TARGETS = frozenset({"resource", "href", "src"})
_HAS_VALUE = frozenset({"content", "datatype"})


def _default(element: RdfaElement) -> str:
    """Return the subject of an element without an explicit one."""
    if element.is_root:
        return terms.iri(element.scope.base)
    return element.outer.object


def _default_or_new(element: RdfaElement, names: RdfaNames) -> str:
    if element.is_root or element.is_section:
        return _default(element)
    if "typeof" in element.attributes:
        return names.new_blank()
    element.is_skipped = not element.is_link and "property" not in element.attributes
    return element.outer.object


def _resource(name: str, element: RdfaElement, names: RdfaNames) -> str:
    if name not in element.attributes:
        return ""
    return names.resource(element.attributes[name] or "", element.scope)


def _target(element: RdfaElement, names: RdfaNames, among: tuple[str, ...]) -> str:
    for name in among:
        if name not in element.attributes:
            continue
        read = names.resource if name == "resource" else names.url
        if found := read(element.attributes[name] or "", element.scope):
            return found
    return ""


_ZONE = r"(?:Z|[+-]\d\d:\d\d)?"
_DATE = r"-?\d{4,}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?"
_DURATION = (
    r"-?P(?=\d|T\d)(?:\d+Y)?(?:\d+M)?(?:\d+D)?"
    r"(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?"
)
_PATTERNS = tuple(
    (XSD + name, re.compile(form, re.ASCII).fullmatch)
    for name, form in (
        ("duration", _DURATION),
        ("dateTime", f"{_DATE}T{_TIME}{_ZONE}"),
        ("date", f"{_DATE}{_ZONE}"),
        ("time", f"{_TIME}{_ZONE}"),
        ("gYearMonth", r"-?\d{4,}-(?:0[1-9]|1[0-2])"),
        ("gYear", r"-?\d{4,}"),
    )
)


def time_datatype(text: str) -> str:
    """Return the datatype that matches a text; empty if none does.

    Source: HTML+RDFa 1.1 section 3.1, rule 5. Seconds may be left out, as in HTML.

    >>> time_datatype("2012-03-18Z").rpartition("#")[2]
    'date'
    """
    return next((datatype for datatype, is_form in _PATTERNS if is_form(text)), "")


_NOT_PLAIN: Final = frozenset(
    [
        *("about", "datatype", "inlist", "prefix", "rel", "resource", "rev"),
        *("typeof", "vocab", "lang", "xml:base", "xml:lang", "role"),
    ]
)
_VALUES_TARGETS: Final = frozenset(["href", "src"])
_VALUES: Final = ("content", "datetime", "href", "src")
CONTENT: Final = "*"  # of an element; no name of an attribute


def value_of_plain(attributes: tuple[str, ...]) -> str:
    """Return the attribute with the value of a plain element, or `CONTENT`.

    The result is empty for elements that are not plain.
    """
    is_plain = (
        "property" in attributes
        and _NOT_PLAIN.isdisjoint(attributes)
        # With `content`, these name the subject.
        and ("content" not in attributes or _VALUES_TARGETS.isdisjoint(attributes))
        and "xmlns" not in " ".join(attributes)
    )
    if not is_plain:
        return ""
    return next(filter(attributes.__contains__, _VALUES), CONTENT)


def plain_value(
    source: str,
    node: LexborNode,
    attributes: Attributes,
    scope: RdfaScope,
    names: RdfaNames,
) -> str:
    """Return the term of a plain element of HTML, by the rules of RDFa 1.1.

    The result is empty if the element has more content than one text, or is a `time`.
    `source` is that of `value_of_plain`.

    Source: RDFa Core 1.1 section 7.5, step 11; HTML+RDFa 1.1 section 3.1.
    """
    if source != CONTENT:
        text = attributes[source] or ""
        if source == "content":
            return literal(text, language=scope.language)
        if source == "datetime":
            return typed_or_plain(text, time_datatype(text), scope.language)
        return names.url(text, scope)
    inner = node.first_child
    if inner is None or not inner.is_text_node or inner.next is not None:
        return ""
    if node.tag == "time":
        return ""
    content = inner.text_content or ""
    names.spend(len(content))
    return literal(content, language=scope.language)


def typed_or_plain(text: str, datatype: str, language: str) -> str:
    """Return a literal with a datatype or, if that is empty, a language."""
    return literal(text, datatype=datatype, language="" if datatype else language)
