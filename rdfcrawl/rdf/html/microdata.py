"""Extract Microdata.

Source: HTML Standard chapter 5 "Microdata" defines items and values; Microdata to RDF,
Second Edition (W3C Note, 2014) defines their statements.

`content` takes precedence over the text of an element and over a missing attribute, as
in HTML Microdata (W3C, 2021) section 5.4 and at schema.org: prices and dates are often
written this way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from pyoxigraph import NamedNode

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.namespaces import RDF_TYPE, XSD
from rdfcrawl.rdf.data import read_table
from rdfcrawl.rdf.iris import escape_url, is_absolute, resolve, root_of
from rdfcrawl.rdf.terms import iri, literal, statement

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.html.page import Attributes, ParsedPage


# `itemref` and nested properties can make the work quadratic. The limits are twice the
# elements and four times the characters of the page, plus these allowances.
MAX_REPEATED: Final = 100_000
MAX_VALUE_CHARS: Final = 16 * 2**20

_MAX_KNOWN: Final = 1024  # names cached, unless longer than the next limit
_MAX_KNOWN_CHARS: Final = 1024
_GATHERED: Final = 64  # lines yielded together
_NAMES: Final = frozenset({"itemprop", "itemprop-reverse"})
_TYPE: Final = iri(RDF_TYPE)
# HTML Standard 5.2.4 "Values"
_URL_ATTRIBUTES: Final = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(
        ("audio", "embed", "iframe", "img", "source", "track", "video"), "src"
    ),
    "object": "data",
}
_NUMBERS: Final = frozenset({"data", "meter"})
# Paths that resolving and escaping only prefix.
_FROM_ROOT = re.compile(
    r"/(?!\.)(?:[^\x00-\x20<>\"{}|^`\\/\ud800-\udfff]++(?:/(?!\.))?)*+"
)
# A type that begins with the host of its vocabulary.
_HOST = re.compile(r"(?:www\.)?(?:schema|data-vocabulary)\.org/")
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
    (re.compile(pattern).fullmatch, XSD + name)
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
    page: ParsedPage, log: FaultLog, *, vocabularies: VocabularyRegistry | None = None
) -> Iterator[str]:
    """Yield the statements of a page's items, several lines at a time.

    `log` takes `BAD_TERM` for invalid items and values.

    Raises:
            SourceFault: `TOO_LARGE`: `itemref` or nested properties repeat too much;
                the statements found so far were yielded. See also `ParsedPage.tree`.
    """
    # Created lazily, so that a failure counts as a fault of this extractor.
    yield from _Items(page, log, vocabularies or default_vocabularies()).statements()


_Marked = tuple["LexborNode", "Attributes"]  # an element and its attributes
_Types = tuple[list[str], str | None]  # of an item, and the vocabulary they make
_Predicates = dict[str, list[str]]  # by the value of `itemprop` or `itemprop-reverse`


class _Frame(NamedTuple):
    """An item and the iterator over its remaining properties."""

    subject: str
    vocabulary: str | None
    predicates: _Predicates
    properties: Iterator[_Marked]


class _Items:
    def __init__(
        self, page: ParsedPage, log: FaultLog, vocabularies: VocabularyRegistry
    ) -> None:
        self._page, self._log, self._vocabularies = page, log, vocabularies
        self._subjects: dict[int, str] = {}
        self._has_reverse = b"itemprop-reverse" in page.lower  # nearly never
        self._items, self._own = _own_properties(page, has_reverse=self._has_reverse)
        self._fault: SourceFault | None = None
        self._known: dict[str | None, _Predicates] = {}  # by vocabulary
        self._n_known = 0
        self._known_types: dict[str, _Types] = {}
        self._known_urls: dict[str, str] = {}
        self._root = iri(root_of(page.base))[1:-1]
        self._n_steps_left = -1  # not counted yet
        self._n_chars_left = MAX_VALUE_CHARS + 4 * len(page.data)

    def statements(self) -> Iterator[str]:
        """Yield the statements of all items, without recursion into nested ones."""
        stated: list[str] = []
        tops = [marked for marked in self._items if "itemprop" not in marked[1]]
        # Properties without an item around them, last, unless `itemref` names them.
        others = (marked for marked in self._items if "itemprop" in marked[1])
        for item, attrs in chain(tops, others):
            if item.mem_id in self._subjects:
                continue
            if "itemprop" in attrs:
                self._repaired("an item is a property of no item")
            frames: list[_Frame] = []
            stated += self._begin(item, attrs, None, frames)
            while frames:
                stated += self._read_on(frames)
                if len(stated) >= _GATHERED:
                    yield "".join(stated)
                    stated.clear()
            if self._fault is not None:
                break
        if stated:
            yield "".join(stated)
        if self._fault is not None:
            raise self._fault

    def _repaired(self, what: str, count: int = 1) -> None:
        self._log.note(Reason.REPAIRED, f"Microdata: {what}", count, apart=True)

    def _read_on(self, frames: list[_Frame]) -> list[str]:
        """Return the statements of the innermost item, up to the next nested one."""
        subject, vocabulary, known, properties = frames[-1]
        stated: list[str] = []
        try:
            for node, attrs in properties:
                if "itemscope" in attrs:
                    stated += self._nested(node, attrs, frames)
                    return stated
                names = attrs.get("itemprop") or ""
                predicates = known.get(names)
                if predicates is None:
                    predicates = self._predicates(names, vocabulary, known)
                value = self._value(node, attrs)
                for predicate in predicates:
                    stated.append(f"{subject} {predicate} {value} .\n")
                # section 6.1: a literal cannot be a subject
                if self._has_reverse and value[0] != '"':
                    stated += self._reverse(frames[-1], attrs, value)
        except SourceFault as fault:  # keep the statements found so far
            self._fault = fault
            frames.clear()
        else:
            frames.pop()
        return stated

    def _nested(
        self, node: LexborNode, attrs: Attributes, frames: list[_Frame]
    ) -> list[str]:
        """Begin an item that is a value; return the statements of the property."""
        outer = frames[-1]
        stated: list[str] = []
        value = self._subjects.get(node.mem_id, "")
        if not value:
            stated = self._begin(node, attrs, outer.vocabulary, frames)
            value = frames[-1].subject
        elif any(value == frame.subject for frame in frames):
            # HTML Standard 5.2.5: an item must not be in a cycle
            self._log.note(Reason.SYNTAX, "Microdata: items in a cycle")
        names = attrs.get("itemprop") or ""
        for predicate in self._predicates(names, outer.vocabulary, outer.predicates):
            stated.append(statement(outer.subject, predicate, value))
        if self._has_reverse:
            stated += self._reverse(outer, attrs, value)
        return stated

    def _reverse(self, item: _Frame, attrs: Attributes, value: str) -> list[str]:
        names = attrs.get("itemprop-reverse") or ""
        predicates = self._predicates(names, item.vocabulary, item.predicates)
        return [statement(value, predicate, item.subject) for predicate in predicates]

    def _begin(
        self,
        item: LexborNode,
        attrs: Attributes,
        vocabulary: str | None,
        frames: list[_Frame],
    ) -> list[str]:
        """Return the types of an item, and push its frame."""
        subject = self._subject(item, attrs)
        types, own = self._types(attrs.get("itemtype") or "")
        if own is not None:
            vocabulary = own
        known = self._known.get(vocabulary)
        if known is None:
            known = {"": []}
            if len(self._known) < _MAX_KNOWN:
                self._known[vocabulary] = known
        properties = self._properties(item, attrs)
        frames.append(_Frame(subject, vocabulary, known, properties))
        return [statement(subject, _TYPE, name) for name in types]

    def _types(self, written: str) -> _Types:
        """Return the types of an item, and the vocabulary of its properties."""
        known = self._known_types.get(written)
        if known is None:
            names = list(filter(None, map(self._type, written.split())))
            vocabulary = self._vocabularies.of_type(names[0]) if names else None
            known = list(map(iri, names)), vocabulary
            if len(self._known_types) < _MAX_KNOWN and len(written) <= _MAX_KNOWN_CHARS:
                self._known_types[written] = known
        return known

    def _type(self, name: str) -> str:
        """Return the IRI of a type; empty for a relative one."""
        if is_absolute(name):
            return name
        full = resolve(name, self._page.base) if name.startswith("//") else ""
        if _HOST.match(name):
            full = f"http://{name}"
        if full:
            self._repaired(f"a type without a scheme: {name}")
        else:
            self._repaired(f"a relative type is left out: {name}")
        return full

    def _subject(self, item: LexborNode, attrs: Attributes) -> str:
        subject = f"_:microdata{len(self._subjects)}"
        written = attrs.get("itemid")
        if written and (name := escape_url(written)):
            iri_of_item = resolve(name, self._page.base)
            if is_absolute(iri_of_item) and self._is_iri(iri_of_item):
                subject = iri(iri_of_item)
        self._subjects[item.mem_id] = subject
        return subject

    def _is_iri(self, written: str) -> bool:
        try:
            NamedNode(written)
        except ValueError as error:
            self._repaired(f"an itemid that is no IRI: {error}")
            return False
        return True

    def _predicates(
        self, names: str, vocabulary: str | None, known: _Predicates
    ) -> list[str]:
        """Return the predicates of properties and their entailed ones; section 6.3."""
        if names in known:
            return known[names]
        found: list[str] = []
        for name in dict.fromkeys(names.split()):
            if is_absolute(name):
                full = name
            elif vocabulary is None:
                full = self._page.base.partition("#")[0] + "#" + escape_url(name)
            else:
                full = vocabulary + name
            found += [iri(full), *map(iri, self._vocabularies.entailed.get(full, ()))]
        if self._n_known < _MAX_KNOWN and len(names) <= _MAX_KNOWN_CHARS:
            self._n_known += 1
            known[names] = found
        return found

    # -- HTML Standard 5.2.5 "Associating names with items" --------------------------

    def _properties(self, item: LexborNode, attrs: Attributes) -> Iterator[_Marked]:
        """Return the elements that are properties of an item, each once."""
        if names := (attrs.get("itemref") or "").split():
            return self._referred_properties(item, dict.fromkeys(names))
        return iter(self._own[item.mem_id])

    def _referred_properties(
        self, item: LexborNode, names: Iterable[str]
    ) -> Iterator[_Marked]:
        seen = {item.mem_id}
        found = list(map(self._by_id.get, names))
        roots = filter(None, found)
        if n_missing := found.count(None):
            self._repaired("itemref names no element of the page", n_missing)
        pending: list[Iterator[LexborNode]] = [chain(item.iter(), roots)]
        while pending:
            node = next(pending[-1], None)
            if node is None:
                pending.pop()
                continue
            if node.mem_id in seen:
                continue
            seen.add(node.mem_id)
            self._count_step()
            attrs = node.attributes
            if not _NAMES.isdisjoint(attrs):
                yield node, attrs
            if "itemscope" not in attrs:
                pending.append(iter(node.iter()))

    @cached_property
    def _by_id(self) -> dict[str, LexborNode]:
        nodes = reversed(self._page.tree.css("[id]"))  # the first one of each
        return {node.attributes["id"] or "": node for node in nodes}

    def _count_step(self) -> None:
        if self._n_steps_left < 0:
            self._n_steps_left = MAX_REPEATED + 2 * self._page.data.count(b"<")
        self._n_steps_left -= 1
        if self._n_steps_left < 0:
            raise SourceFault(Reason.TOO_LARGE, "itemref repeats too many elements")

    # -- HTML Standard 5.2.4 "Values", Microdata to RDF section 6.2 -------------------

    def _value(self, node: LexborNode, attrs: Attributes) -> str:
        tag = node.tag or ""
        attribute = _URL_ATTRIBUTES.get(tag)
        if attribute is not None:
            if attribute in attrs:
                return self._url(attrs[attribute] or "")
            if "content" not in attrs:
                return literal("")
        elif tag in _NUMBERS and ("value" in attrs or "content" not in attrs):
            return self._number(node, attrs)
        elif tag == "time":
            return self._time(node, attrs)
        if "content" in attrs or tag == "meta":
            return self._text(node, attrs.get("content") or "")
        return self._text(node, node.text())

    def _url(self, written: str) -> str:
        if self._root and _FROM_ROOT.fullmatch(written):
            return f"<{self._root}{written}>"  # same result as below, but faster
        known = self._known_urls.get(written)
        if known is not None:
            return known
        url = escape_url(written)
        absolute = resolve(url, self._page.base)
        if not is_absolute(absolute):
            return literal(url)
        term = iri(absolute)
        if len(self._known_urls) < _MAX_KNOWN and len(written) <= _MAX_KNOWN_CHARS:
            self._known_urls[written] = term
        return term

    def _number(self, node: LexborNode, attrs: Attributes) -> str:
        text = attrs.get("value") or ""
        if _INTEGER.fullmatch(text):
            return literal(text, datatype=XSD + "integer")
        if _DOUBLE.fullmatch(text):
            return literal(text, datatype=XSD + "double")
        return self._text(node, text)

    def _time(self, node: LexborNode, attrs: Attributes) -> str:
        written = attrs.get("datetime", attrs.get("content", ""))
        text = node.text() if {"datetime", "content"}.isdisjoint(attrs) else written
        stripped = (text or "").strip()
        for is_form, datatype in _TIMES:
            if is_form(stripped):
                return literal(stripped, datatype=datatype)
        return self._text(node, text or "")

    def _text(self, node: LexborNode, text: str) -> str:
        self._n_chars_left -= len(text)
        if self._n_chars_left < 0:
            raise SourceFault(Reason.TOO_LARGE, "values that hold one another")
        return literal(text, language=self._page.language_of(node))


def _own_properties(
    page: ParsedPage, *, has_reverse: bool
) -> tuple[list[_Marked], dict[int, list[_Marked]]]:
    """Return the items, and the properties of each that are outside nested items.

    Each marked element and each ancestor is visited once.
    """
    found: list[_Marked] = []
    own: dict[int, list[_Marked]] = {}
    items: dict[int, int] = {}  # innermost item by element; 0 if none
    selector = "[itemscope],[itemprop]"
    if has_reverse:
        selector += ",[itemprop-reverse]"
    for node in page.tree.css(selector):
        key = node.mem_id
        if key in items:  # `css` yields an element once per matching selector
            continue
        parent = node.parent
        above = 0 if parent is None else parent.mem_id
        item = items.get(above)
        if item is None:
            item = _item_around(node, items)
        attrs = node.attributes
        marked = node, attrs
        if item and ("itemprop" in attrs or "itemprop-reverse" in attrs):
            own[item].append(marked)
        if "itemscope" in attrs:
            found.append(marked)
            own[key] = []
            item = key
        items[key] = item
    return found, own


def _item_around(node: LexborNode, items: dict[int, int]) -> int:
    """Return the item around an element, and cache the result for its ancestors."""
    path: list[int] = []
    item: int | None = 0
    above = node.parent
    while above is not None:
        key = above.mem_id
        item = items.get(key)
        if item is not None:
            break
        path.append(key)
        above = above.parent
    item = item or 0
    for key in path:
        items[key] = item
    return item


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularyRegistry:
    """The registry of Microdata vocabularies: Microdata to RDF, section 4.

    `prefixes` has pairs of type prefix and vocabulary, the longest prefix first;
    `entailed` has IRIs of entailed properties by property.
    """

    prefixes: tuple[tuple[str, str], ...]
    entailed: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, registry: Mapping[str, Mapping[str, Any]]) -> Self:
        """Parse a registry in the form of section 4."""
        prefixes = {
            uri: uri if uri.endswith(("/", "#")) else uri + "#" for uri in registry
        }
        entailed = {}
        for uri, entry in registry.items():
            for name, rules in entry.get("properties", {}).items():
                found: list[str] = []
                for rule in ("subPropertyOf", "equivalentProperty"):
                    named = rules.get(rule, ())
                    found += [named] if isinstance(named, str) else named
                if found:
                    entailed[prefixes[uri] + name] = tuple(found)
        by_length = sorted(prefixes.items(), key=lambda item: -len(item[0]))
        return cls(prefixes=tuple(by_length), entailed=entailed)

    def of_type(self, item_type: str) -> str:
        """Return the vocabulary of a type: the prefix of property names."""
        for prefix, vocabulary in self.prefixes:
            if item_type.startswith(prefix):
                return vocabulary
        head, sign, _ = item_type.partition("#")
        return head + sign if sign else item_type[: item_type.rfind("/") + 1]


@cache
def default_registry() -> Mapping[str, Mapping[str, Any]]:
    """Return the registry that comes with the package, in the form of section 4."""
    registry: dict[str, dict[str, Any]] = read_table("microdata_registry")
    return registry


@cache
def default_vocabularies() -> VocabularyRegistry:
    """Return the registry that comes with the package."""
    return VocabularyRegistry.of(default_registry())
