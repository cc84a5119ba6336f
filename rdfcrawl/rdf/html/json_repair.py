"""Read the JSON of pages: strictly, else with repairs, which are counted.

A valid block stays unchanged, even if its strings contain text like damage.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from typing import Any, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.nesting import MAX_DEPTH, is_json_too_deep, refuse_constant

MAX_VALUES: Final = 1000  # JSON values in a row in one block

# Each alternative matches once it begins, so the text is read once.
_STRING = r'"(?:[^"\\]|\\.?)*+(?:"|\Z)'
_TOKEN = re.compile(
    rf"(?P<string>{_STRING})"
    r"|(?P<cdata>(?://\s*+)?(?:<!\[CDATA\[|\]\]>))"
    r"|(?P<html>(?://\s*+)?(?:<!--|-->))"
    r"|(?P<js>/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|//[^\n]*+)",
    re.DOTALL,
)
_HTML_COMMENT = re.compile(rf"({_STRING})|<!--(?:[^-]|-(?!->))*+(?:-->|\Z)", re.DOTALL)
_COMMA = re.compile(rf"({_STRING})|,(?=\s*+[}}\]])|,(?=\s*+,)", re.DOTALL)
_BAD_ESCAPE = re.compile(r'(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\')
_ENTITY = re.compile(rf"({_STRING})|&(?:quot|#0*34|#x0*22);", re.IGNORECASE | re.DOTALL)
_BETWEEN = re.compile(r"[\s,;]*+")
_KINDS: Final = {"cdata": "CDATA", "html": "HTML comments", "js": "comments"}


def load_json(text: str) -> tuple[Any, Counter[str]]:
    """Return the value of a block, and the number of repairs by kind of damage.

    Several values in a row become a list.

    Raises:
        SourceFault: `SYNTAX` or `TOO_DEEP`: the block is beyond repair.

    >>> load_json('{"a": [1, 2,], /* b */ }')
    ({'a': [1, 2]}, Counter({'trailing commas': 2, 'comments': 1}))
    """
    repairs: Counter[str] = Counter()
    if text.startswith("\ufeff"):
        repairs["byte order mark"] += 1
        text = text.lstrip("\ufeff")
    _check_depth(text)
    try:
        return _loads(text), repairs
    except ValueError:
        pass
    text = _repair(text, repairs)
    _check_depth(text)  # a quote in a comment hid the rest from the first check
    try:
        return _loads(text), repairs
    except ValueError:
        pass
    return _load_loosely(text, repairs), repairs


def _check_depth(text: str) -> None:
    if is_json_too_deep(text.encode("utf-8", "replace")):
        detail = f"JSON nested deeper than {MAX_DEPTH} levels"
        raise SourceFault(Reason.TOO_DEEP, detail)


def _loads(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except RecursionError as error:  # cannot happen: the depth was checked
        raise SourceFault(Reason.TOO_DEEP, "JSON nested too deep") from error


def _repair(text: str, repairs: Counter[str]) -> str:
    """Remove anything outside strings that JSON does not allow."""
    found = _ENTITY.finditer(text)
    if any(each[1] is None for each in found):
        repairs["HTML entities"] += 1
        text = html.unescape(text)
    if "<!--" in text:
        text = _without_html_comments(text, repairs)

    def replace(match: re.Match[str]) -> str:
        kind = match.lastgroup or "string"
        if kind == "string":
            return match[0]
        repairs[_KINDS[kind]] += 1
        return " "

    text, n_commas = _sub_outside(_COMMA, "", _TOKEN.sub(replace, text))
    if n_commas:
        repairs["trailing commas"] += n_commas
    return text


def _without_html_comments(text: str, repairs: Counter[str]) -> str:
    """Remove comments, unless one contains the JSON itself."""
    kept, n_comments = _sub_outside(_HTML_COMMENT, " ", text)
    if "{" not in kept and "[" not in kept:
        return text
    repairs["HTML comments"] += n_comments
    return kept


def _sub_outside(pattern: re.Pattern[str], by: str, text: str) -> tuple[str, int]:
    """Replace matches outside strings; strings are the first group of the pattern."""
    n_replaced = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal n_replaced
        if match[1] is not None:
            return match[1]
        n_replaced += 1
        return by

    return pattern.sub(replace, text), n_replaced


def _load_loosely(text: str, repairs: Counter[str]) -> Any:
    """Parse values despite control characters, wrong escapes and trailing text."""
    escaped, n_escapes = _sub_outside(_BAD_ESCAPE, "", text)
    if n_escapes:
        repairs["wrong escapes"] += n_escapes
    decoder = json.JSONDecoder(strict=False, parse_constant=refuse_constant)
    values: list[Any] = []
    at = _end_of_space(escaped, 0)
    try:
        while at < len(escaped) and len(values) < MAX_VALUES:
            value, at = decoder.raw_decode(escaped, at)
            values.append(value)
            at = _end_of_space(escaped, at)
    except (ValueError, RecursionError) as error:
        if not values:
            raise SourceFault(Reason.SYNTAX, f"no JSON: {error}") from error
        repairs["text after JSON"] += 1
    if not values:
        raise SourceFault(Reason.SYNTAX, "no JSON: empty")
    strings = re.findall(_STRING, escaped, re.DOTALL)
    if n_control := sum(min(text) < " " for text in strings):
        repairs["control characters"] += n_control
    if len(values) > 1:
        repairs["several values"] += 1
        return [
            item
            for value in values
            for item in (value if isinstance(value, list) else [value])
        ]
    if not repairs:
        repairs["text after JSON"] += 1
    return values[0]


def _end_of_space(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at
