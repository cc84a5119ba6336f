"""Extract the microformats of a page: convert its items to statements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import mf2py

from rdfcrawl.core.errors import FaultLog, fault_of_exception
from rdfcrawl.core.namespaces import RDF, RDF_TYPE, XSD
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.html.microformats.gathering import (
    BOUNDED,
    INLINE,
    MARKUP,
    UNKNOWN_LANGUAGE,
    ItemGatherer,
    ValueKind,
    item_types,
)
from rdfcrawl.rdf.html.microformats.relationships import extract_relationships
from rdfcrawl.rdf.html.rdfa.elements import time_datatype
from rdfcrawl.rdf.iris import escape_url, is_iri, is_web_url
from rdfcrawl.rdf.terms import language_tag, statement

if TYPE_CHECKING:
    from rdfcrawl.rdf.html.microformats.gathering import (
        ContentRecorder,
        MicroformatProperty,
    )
    from rdfcrawl.rdf.html.page import ParsedPage


def extract_microformats(
    page: ParsedPage, log: FaultLog, *, is_bounded: bool = True
) -> Iterator[str]:
    """Yield the statements of a page's microformats as lines of N-Quads.

    `docs/reference/microformats.md` lists them. `log` takes `TOO_DEEP` and `TOO_LARGE`
    for items that would take too long, and `PARSE_CRASH` if mf2py fails. `is_bounded`
    is that of the process.

    Raises:
        NeedsSandbox: the page may take long, and the process is not bounded.
        SourceFault: see `ParsedPage.tree`.

    Source: the microformats2 parsing specification, with its rules for classic ones.
    """
    limits = BOUNDED if is_bounded else INLINE
    gatherer = ItemGatherer(page.default_language, page.base, log, limits)
    gatherer.gather(page.tree)
    writer = MicroformatWriter(page.url.partition("#")[0], gatherer.authored)
    for soup in gatherer.items:
        try:
            parsed = mf2py.parse(doc=soup, url=page.base, expose_dom=True)
        except Exception as error:
            # A failure of mf2py must not lose the other items.
            found = fault_of_exception(error, "microformats", page.url)
            log.note(found.reason, found.detail, part=found.part)
            continue
        for item in parsed["items"]:
            yield from writer.statements(item)
    yield from extract_relationships(page, log)


Item = dict[str, Any]  # from mf2py: microformats2 JSON

# Root properties of microformats 1: mf2py also makes a nested item of them.
_OWN_NAMES = frozenset({"name", "url", "photo"})
_TYPE = terms.iri(RDF_TYPE)


class _Open:
    """An item being written; `parts` are nested items that are no property values."""

    def __init__(self, item: Item, node: str, outer_language: str) -> None:
        self.item = item
        self.node = node
        own = language_tag(item.get("lang") or "") or outer_language
        self.language = "" if own == UNKNOWN_LANGUAGE else own
        types = item_types()
        self.kinds = [types[name] for name in item["type"] if name in types]
        self.parts: list[Item] = list(item.get("children", ()))
        self.inner: list[tuple[Item, str]] = []


class MicroformatWriter:
    """Writer of items, with blank nodes that are unique in the page.

    `url` is the URL of the page, without fragment; `authored` has the original markup.
    """

    def __init__(self, url: str, authored: ContentRecorder) -> None:
        self._url = url
        self._authored = authored
        self._n_blank = 0

    def statements(self, item: Item) -> Iterator[str]:
        """Yield the statements of an item and of its nested items."""
        waiting = [_Open(item, self._node(item), "")]
        while waiting:
            opened = waiting.pop()
            for kind in opened.kinds:
                yield statement(opened.node, _TYPE, kind.kind)
            yield from self._properties(opened)
            for part in opened.parts:
                inner = self._node(part)
                opened.inner.append((part, inner))
                if opened.kinds and _is_known(part):
                    yield statement(opened.node, opened.kinds[0].children, inner)
            for part, inner in reversed(opened.inner):
                waiting.append(_Open(part, inner, opened.language))

    def _properties(self, opened: _Open) -> Iterator[str]:
        vias: dict[tuple[str, ...], str] = {}
        # mf2py returns properties of one element in random order.
        for name, values in sorted(opened.item["properties"].items()):
            known = (x.properties[name] for x in opened.kinds if name in x.properties)
            spec = next(known, None)
            if spec is None:
                opened.parts += filter(_is_item, values)
                continue
            subject = opened.node
            if spec.via:
                if spec.via not in vias:
                    vias[spec.via] = self._new_blank()
                    yield statement(subject, spec.via[0], vias[spec.via])
                    yield statement(vias[spec.via], _TYPE, spec.via[1])
                subject = vias[spec.via]
            before = None
            for value in values:
                # An element with two kinds of one property was parsed twice.
                if not _is_same(value, before):
                    yield from self._value(opened, name, spec, subject, value)
                before = value

    def _value(
        self,
        opened: _Open,
        name: str,
        spec: MicroformatProperty,
        subject: str,
        value: Any,
    ) -> Iterator[str]:
        if _is_item(value) and _takes_item(spec, value):
            inner = self._node(value)
            opened.inner.append((value, inner))
            yield statement(subject, spec.item, inner)
            return
        if _is_item(value) and name not in _OWN_NAMES:
            opened.parts.append(value)
        if isinstance(value, dict) and "dom" in value and not _is_item(value):
            term = self._markup(value, opened.language)
        else:
            term = _term(value, spec.kind, opened.language)
        if term:
            yield statement(subject, spec.term, term)

    def _markup(self, value: Item, language: str) -> str:
        """Return the value of an `e-*` property with its authored markup."""
        html = self._authored.content(int(value["dom"][MARKUP]))
        if html is None:
            return ""
        own = language_tag(value.get("lang") or "") or language
        own = "" if own == UNKNOWN_LANGUAGE else own
        if "<" in html:
            return terms.literal(html, datatype=RDF + "HTML")
        return terms.literal(value.get("value") or "", language=own)

    def _node(self, item: Item) -> str:
        for uid in item["properties"].get("uid", ()):
            if isinstance(uid, str) and uid.lower().startswith(("http://", "https://")):
                node = value_term(uid, ValueKind.ANY, "")
                if node.startswith("<"):
                    return node
        name = item.get("id")
        if name and not name.isspace():
            return terms.iri(f"{self._url}#{name}")
        return self._new_blank()

    def _new_blank(self) -> str:
        self._n_blank += 1
        return terms.blank(f"mf{self._n_blank}")


def _is_item(value: Any) -> bool:
    return isinstance(value, dict) and "type" in value


def _is_known(item: Item) -> bool:
    return not item_types().keys().isdisjoint(item["type"])


def _is_same(value: Any, other: Any) -> bool:
    if not (_is_item(value) and _is_item(other)):
        return False
    keys = ("type", "properties", "children")
    return all(value.get(key) == other.get(key) for key in keys)


def _takes_item(spec: MicroformatProperty, item: Item) -> bool:
    """Return whether an item becomes a node, not just its text."""
    if not _is_known(item):  # only its name is useful
        return False
    if spec.kind is ValueKind.GEO:  # "latitude;longitude" is no item
        return "latitude" in item["properties"]
    return spec.kind is ValueKind.ANY or spec.item != spec.term


def _term(value: Any, kind: ValueKind, language: str) -> str:
    """Return the term of a value that is no item; for an image, its URL."""
    if isinstance(value, dict):
        value = value.get("value") or ""
    if not isinstance(value, str) or not value.strip():
        return ""
    return value_term(value, kind, language)


_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_DECIMAL = re.compile(r"[+-]?[0-9]{0,30}\.[0-9]{1,30}")
_MAIL = re.compile(r"[^\s<>\"{}|\\^`:@]+@[^\s<>\"{}|\\^`:@]+").fullmatch
_TEL = re.compile(r"\+?[0-9][0-9\s().\-/]{1,40}")
_GEO = re.compile(r"\s*([+-]?[0-9.]{1,20})\s*[;,]\s*([+-]?[0-9.]{1,20})\s*")
# Dates as in the microformats value class pattern, and the compact form of ISO 8601.
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{3}|[0-9]{8})"
    r"(?:[T ]([0-9]{1,2})(?::?([0-9]{2})(?::?([0-9]{2}(?:\.[0-9]{1,9})?))?)?"
    r" ?(Z|[+-][0-9]{1,2}(?::?[0-9]{2})?)?)?"
)
_HOUR = re.compile(r"([+-])([0-9]{1,2})(?::?([0-9]{2}))?")


def value_term(text: str, kind: ValueKind, language: str) -> str:
    """Return a value as a term: text, unless it has the form of its kind."""
    stripped = text.strip()
    found = _iri(is_iri, stripped) if kind in _IRI_KINDS else ""
    if not found and kind is not ValueKind.TEXT:
        found = _READERS[kind](stripped)
    return found or terms.literal(text, language=language)


def time_term(text: str) -> str:
    """Return a date, time or duration as a typed literal; empty for other text.

    >>> time_term("2024-5-1"), time_term("2024-05-01 9:30-0700").partition("^")[0]
    ('', '"2024-05-01T09:30:00-07:00"')
    """
    match = _MOMENT.fullmatch(text)
    if not match:
        datatype = time_datatype(text)
        return terms.literal(text, datatype=datatype) if datatype else ""
    on, hour, minute, second, zone = match.groups()
    try:
        day = datetime.combine(_day(on), time(int(hour or 0), int(minute or 0)))
    except (ValueError, OverflowError):
        return ""
    if hour is None:
        return terms.literal(day.date().isoformat(), datatype=XSD + "date")
    if second and float(second) >= 60:
        return ""
    minutes = day.isoformat(timespec="minutes")
    moment = f"{minutes}:{second or '00'}{_zone(zone or '')}"
    return terms.literal(moment, datatype=XSD + "dateTime")


def _day(text: str) -> date:
    year, _, day = text.partition("-")
    if len(day) == 3:  # day of the year
        found = date(int(year), 1, 1) + timedelta(days=int(day) - 1)
        if found.year != int(year):
            raise ValueError(text)
        return found
    return date.fromisoformat(text)


def _zone(text: str) -> str:
    match = _HOUR.fullmatch(text)
    if not match:
        return text
    return f"{match[1]}{match[2]:0>2}:{match[3] or '00'}"


def _iri(is_form: Callable[[str], object], text: str, prefix: str = "") -> str:
    return terms.iri(prefix + text) if is_form(text) else ""


def _number(text: str) -> str:
    if _INTEGER.fullmatch(text):
        return terms.literal(text, datatype=XSD + "integer")
    if _DECIMAL.fullmatch(text):
        return terms.literal(text, datatype=XSD + "decimal")
    return ""


def _tel(text: str) -> str:
    """Return a `tel:` URI (RFC 3966); visual separators are `-`, `.` and brackets."""
    if not _TEL.fullmatch(text):
        return ""
    return terms.iri("tel:" + re.sub(r"[\s/]+", "-", text))


def _geo(text: str) -> str:
    """Return a `geo:` URI (RFC 5870) for "latitude;longitude" (hCard)."""
    match = _GEO.fullmatch(text)
    return terms.iri(f"geo:{match[1]},{match[2]}") if match else ""


_IRI_KINDS = {ValueKind.IRI, ValueKind.MAIL, ValueKind.TEL, ValueKind.GEO}
_READERS: dict[ValueKind, Callable[[str], str]] = {
    ValueKind.IRI: lambda text: _iri(is_web_url, escape_url(text)),
    ValueKind.ANY: lambda text: _iri(is_web_url, text),
    ValueKind.TIME: time_term,
    ValueKind.NUMBER: _number,
    ValueKind.MAIL: lambda text: _iri(_MAIL, text, "mailto:"),
    ValueKind.TEL: _tel,
    ValueKind.GEO: _geo,
}
