"""Compile CSS, XPath and JMESPath at start, and read the selected parts of pages.

CSS is that of parsel, including `::text` and `::attr(name)`. XPath is that of libxml2,
which has no function that opens a file. The regular expressions of EXSLT are disabled:
an expression could come from the page.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import jmespath
from cssselect import SelectorError
from jmespath.exceptions import JMESPathError
from lxml import etree
from parsel.csstranslator import HTMLTranslator

from rdfcrawl.rdf.iris import is_iri
from rdfcrawl.rdf.nesting import refuse_constant

if TYPE_CHECKING:
    from jmespath.parser import ParsedResult


MAX_SELECTOR_CHARS: Final = 2_000
MAX_MATCHES: Final = 10_000  # of one selector in one part of a page

_translator = HTMLTranslator()


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value of a JSON document."""

    value: Any


Element: TypeAlias = "etree._Element"  # noqa: SLF001 - it has no public name
Scope: TypeAlias = "Element | JsonValue"
Found: TypeAlias = "Element | JsonValue | str"


class SelectorFailed(Exception):
    """A selector fails on a page; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled selector, with the text for messages.

    `path` is XPath or translated CSS; it selects elements and texts. `query` is
    JMESPath; it applies to the JSON in these texts, or to a JSON part.
    """

    text: str
    path: etree.XPath | None = None
    query: ParsedResult | None = None

    def select(self, scope: Scope | None) -> Iterator[Found]:
        """Yield the matches in document order; none where the selector does not apply.

        Raises:
            SelectorFailed: a function met a wrong type, or a text is not JSON.
        """
        if self.path is None:
            if isinstance(scope, JsonValue) and self.query is not None:
                yield from _search(self.query, scope.value)
        elif scope is not None and not isinstance(scope, JsonValue):
            found = _evaluate(self.path, scope)
            if self.query is None:
                yield from found
            else:
                for part in found:
                    yield from _search(self.query, parse_json(_text_of(part)))


def css(text: str) -> Selector:
    """Compile a CSS selector; raise `ValueError` if invalid."""
    _check_length(text)
    try:
        expression = _translator.css_to_xpath(text)
    except (SelectorError, RecursionError) as error:
        raise ValueError(f"not a CSS selector: {text!r}: {error}") from error
    return Selector(text, compiled(expression))


def xpath(text: str) -> Selector:
    """Compile an XPath 1.0 expression; raise `ValueError` if invalid."""
    _check_length(text)
    return Selector(text, compiled(text))


def compiled(expression: str) -> etree.XPath:
    """Compile XPath; raise `ValueError` also for an unknown function or variable."""
    try:
        # With EXSLT, the page could supply the expression of "re:test".
        path = etree.XPath(expression, regexp=False)
        path(etree.Element("html"))  # names are resolved on use
    except (etree.XPathError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"not an XPath expression: {expression!r}: {error}") from error
    return path


def query(text: str) -> ParsedResult:
    """Compile a JMESPath expression; raise `ValueError` if invalid."""
    _check_length(text)
    try:
        return jmespath.compile(text)
    except (JMESPathError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"not a JMESPath expression: {text!r}: {reason}") from error


def parse_json(text: str) -> Any:
    """Parse JSON; NaN and Infinity are refused."""
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise SelectorFailed(f"not JSON: {error}") from error


def _check_length(text: str) -> None:
    if not text.strip():
        raise ValueError("the selector is empty; quote one that begins with #")
    if len(text) > MAX_SELECTOR_CHARS:
        raise ValueError(f"a selector is at most {MAX_SELECTOR_CHARS} characters")


def _evaluate(path: etree.XPath, scope: Element) -> Iterator[Found]:
    try:
        found = path(scope)
    except (etree.XPathError, ValueError, TypeError) as error:
        raise SelectorFailed(str(error)) from error
    if isinstance(found, list):
        return map(_plain, found)
    if isinstance(found, bool):
        return iter(["true" if found else "false"])
    if isinstance(found, float):
        # NaN is not a number
        return iter([] if math.isnan(found) else [f"{found:.15g}"])
    return iter([found] if found else [])


def _plain(found: Any) -> Found:
    """Return an element or a text; comments are texts, namespaces are empty."""
    if isinstance(found, str):
        return found
    if isinstance(found, tuple):
        return ""
    return found if isinstance(found.tag, str) else found.text or ""


def _search(expression: ParsedResult, value: Any) -> Iterable[JsonValue]:
    try:
        found = expression.search(value)
    except (JMESPathError, ValueError, TypeError, RecursionError) as error:
        raise SelectorFailed(str(error)) from error
    if isinstance(found, list):
        return [JsonValue(member) for member in found if member is not None]
    return [] if found is None else [JsonValue(found)]


def _text_of(part: Found) -> str:
    if isinstance(part, str):
        return part
    return "".join(part.itertext()) if not isinstance(part, JsonValue) else ""


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


def text_of(found: Found, attribute: str = "") -> str:
    """Return the text of a selected part, or of an attribute of an element."""
    if isinstance(found, str):
        return found
    if isinstance(found, JsonValue):
        value = found.value
        return (
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        )
    name = attribute or _VALUES.get(found.tag)
    value = found.get(name) if name else None
    if attribute or value is not None:
        return value or ""
    return "".join(_iter_text(found))


def link_of(found: Found, attribute: str = "", *, is_plain: bool = True) -> str:
    """Return the link of a selected part or of its `attribute`; empty if there is none.

    If `is_plain`, the text of an element counts only if it is an IRI.
    """
    if attribute or isinstance(found, (str, JsonValue)):
        return text_of(found, attribute)
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
        language = element.get("lang", element.get("xml:lang"))
        if language is not None:
            return language if is_language(language) else ""
        element = element.getparent()
    return ""


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
