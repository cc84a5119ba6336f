"""Read text that is nearly JSON: after JavaScript, HTML and templates, or truncated.

The strict parser reads well-formed values. The others are read once, from left to
right; wherever a well-formed value cannot be meant differently, it is read the same.
Bad members of objects and arrays are left out, and counted as losses.
"""

from __future__ import annotations

import html
import json
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.jsonld.mended_tokens import (
    BARE,
    COMMAS,
    KEY,
    MARKUP,
    MEMBER,
    NEXT_MEMBER,
    NOTHING,
    PLAIN_VALUE,
    QUOTES,
    SPACES,
    UNOPENED,
    MendedJson,
    TokenReader,
    TruncatedText,
)
from rdfcrawl.rdf.nesting import MAX_DEPTH, TOO_DEEP, check_depth, refuse_constant

_IGNORED = re.compile(
    rf"(?P<space>[{SPACES}]++|&nbsp;|&#160;)|(?P<tags>{MARKUP.pattern})"
    r"|(?P<placeholders>\{%[^{}\"%]*+%\}|\.{3}|\u2026)"
    r"|(?P<conflicts>(?<=\n)(?:<{7}|={7}|>{7})[^\n]*+)"  # of version control
    r"|(?P<prefixes>\bu(?=[\"']))"  # of strings in Python
    r"|(?P<CDATA>(?://\s*+)?(?:<!\[CDATA\[|\]\]>))"
    r"|(?P<HTML>(?://\s*+)?(?:<!--|-->))"
    r"|(?P<comments>/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|(?://|(?<!\S)#)[^\n\r\u2028]*+)",
    re.IGNORECASE,
)
_COLON = re.compile(r"(?:[^\w\s{\[:\uff1a]\s*+)?+(?:[:\uff1a]\s*+)++|=>?")
_PLACEHOLDER = re.compile(
    r"[$#]\{[^{}]*+\}|\{\s*+\w++\s*+\}|\{{3}[^{}]*+\}{3}"
    r"|\{\{(?!\s*+[\"']|\s*+\w++\s*+:)[^{}]*+\}\}"
)
_NEXT_NODE = re.compile(r"\s*+,\s*+\{\s*+[\"'}]")
_DOUBLED = re.compile(r'\s*+[\[{][\s\[{]*+""[\w@$:.-]++""\s*+:')  # as in CSV
_ESCAPED = re.compile(r'\s*+[\[{][\s\[{]*+\\"(?:[^"\\]|\\[^"])*+\\"\s*+:')
_ENTITY = re.compile(r"&(?:amp;){0,3}+(?:quot|#0*34|#x0*22);", re.IGNORECASE)
# Of the strict parser; each takes the time to count the lines before.
_MAX_FAILURES: Final = 64
_MERGED: Final = frozenset({"@graph", "@included", "@type"})
_NAMES: Final = frozenset({"@id", "@type", "id", "type"})  # first keys of objects
_LOST: Final = object()  # in place of a key that cannot be read
_MAX_BRACKETS: Final = 64  # looked at after a wrong one


def mended_json(
    text: str,
    *,
    merges: bool = False,
    keeps_open: bool = False,
    is_whole: bool = False,
) -> MendedJson:
    """Return the objects and arrays of a text.

    Args:
        text: that the strict parser refuses.
        merges: merge values of duplicate keys in valid text, too.
        keeps_open: keep objects that are truncated, and not only nodes with a name.
        is_whole: the text is not truncated; brackets may be missing at its end.

    >>> mended_json("var x = {a: [1, 2,], /* b */};").values
    [{'a': [1, 2]}]
    """
    found = MendedJson()
    options = _Options(merges=merges, keeps_open=keeps_open, is_whole=is_whole)
    if text.startswith("\ufeff"):
        found.repairs["byte order mark"] += 1
        text = text.lstrip("\ufeff")
    if _ESCAPED.match(text):
        with suppress(ValueError):
            text = str(json.loads(f'"{text}"', strict=False))
            found.repairs["escaped quotation marks"] += 1
    if _DOUBLED.match(text):
        text = text.replace('""', '"')
        found.repairs["doubled quotation marks"] += 1
    try:
        _Reader(text, found, options).read_all()
    except _EntityFound:
        found.values.clear()
        found.repairs["HTML entities"] += 1
        options = replace(options, unescapes=False)
        text = html.unescape(text)
        while '"' not in text and _ENTITY.search(text):  # escaped several times
            text = html.unescape(text)
        _Reader(text, found, options).read_all()
    return found


