"""Parse a page as XML into a list of events."""

from __future__ import annotations

import re
from html.entities import name2codepoint
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

if TYPE_CHECKING:
    from rdfcrawl.rdf.html.page import PageHandler

# HTML entities; allowed in XML with a document type.
_NAMED = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z]")
_ENTITIES = "".join(
    f'<!ENTITY {name} "&#{code};">'
    for name, code in name2codepoint.items()
    if name not in {"amp", "lt", "gt", "quot"}
).encode()
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>", re.IGNORECASE)
# Limit of the growth of a page by its own entities.
_MAX_GROWTH = 20


Event = tuple[Any, ...]  # method of a `PageHandler`, and its arguments


def read_xml(text: str, *, is_html: bool = False) -> list[Event] | None:
    """Return the events of an XML page; None if not well-formed.

    If `is_html`, names become lower case, as in HTML. Nothing is fetched: HTML
    entities are known if there is a document type, and expat bounds the growth by
    others (100 times beyond 8 MiB).
    """
    declaration = _DECLARATION.match(text.removeprefix("\ufeff"))
    body = text.removeprefix("\ufeff")[declaration.end() if declaration else 0 :]
    reader = _XmlReader(len(body), has_entities=_NAMED.search(body) is not None)
    reader.is_html = is_html
    try:
        reader.parser.Parse(body.lstrip().encode("utf-8", "replace"), True)
    except (expat.ExpatError, _TooMuch):
        return None
    return reader.events


class _TooMuch(Exception):
    """Entities make the page grow too much."""


class _XmlReader:
    def __init__(self, n_chars: int, *, has_entities: bool) -> None:
        self.events: list[Event] = []
        self._has_subset = self.is_html = False
        self._n_left = _MAX_GROWTH * n_chars + 4096
        parser = self.parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = lambda _name: self.events.append(("end",))
        parser.CharacterDataHandler = self._text
        parser.CommentHandler = lambda text: self.events.append(("comment", text))
        if has_entities:
            parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)
            parser.ExternalEntityRefHandler = self._external
            parser.UseForeignDTD(True)

    def _external(self, context: str | None, *_: str | None) -> int:
        # No context: the external subset of the document type, or parameter entities.
        # Other external entities stay empty.
        if context is None and not self._has_subset:
            self._has_subset = True
            subset = self.parser.ExternalEntityParserCreate(context)
            subset.Parse(_ENTITIES, True)
        return 1

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._spend(64 + sum(map(len, attributes.values())))
        if self.is_html:
            name = name.lower()
            lower: dict[str, str] = {}
            for key, value in attributes.items():
                lower.setdefault(key.lower(), value)
            attributes = lower
        self.events.append(("start", name, attributes))

    def _text(self, text: str) -> None:
        self._spend(len(text))
        self.events.append(("text", text))

    def _spend(self, n_chars: int) -> None:
        self._n_left -= n_chars
        if self._n_left < 0:
            raise _TooMuch


def replay(events: list[Event], handler: PageHandler) -> None:
    """Pass the events of a page to a handler."""
    for method, *given in events:
        getattr(handler, method)(*given)


def first_base(events: list[Event]) -> str | None:
    """Return the `href` of the first `base` of an XHTML page."""
    starts = (given for method, *given in events if method == "start")
    bases = (attrs for name, attrs in starts if name.rpartition(":")[2] == "base")
    return next((attrs["href"] for attrs in bases if "href" in attrs), None)
