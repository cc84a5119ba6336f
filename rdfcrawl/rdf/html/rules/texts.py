"""Return text, link and language of a selected part."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from lxml import etree

from rdfcrawl.rdf.html.iris import is_iri
from rdfcrawl.rdf.html.rules.selectors import Element, Found, JsonValue, Scope

# Elements without rendered text, and block elements: HTML Standard, section 15.3
# "Non-replaced elements".
_HIDDEN: Final = frozenset({"script", "style", "template", "noscript"})
_BLOCKS: Final = frozenset(
    (
        *("address", "article", "aside", "blockquote", "br", "caption", "center", "dd"),
        *("details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption"),
        *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header"),
        *("hgroup", "hr", "legend", "li", "main", "menu", "nav", "ol", "option", "p"),
        *("pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead"),
        *("tr", "ul"),
    )
)
# Elements with the value in an attribute: HTML Standard, microdata, "property values".
_VALUES: Final = {
    "meta": "content", "data": "value", "meter": "value", "time": "datetime",
}  # fmt: skip
_LINKS: Final = ("href", "src", "data", "content")

is_language = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*").fullmatch
_spaces = re.compile(r"[ \t\n\r\f\u00a0]+")


def text_of(found: Found, *, attribute: str = "") -> str:
    """Return the text of a selected part, or of an attribute of an element."""
    if isinstance(found, str):
        return found
    if isinstance(found, JsonValue):
        return _json_text(found.value)
    name = attribute or _VALUES.get(found.tag)
    value = found.get(name) if name else None
    if attribute or value is not None:
        return value or ""
    return "".join(_iter_text(found))


def link_of(found: Found, *, attribute: str = "", is_plain: bool = True) -> str:
    """Return the link of a selected part or of its `attribute`; empty if there is none.

    If `is_plain`, the text of an element counts only if it is an IRI.
    """
    if attribute or isinstance(found, (str, JsonValue)):
        return text_of(found, attribute=attribute)
    for name in _LINKS:
        if (link := found.get(name)) is not None:
            return str(link)
    text = collapsed("".join(_iter_text(found)))
    return text if is_iri(text) or not is_plain else ""


def collapsed(text: str) -> str:
    """Return a text stripped and with single spaces."""
    return _spaces.sub(" ", text).strip(" ")


def language_of(found: Found | None, scope: Scope | None) -> str:
    """Return the language of an element, or of the part of the page around it.

    Source: HTML Standard, section 3.2.6.2, "The lang and xml:lang attributes".
    """
    element = scope
    if isinstance(found, str):
        # lxml's strings keep a reference to their element.
        parent = getattr(found, "getparent", lambda: None)()
        element = scope if parent is None else parent
    elif found is not None and not isinstance(found, JsonValue):
        element = found
    while element is not None and not isinstance(element, JsonValue):
        language = element.get("lang")
        if language is None:
            language = element.get("xml:lang")
        if language is not None:
            return language if is_language(language) else ""
        element = element.getparent()
    return ""


def _json_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def _iter_text(root: Element) -> Iterator[str]:
    """Yield the text of an element, with spaces around blocks."""
    hidden: Element | None = None
    for event, element in etree.iterwalk(
        root, events=("start", "end", "comment", "pi")
    ):
        space = " " if element.tag in _BLOCKS and element is not root else ""
        if event == "start":
            if hidden is None and element.tag in _HIDDEN and element is not root:
                hidden = element
            if hidden is None:
                yield space + (element.text or "")
            continue
        if element is hidden:
            hidden = None
        if hidden is None and element is not root:
            yield space + (element.tail or "")
