"""Compile CSS, XPath and JMESPath at start, and apply them to parts of pages.

CSS is that of parsel, including `::text` and `::attr(name)`. XPath is that of libxml2,
which has no function that opens a file. The regular expressions of EXSLT are disabled:
an expression could come from the page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import jmespath
from cssselect import SelectorError
from jmespath.exceptions import JMESPathError
from lxml import etree
from parsel.csstranslator import HTMLTranslator

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
        return iter(
            [] if math.isnan(found) else [f"{found:.15g}"]
        )  # NaN is not a number
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
