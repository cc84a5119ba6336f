"""Microdata to statements.

Source: HTML Standard chapter 5 "Microdata", which says what items and values are;
Microdata to RDF, Second Edition (W3C Note, 2014), which says what is stated of them.

Where the standard takes the text of an element, or an attribute that is missing,
`content` comes first, as HTML Microdata (W3C, 2021) section 5.4 and schema.org have it:
prices and dates are written so.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.html.rdfa.iris import escape_url, is_absolute, resolve
from rdfcrawl.html.vocabularies import Vocabularies, default_vocabularies
from rdfcrawl.rdf.terms import RDF, XSD, blank, iri, literal, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

    from rdfcrawl.html.page import Page
    from rdfcrawl.rdf.faultlog import FaultLog

# With `itemref` and nested properties, what is read of a page can be the square of its
# length. So many elements are looked at beside twice those of the page, and values may
# have so many characters beside four times those of the page.
MAX_REPEATED: Final = 100_000
MAX_VALUE_CHARS: Final = 16 * 2**20

_TYPE: Final = iri(RDF + "type")
# HTML Standard 5.2.4 "Values"
_URL_ATTRIBUTES: Final = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(
        ("audio", "embed", "iframe", "img", "source", "track", "video"), "src"
    ),
    "object": "data",
}
_INTEGER = re.compile(r"[+-]?[0-9]+")
# HTML Standard 2.3.4.3 "valid floating-point number"
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ZONE = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
_DATE = r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
_DURATION = (
    r"-?P(?=.)(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?"
    r"(?:T(?=.)(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?"
)
_TIMES: Final = tuple(
    (re.compile(pattern), XSD + name)
    for pattern, name in (
        (_DATE + _ZONE, "date"),
        (r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?" + _ZONE, "time"),
        (_DATE + "T" + _TIME + _ZONE, "dateTime"),
        (r"-?[0-9]{4,}-[0-9]{2}", "gYearMonth"),
        (r"-?[0-9]{4,}", "gYear"),
        (_DURATION, "duration"),
    )
)


def extract_microdata(
    page: Page, log: FaultLog, *, vocabularies: Vocabularies | None = None
) -> Iterator[str]:
    """Yield the statements of a page's items, those of nested items among them.

    Args:
        page: whose tree is used.
        log: takes `BAD_TERM` for what is no item or value.
        vocabularies: registry; that of the package if unset.

    Raises:
        SourceFault: `TOO_LARGE`: `itemref` or nested properties make more of the
            page than it is; what was found until then has been yielded. Also what
            `Page.tree` raises.
    """
    return _Items(page, log, vocabularies or default_vocabularies()).statements()


class _Frame(NamedTuple):
    """An item whose properties are being read."""

    subject: str
    vocabulary: str | None
    properties: Iterator[LexborNode]


class _Items:
    """The items of one page."""

    def __init__(self, page: Page, log: FaultLog, vocabularies: Vocabularies) -> None:
        self._page, self._log, self._vocabularies = page, log, vocabularies
        self._subjects: dict[int, str] = {}
        self._by_id: dict[str, LexborNode] | None = None
        self._n_steps_left = MAX_REPEATED + 2 * page.data.count(b"<")
        self._n_chars_left = MAX_VALUE_CHARS + 4 * len(page.data)

    def statements(self) -> Iterator[str]:
        """Yield all; nesting is followed without recursion."""
        for item in self._page.tree.css("[itemscope]"):
            if "itemprop" in item.attributes or item.mem_id in self._subjects:
                continue
            frames: list[_Frame] = []
            yield from self._begin(item, None, frames)
            while frames:
                node = next(frames[-1].properties, None)
                if node is None:
                    frames.pop()
                else:
                    yield from self._property(node, frames)

    def _begin(
        self, item: LexborNode, vocabulary: str | None, frames: list[_Frame]
    ) -> Iterator[str]:
        """Yield the types of an item, and push it to be read."""
        attrs = item.attributes
        subject = self._subject(item, attrs)
        types = [
            name for name in (attrs.get("itemtype") or "").split() if is_absolute(name)
        ]
        for name in types:
            yield statement(subject, _TYPE, iri(name))
        if types:
            vocabulary = self._vocabularies.of_type(types[0])
        frames.append(_Frame(subject, vocabulary, self._properties(item, attrs)))

    def _subject(self, item: LexborNode, attrs: dict[str, str | None]) -> str:
        name = escape_url(attrs.get("itemid") or "")
        iri_of_item = resolve(name, self._page.base) if name else ""
        subject = (
            iri(iri_of_item)
            if is_absolute(iri_of_item)
            else blank(f"microdata{len(self._subjects)}")
        )
        self._subjects[item.mem_id] = subject
        return subject

    def _property(self, node: LexborNode, frames: list[_Frame]) -> Iterator[str]:
        """Yield what a property states, and begin the item that is its value."""
        subject, vocabulary, _ = frames[-1]
        attrs = node.attributes
        if "itemscope" in attrs:
            is_literal = False
            value = self._subjects.get(node.mem_id, "")
            if not value:
                yield from self._begin(node, vocabulary, frames)
                value = frames[-1].subject
            elif any(value == frame.subject for frame in frames):
                # HTML Standard 5.2.5: an item must not be in a cycle
                self._log.note(Reason.SYNTAX, "Microdata: items that hold each other")
        else:
            value, is_literal = self._value(node, attrs)
        for name in dict.fromkeys((attrs.get("itemprop") or "").split()):
            for predicate in self._predicates(name, vocabulary):
                yield statement(subject, predicate, value)
        if is_literal:  # section 6.1: cannot be a subject
            return
        for name in dict.fromkeys((attrs.get("itemprop-reverse") or "").split()):
            for predicate in self._predicates(name, vocabulary):
                yield statement(value, predicate, subject)

    def _predicates(self, name: str, vocabulary: str | None) -> list[str]:
        """Return a property's predicate and those it entails; see section 6.3."""
        if is_absolute(name):
            full = name
        elif vocabulary is None:
            full = self._page.base.partition("#")[0] + "#" + escape_url(name)
        else:
            full = vocabulary + name
        return [iri(full), *map(iri, self._vocabularies.entailed.get(full, ()))]

    # -- HTML Standard 5.2.5 "Associating names with items" --------------------------

    def _properties(
        self, item: LexborNode, attrs: dict[str, str | None]
    ) -> Iterator[LexborNode]:
        """Yield the elements that are properties of an item, each once."""
        names = dict.fromkeys((attrs.get("itemref") or "").split())
        seen = {item.mem_id} if names else None  # else no element is met twice
        roots = filter(None, map(self._element, names))
        pending: list[Iterator[LexborNode]] = [chain(item.iter(), roots)]
        while pending:
            node = next(pending[-1], None)
            if node is None:
                pending.pop()
                continue
            if seen is not None:
                if node.mem_id in seen:
                    continue
                seen.add(node.mem_id)
            self._count_step()
            node_attrs = node.attributes
            if "itemprop" in node_attrs or "itemprop-reverse" in node_attrs:
                yield node
            if "itemscope" not in node_attrs:
                pending.append(iter(node.iter()))

    def _element(self, name: str) -> LexborNode | None:
        """Return the first element with this `id`."""
        if self._by_id is None:
            self._by_id = {}
            for node in self._page.tree.css("[id]"):
                self._by_id.setdefault(node.attributes["id"] or "", node)
        return self._by_id.get(name)

    def _count_step(self) -> None:
        self._n_steps_left -= 1
        if self._n_steps_left < 0:
            raise SourceFault(Reason.TOO_LARGE, "itemref repeats too many elements")

    # -- HTML Standard 5.2.4 "Values", Microdata to RDF section 6.2 -------------------

    def _value(
        self, node: LexborNode, attrs: dict[str, str | None]
    ) -> tuple[str, bool]:
        """Return a value as a term, and whether it is a literal."""
        tag = node.tag or ""
        attribute = _URL_ATTRIBUTES.get(tag)
        if attribute and (attribute in attrs or "content" not in attrs):
            url = escape_url(attrs.get(attribute) or "")
            absolute = resolve(url, self._page.base) if attribute in attrs else ""
            if is_absolute(absolute):
                return iri(absolute), False
            return literal(url), True
        if tag in {"data", "meter"} and ("value" in attrs or "content" not in attrs):
            return self._number(node, attrs), True
        if tag == "time":
            return self._time(node, attrs), True
        if tag == "meta" or "content" in attrs:
            return self._text(node, attrs.get("content") or ""), True
        return self._text(node, node.text()), True

    def _number(self, node: LexborNode, attrs: dict[str, str | None]) -> str:
        text = attrs.get("value") or ""
        if _INTEGER.fullmatch(text):
            return literal(text, datatype=XSD + "integer")
        if _DOUBLE.fullmatch(text):
            return literal(text, datatype=XSD + "double")
        return self._text(node, text)

    def _time(self, node: LexborNode, attrs: dict[str, str | None]) -> str:
        text = attrs.get("datetime", attrs.get("content", node.text()))
        stripped = (text or "").strip()
        for pattern, datatype in _TIMES:
            if pattern.fullmatch(stripped):
                return literal(stripped, datatype=datatype)
        return self._text(node, text or "")

    def _text(self, node: LexborNode, text: str) -> str:
        self._n_chars_left -= len(text)
        if self._n_chars_left < 0:
            raise SourceFault(Reason.TOO_LARGE, "values that hold one another")
        return literal(text, language=self._page.language_of(node))