class _EntityFound(Exception):
    """Quotation marks are written as entities."""


@dataclass(slots=True)
class _Open:
    """An open object or array."""

    value: Any
    in_context: bool
    key: Any = None  # of an object, until its value is read; or `_LOST`
    is_complete: bool = False  # a comma must follow before the next member


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """See `mended_json`."""

    merges: bool
    keeps_open: bool
    is_whole: bool
    unescapes: bool = True  # entities in place of quotation marks


class _Reader(TokenReader):
    """Reader of one text."""

    def __init__(self, text: str, found: MendedJson, options: _Options) -> None:
        super().__init__(text, found)
        self._options = options
        self._stack: list[_Open] = []
        self._comment_end = -1
        self._n_failures = 0  # of the strict parser
        self._last_bracket = max(text.rfind("{"), text.rfind("["))
        self._decoder = json.JSONDecoder(parse_constant=refuse_constant)

    def read_all(self) -> None:
        text, found = self._text, self._found
        is_after_comma = False
        while True:
            self._skip()
            if self._at >= len(text):
                break
            closed = found.values[-1] if found.values and is_after_comma else None
            is_missing = (not found.values or isinstance(closed, dict)) and bool(
                NEXT_MEMBER.match(text, self._at)
            )
            if is_missing or text[self._at] in "{[":
                value = self._next_value(is_missing=is_missing)
                if is_missing and closed and value is not NOTHING:
                    self._add_members(closed, value)
                elif value is not NOTHING:
                    found.values.append(value)
                is_after_comma = False
            else:
                is_after_comma = text[self._at] in COMMAS
                if is_after_comma and found.values:
                    self._repaired("trailing commas")
                elif not is_after_comma:
                    where = "after" if found.values else "before"
                    if not found.repairs[f"text {where} JSON"]:
                        self._repaired(f"text {where} JSON")
                self._at += 1
        if len(found.values) > 1:
            found.repairs["several values"] += 1

    def _add_members(self, closed: dict[str, Any], members: dict[str, Any]) -> None:
        """Add members to an object that was closed before them."""
        top = _Open(closed, in_context=False)
        for top.key, value in members.items():
            self._put(top, value)

    def _next_value(self, *, is_missing: bool = False) -> Any:
        is_strict = not (is_missing or self._options.merges)
        if is_strict and self._n_failures < _MAX_FAILURES:
            self._n_failures += 1
            begin = self._at
            with suppress(ValueError, RecursionError):
                value, self._at = self._decoder.raw_decode(self._text, begin)
                check_depth(self._text[begin : self._at])
                self._n_failures -= 1
                return value
        try:
            return self._container(is_missing=is_missing)
        except TruncatedText:
            self._at = len(self._text)
            self._lost("truncated")
            return self._complete_part()

    def _skip(self) -> None:
        """Skip white space and comments."""
        text = self._text
        while token := _IGNORED.match(text, self._at):
            self._at = token.end()
            kind = token.lastgroup
            if kind == "space":
                if token[0].strip(" \t\n\r"):
                    self._repaired("white space")
                continue
            if kind == "HTML":
                kind = "HTML comments"
                if token[0].endswith("<!--"):
                    self._skip_comment()
            self._repaired(str(kind))
        if self._options.unescapes and _ENTITY.match(text, self._at):
            raise _EntityFound

    def _skip_comment(self) -> None:
        """Skip an HTML comment, unless it contains the JSON itself."""
        if self._comment_end < self._at:
            end = self._text.find("-->", self._at)
            self._comment_end = len(self._text) if end < 0 else end + 3
        is_inside = bool(self._stack or self._found.values)
        if is_inside or self._last_bracket >= self._comment_end:
            self._at = self._comment_end

    # -- objects and arrays ----------------------------------------------------------

    def _container(self, *, is_missing: bool = False) -> Any:
        """Return the object or array that begins here (`TruncatedText`)."""
        text, stack = self._text, self._stack
        stack.clear()
        self._open(is_missing=is_missing)
        while True:
            self._skip()
            if self._at >= len(text):
                if self._options.is_whole:
                    return self._close_all()
                raise TruncatedText
            char, top = text[self._at], stack[-1]
            if char in "}]":
                self._at += 1
                value = self._close(dict if char == "}" else list)
                if value is not NOTHING:
                    return value
            elif char in COMMAS:
                self._comma(top, char)
            elif isinstance(top.value, dict) and top.key is None:
                if char in "{[":
                    self._value_without_key(top)
                else:
                    self._key(top)
            else:
                if isinstance(top.value, list) and top.is_complete:
                    self._repaired("missing commas")
                self._value(top)

    def _open(self, *, is_missing: bool = False) -> None:
        """Open an object or array; if its bracket is missing, an object."""
        stack = self._stack
        if len(stack) >= MAX_DEPTH:
            raise SourceFault(Reason.TOO_DEEP, f"JSON {TOO_DEEP}")
        outer = stack[-1] if stack else None
        in_context = outer is not None and (outer.in_context or outer.key == "@context")
        is_object = is_missing or self._text[self._at] == "{"
        stack.append(_Open({} if is_object else [], in_context))
        if is_missing:
            self._repaired("missing brackets")
        else:
            self._at += 1

    def _value_without_key(self, top: _Open) -> None:
        """Read a value in place of a key: the end of an object may be missing."""
        outer = [isinstance(each.value, list) for each in self._stack[-3:-1]]
        if self._text[self._at] == "{" and True in outer and top.value:
            for _ in range(1 + outer[::-1].index(True)):
                self._repaired("missing brackets")
                self._pop()
            return
        if self._text[self._at] == "{" and not top.value:
            self._repaired("wrong brackets")
            self._at += 1
            return
        top.key = _LOST
        self._lost("no key")

    def _close(self, kind: type) -> Any:
        """Close an object or array; return it if it was the outermost one."""
        n = self._n_closed(kind)
        if n != 1 or not isinstance(self._stack[-1].value, kind):
            self._repaired("wrong brackets")
        for _ in range(n - 1):
            self._pop()
        return self._pop() if n else NOTHING

    def _close_all(self) -> Any:
        self._repaired("missing brackets", len(self._stack))
        while (value := self._pop()) is NOTHING:
            pass
        return value

    def _n_closed(self, kind: type) -> int:
        """Return how many objects and arrays the bracket before here closes."""
        stack, top = self._stack, self._stack[-1].value
        is_before_node = bool(_NEXT_NODE.match(self._text, self._at))
        if isinstance(top, list) and kind is list:
            in_graph = len(stack) > 1 and stack[-2].key == "@graph"
            return 0 if in_graph and is_before_node else 1
        if isinstance(top, kind):
            return 0 if isinstance(self._outer(), list) and self._is_early() else 1
        if not any(isinstance(each.value, kind) for each in stack[-2:-1]):
            return 0
        before = self._text[max(self._at - _MAX_BRACKETS, 0) : self._at - 1].rstrip()
        is_doubled = before.endswith(self._text[self._at - 1])
        fits = self._fits(2)
        if (is_doubled or not fits) and self._fits(0):
            return 0
        is_wrong = not fits and (kind is dict or is_before_node) and self._fits(1)
        return 1 if is_wrong else 2

    def _is_early(self) -> bool:
        """Return whether members of the innermost object follow its bracket."""
        closed = self._stack[-1].value
        at = self._after_space(self._at)
        if self._text[at : at + 1] != ",":
            return False
        member = NEXT_MEMBER.match(self._text, self._after_space(at + 1))
        return bool(member and member[1] not in closed and member[1] not in _NAMES)

    def _outer(self) -> Any:
        return self._stack[-2].value if len(self._stack) > 1 else None

    def _fits(self, n_closed: int) -> bool:
        """Return whether the next text fits after so many containers are closed."""
        text, at = self._text, self._after_space(self._at)
        level = len(self._stack) - n_closed
        for _ in range(_MAX_BRACKETS):
            char = text[at : at + 1]
            if not char or char not in "}]":
                break
            kind = dict if char == "}" else list
            if not level or not isinstance(self._stack[level - 1].value, kind):
                return False
            level -= 1
            at = self._after_space(at + 1)
        if not level:
            return text[at : at + 1] != ","
        if text[at : at + 1] != ",":
            return False
        is_member = NEXT_MEMBER.match(text, self._after_space(at + 1)) is not None
        return is_member == isinstance(self._stack[level - 1].value, dict)

    def _pop(self) -> Any:
        closed = self._stack.pop()
        if closed.key is not None and closed.key is not _LOST:
            self._lose(closed, "no value")
        elif closed.value and not closed.is_complete:
            self._repaired("trailing commas")
        if not self._stack:
            return closed.value
        self._put(self._stack[-1], closed.value)
        return NOTHING

    def _comma(self, top: _Open, char: str) -> None:
        self._at += 1
        if char != ",":
            self._repaired("other separators")
        if top.key is not None and top.key is not _LOST:
            self._lose(top, "no value")
        elif not top.is_complete:
            self._repaired("trailing commas")
        top.is_complete = False

    def _key(self, top: _Open) -> None:
        """Read a key and its colon."""
        text = self._text
        is_after_value = top.is_complete
        key: str | None = None
        if text[self._at] in QUOTES:
            key = self._string(is_key=True, in_array=False)
        elif word := KEY.match(text, self._at):
            key, self._at = word[1], word.end()
            self._repaired("keys without quotes")
        else:
            self._lost("no key")
            if text[self._at] == ":":
                top.key = _LOST
            self._at += 1
            return
        self._skip()
        colon = _COLON.match(text, self._at)
        if colon is None:
            at = self._at
            is_text = text[at : at + 1] in QUOTES and not MEMBER.match(text, at)
            is_value = text.startswith(("{", "["), at) or PLAIN_VALUE.match(text, at)
            if not is_text and not is_value:
                self._lost("no colon")
                return
            self._repaired("missing colons")
        else:
            self._at = colon.end()
            if colon[0].rstrip() != ":":
                self._repaired("other separators")
        if is_after_value:
            self._repaired("missing commas")
        top.key = key

    def _value(self, top: _Open) -> None:
        text = self._text
        char = text[self._at]
        if placeholder := _PLACEHOLDER.match(text, self._at):
            self._at = placeholder.end()
            self._lose(top, "placeholder")
        elif char in "{[":
            self._open()
        elif char in QUOTES:
            in_array = isinstance(top.value, list)
            value = self._string(is_key=False, in_array=in_array)
            self._skip()
            if text.startswith(":", self._at):
                self._key_as_value(top, value)
            else:
                self._put(top, value)
        elif string := UNOPENED.match(text, self._at):
            self._at = string.end()
            self._repaired("open strings")
            self._put(top, string[1])
        elif word := BARE.match(text, self._at):
            self._at = word.end()
            if self._at >= len(text) and not self._options.is_whole:
                raise TruncatedText
            value = self._word(word[0], in_object=isinstance(top.value, dict))
            if value is NOTHING:
                self._lose(top, "unknown word")
            else:
                self._put(top, value)
        else:
            self._at += 1
            self._lose(top, "unknown character")

    def _key_as_value(self, top: _Open, key: str) -> None:
        """Take a string with a colon as the key of an object without bracket.

        In an array of other values, the end of the array is missing.
        """
        value = top.value
        if isinstance(value, list):
            is_of_nodes = not value or isinstance(value[-1], dict | list)
            if is_of_nodes or not isinstance(self._outer(), dict):
                self._open(is_missing=True)
            else:
                self._repaired("missing brackets")
                self._pop()
        elif key[:1] == "@" or key in _NAMES:
            self._open(is_missing=True)
        else:
            self._lose(top, "no value")
        self._at += 1
        self._stack[-1].key = key

    def _lose(self, top: _Open, why: str) -> None:
        self._lost(why)
        top.key, top.is_complete = None, True

    def _put(self, top: _Open, value: Any) -> None:
        """Add a value to an open object or array."""
        key, top.key, top.is_complete = top.key, None, True
        if isinstance(top.value, list):
            top.value.append(value)
            return
        if key is None or key is _LOST:
            return
        old = top.value.get(key, value)
        if old is not value and old != value:
            self._repaired("duplicate keys")
            if not top.in_context and (key[:1] != "@" or key in _MERGED):
                both = old if isinstance(old, list) else [old]
                both.extend(value if isinstance(value, list) else [value])
                value = both
        top.value[key] = value

    def _complete_part(self) -> Any:
        """Return the outermost value with its complete nodes, if they have their names.

        The name of a truncated node may be missing; a graph needs its context.
        """
        part: Any = NOTHING
        while self._stack:
            each = self._stack.pop()
            value = each.value
            if isinstance(value, list):
                if part is not NOTHING:
                    value.append(part)
                part = value or NOTHING
                continue
            if part is not NOTHING and each.key not in (None, _LOST):
                value[each.key] = part
            is_named = any(isinstance(value.get(x), str) for x in ("@id", "id"))
            is_kept = is_named or (self._options.keeps_open and bool(value))
            is_kept |= "@graph" in value and "@context" in value
            part = value if is_kept else NOTHING
        return part
