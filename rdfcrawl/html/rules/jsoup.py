"""Translate selectors of jsoup to XPath, as far as possible."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from cssselect import SelectorError
from cssselect.xpath import ExpressionError, GenericTranslator
from parsel.csstranslator import HTMLTranslator

from rdfcrawl.html.rules.selectors import MAX_SELECTOR_CHARS, Selector, compiled

if TYPE_CHECKING:
    from cssselect.parser import Function
    from cssselect.xpath import XPathExpr

_PSEUDO = re.compile(r":contains(?:Own)?\(")
_EXPRESSION = re.compile(r"~=|:matches\w*(?=\()")
_UNQUOTED = re.compile(r"\[\s*([\w-]+)\s*([|^$*]?=)\s*([^\"'\]\s][^\"'\]]*?)\s*\]")
# XPath 1.0 has no lower-case(); these are the letters of Latin-1.
_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞ"


class _JsoupTranslator(HTMLTranslator):
    """CSS with the extensions of jsoup."""

    def xpath_contains_function(
        self, xpath: XPathExpr, function: Function
    ) -> XPathExpr:
        """Translate `:contains()`, which ignores case."""
        return self._contains(xpath, function, "normalize-space(.)")

    def xpath_containsown_function(
        self, xpath: XPathExpr, function: Function
    ) -> XPathExpr:
        """Translate `:containsOwn()`, which looks at the element's own text."""
        return self._contains(xpath, function, "normalize-space(text())")

    def xpath_eq_function(self, xpath: XPathExpr, function: Function) -> XPathExpr:
        """Translate `:eq(n)`, the n-th child, from 0."""
        return self._index(xpath, function, "=")

    def xpath_lt_function(self, xpath: XPathExpr, function: Function) -> XPathExpr:
        """Translate `:lt(n)`, before the n-th child."""
        return self._index(xpath, function, "<")

    def xpath_gt_function(self, xpath: XPathExpr, function: Function) -> XPathExpr:
        """Translate `:gt(n)`, after the n-th child."""
        return self._index(xpath, function, ">")

    @staticmethod
    def _contains(xpath: XPathExpr, function: Function, text: str) -> XPathExpr:
        if function.argument_types() not in (["STRING"], ["IDENT"]):
            raise ExpressionError("contains() needs one text")
        wanted = (function.arguments[0].value or "").lower()
        lower = f"translate({text}, '{_UPPER}', '{_UPPER.lower()}')"
        quoted = GenericTranslator.xpath_literal(wanted)
        return xpath.add_condition(f"contains({lower}, {quoted})")

    @staticmethod
    def _index(xpath: XPathExpr, function: Function, operator: str) -> XPathExpr:
        if function.argument_types() != ["NUMBER"]:
            raise ExpressionError("eq(), lt() and gt() need one number")
        number = int(function.arguments[0].value or 0)
        return xpath.add_condition(f"count(preceding-sibling::*) {operator} {number}")


_translator = _JsoupTranslator()


def jsoup(text: str) -> Selector:
    """Parse a selector of jsoup; raise `ValueError` if not translatable."""
    text = text.strip()
    if not text or len(text) > MAX_SELECTOR_CHARS:
        raise ValueError(f"a selector has 1 to {MAX_SELECTOR_CHARS} characters")
    if expression := _EXPRESSION.search(text):
        raise ValueError(
            f"selector {text!r}: {expression[0]} takes a regular expression there"
        )
    quoted = _UNQUOTED.sub(r'[\1\2"\3"]', _quoted(text))
    try:
        return Selector(text, compiled(_translator.css_to_xpath(quoted)))
    except (SelectorError, ValueError, RecursionError) as error:
        raise ValueError(f"selector {text!r}: {error}") from error


def closing(text: str, start: int) -> int:
    """Return where the parenthesis is closed that was opened before `start`, or -1."""
    depth = 1
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if not depth:
            return index
    return -1


def _quoted(text: str) -> str:
    """Quote the argument of `:contains()`, which jsoup does not require."""
    pieces: list[str] = []
    start = 0
    while found := _PSEUDO.search(text, start):
        end = closing(text, found.end())
        if end < 0:
            break
        wanted = text[found.end() : end].strip()
        if wanted[:1] not in {'"', "'"}:
            wanted = '"' + wanted.replace("\\", "\\\\").replace('"', '\\"') + '"'
        pieces += [text[start : found.end()], wanted, ")"]
        start = end + 1
    return "".join(pieces) + text[start:]
