"""Read text that is nearly JSON: after JavaScript, HTML and templates, or truncated.

The strict parser reads well-formed values. The others are read once, from left to
right; wherever a well-formed value cannot be meant differently, it is read the same.
Bad members of objects and arrays are left out, and counted as losses.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.nesting import MAX_DEPTH, TOO_DEEP, check_depth, refuse_constant

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog

_SPACES: Final = "\\s\ufeff\u200b-\u200f\u2060\u180e\\x00"  # of Unicode, or invisible
_SPACE = re.compile(f"[{_SPACES}]*+")
_IGNORED = re.compile(
    rf"(?P<space>[{_SPACES}]++|&nbsp;|&#160;)"
    r"|(?P<CDATA>(?://\s*+)?(?:<!\[CDATA\[|\]\]>))"
    r"|(?P<HTML>(?://\s*+)?(?:<!--|-->))"
    r"|(?P<comments>/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|(?://|(?<!\S)#)[^\n\r\u2028]*+)"
)
_CURLY: Final = "“”„‟″"
_QUOTES: Final = {'"': '"', "'": "'", "`": "`"} | dict.fromkeys(_CURLY, _CURLY)
_BODIES: Final = {
    ends: re.compile(rf"(?:[^\\{ends}]|\\.)*+", re.DOTALL) for ends in _QUOTES.values()
}
_KEY = re.compile(r"[\w$@-]+(?::[\w$@.-]+(?=\s*:))*+")
# The next member of an object, or the end of a truncated one
_MEMBER = re.compile(
    r""""(?:[^"\\]|\\.)*+(?:"\s*+[:="{\[]|\Z)|'(?:[^'\\]|\\.)*+(?:'\s*+[:=]|\Z)"""
    rf"""|[{_CURLY}][^{_CURLY}]*+[{_CURLY}]\s*+[:=\uff1a]|[\w$@-]++\s*+:|[,;}}\]/<#]|\Z""",
    re.DOTALL,
)
_ITEM = re.compile(r"""["'`“”„‟″{\[\]},;/<#+-]|\d|true\b|false\b|null\b|\Z""")
_BARE = re.compile(r"""(?:(?!//|/\*)[^\s,;{}\[\]"'`“”<&])++""")
_COLON = re.compile(r"[:\uff1a]|=>?")
_COMMAS: Final = ",;\uff0c"
_NUMBER = re.compile(r"([+-]?)(\d*)(\.\d*)?((?:[eE][+-]?\d+)?)")
_FRACTION = re.compile(r",\d++(?=\s*+[,}\n])")  # after a comma in place of a point
_PLACEHOLDER = re.compile(r"\{\{[^{}\"]*+\}\}|\{%[^{}\"]*+%\}")
_ENTITY = re.compile(r"&(?:amp;){0,3}+(?:quot|#0*34|#x0*22);", re.IGNORECASE)
_CONCATENATION = re.compile(r"\s*+\+\s*+(?=[\"'])")
_ESCAPE = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.)|\Z)", re.DOTALL
)
_CHARACTERS: Final = dict(zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))
_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("NaN", "+NaN", "-NaN"), float("nan")),
    **dict.fromkeys(("Infinity", "+Infinity"), float("inf")),
    "-Infinity": float("-inf"),
    **dict.fromkeys(("null", "undefined", "None", "nil"), None),
    "true": True,
    "false": False,
}
# Of the strict parser; each takes the time to count the lines before.
_MAX_FAILURES: Final = 64
_MERGED: Final = frozenset({"@graph", "@included", "@type"})
_NOTHING: Final = object()  # in place of a value that cannot be read


@dataclass(slots=True)
class MendedJson:
    """The values of a text, and the number of repairs and losses by kind."""

    values: list[Any] = field(default_factory=list)
    repairs: Counter[str] = field(default_factory=Counter)
    losses: Counter[str] = field(default_factory=Counter)

    def note(self, log: FaultLog, error: object, what: str = "JSON-LD") -> None:
        """Log the repairs (`REPAIRED`), and the losses after an error (`SYNTAX`)."""
        for kind, count in self.repairs.items():
            log.note(Reason.REPAIRED, f"{what}: {kind}", count, apart=True)
        if self.losses:
            detail = f"{error} ({', '.join(self.losses)})"
            log.note(Reason.SYNTAX, detail, self.losses.total())


def mended_json(
    text: str, *, merges: bool = False, keeps_open: bool = False
) -> MendedJson:
    """Return the objects and arrays of a text.

    Args:
        text: that the strict parser refuses.
        merges: merge values of duplicate keys in valid text, too.
        keeps_open: keep objects that are truncated, and not only nodes with a name.

    >>> mended_json("var x = {a: [1, 2,], /* b */};").values
    [{'a': [1, 2]}]
    """
    found, options = MendedJson(), _Options(merges=merges, keeps_open=keeps_open)
    if text.startswith("\ufeff"):
        found.repairs["byte order mark"] += 1
        text = text.lstrip("\ufeff")
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


class _Cut(Exception):
    """The text ends within a value."""


@dataclass(slots=True)
class _Open:
    """An open object or array."""

    value: Any
    in_context: bool
    key: str | None = None  # of an object, until its value is read
    is_complete: bool = False  # a comma must follow before the next member


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """See `mended_json`."""

    merges: bool
    keeps_open: bool
    unescapes: bool = True  # entities in place of quotation marks


class _Reader:
    """Reader of one text."""

    def __init__(self, text: str, found: MendedJson, options: _Options) -> None:
        self._text, self._found, self._options = text, found, options
        self._at = 0
        self._stack: list[_Open] = []
        self._comment_end = -1
        self._n_failures = 0  # of the strict parser
        self._last_bracket = max(text.rfind("{"), text.rfind("["))
        self._decoder = json.JSONDecoder(parse_constant=refuse_constant)

    def read_all(self) -> None:
        text, found = self._text, self._found
        while True:
            self._skip()
            if self._at >= len(text):
                break
            if text[self._at] in "{[":
                value = self._next_value()
                if value is not _NOTHING:
                    found.values.append(value)
            else:
                if text[self._at] not in _COMMAS:
                    where = "after" if found.values else "before"
                    found.repairs[f"text {where} JSON"] = 1
                self._at += 1
        if len(found.values) > 1:
            found.repairs["several values"] += 1

    def _next_value(self) -> Any:
        if not self._options.merges and self._n_failures < _MAX_FAILURES:
            self._n_failures += 1
            begin = self._at
            with suppress(ValueError, RecursionError):
                value, self._at = self._decoder.raw_decode(self._text, begin)
                check_depth(self._text[begin : self._at])
                self._n_failures -= 1
                return value
        try:
            return self._container()
        except _Cut:
            self._at = len(self._text)
            self._found.losses["truncated"] += 1
            return self._complete_part()

    def _skip(self) -> None:
        """Skip white space and comments."""
        text, repairs = self._text, self._found.repairs
        while token := _IGNORED.match(text, self._at):
            self._at = token.end()
            kind = token.lastgroup
            if kind == "space":
                if token[0].strip(" \t\n\r"):
                    repairs["white space"] += 1
                continue
            if kind == "HTML":
                kind = "HTML comments"
                if token[0].endswith("<!--"):
                    self._skip_comment()
            repairs[str(kind)] += 1
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

    def _container(self) -> Any:
        """Return the object or array that begins here (`_Cut`)."""
        text, stack = self._text, self._stack
        stack.clear()
        self._open()
        while True:
            self._skip()
            if self._at >= len(text):
                raise _Cut
            char, top = text[self._at], stack[-1]
            if char in "}]":
                self._at += 1
                value = self._close(dict if char == "}" else list)
                if value is not _NOTHING:
                    return value
            elif char in _COMMAS:
                self._comma(top, char)
            elif isinstance(top.value, dict) and top.key is None:
                self._key(top)
            else:
                if isinstance(top.value, list) and top.is_complete:
                    self._found.repairs["missing commas"] += 1
                self._value(top)

    def _open(self) -> None:
        stack = self._stack
        if len(stack) >= MAX_DEPTH:
            raise SourceFault(Reason.TOO_DEEP, f"JSON {TOO_DEEP}")
        outer = stack[-1] if stack else None
        in_context = outer is not None and (outer.in_context or outer.key == "@context")
        stack.append(_Open({} if self._text[self._at] == "{" else [], in_context))
        self._at += 1

    def _close(self, kind: type) -> Any:
        """Close an object or array; return it if it was the outermost one."""
        stack = self._stack
        if not isinstance(stack[-1].value, kind):
            self._found.repairs["wrong brackets"] += 1
            if not any(isinstance(each.value, kind) for each in stack[-2:-1]):
                return _NOTHING
            self._pop()
        return self._pop()

    def _pop(self) -> Any:
        closed = self._stack.pop()
        if closed.key is not None:
            self._lose(closed, "no value")
        elif closed.value and not closed.is_complete:
            self._found.repairs["trailing commas"] += 1
        if not self._stack:
            return closed.value
        self._put(self._stack[-1], closed.value)
        return _NOTHING

    def _comma(self, top: _Open, char: str) -> None:
        self._at += 1
        repairs = self._found.repairs
        if char != ",":
            repairs["other separators"] += 1
        if top.key is not None:
            self._lose(top, "no value")
        elif not top.is_complete:
            repairs["trailing commas"] += 1
        top.is_complete = False

    def _key(self, top: _Open) -> None:
        """Read a key and its colon."""
        text, losses = self._text, self._found.losses
        is_after_value = top.is_complete
        key: str | None = None
        if text[self._at] in _QUOTES:
            key = self._string(is_key=True, in_array=False)
        elif word := _KEY.match(text, self._at):
            key, self._at = word[0], word.end()
            self._found.repairs["keys without quotes"] += 1
        else:
            losses["no key"] += 1
            self._at += 1
            return
        self._skip()
        colon = _COLON.match(text, self._at)
        if colon is None:
            at = self._at
            if text[at : at + 1] not in _QUOTES or _MEMBER.match(text, at):
                losses["no colon"] += 1
                return
            self._found.repairs["missing colons"] += 1
        else:
            self._at = colon.end()
            if colon[0] != ":":
                self._found.repairs["other separators"] += 1
        if is_after_value:
            self._found.repairs["missing commas"] += 1
        top.key = key

    def _value(self, top: _Open) -> None:
        text = self._text
        char = text[self._at]
        if char in "{[":
            placeholder = _PLACEHOLDER.match(text, self._at)
            if placeholder is None:
                self._open()
                return
            self._at = placeholder.end()
            self._lose(top, "placeholder")
        elif char in _QUOTES:
            in_array = isinstance(top.value, list)
            self._put(top, self._string(is_key=False, in_array=in_array))
        elif word := _BARE.match(text, self._at):
            self._at = word.end()
            if self._at >= len(text):
                raise _Cut
            value = self._word(word[0], in_object=isinstance(top.value, dict))
            if value is _NOTHING:
                self._lose(top, "unknown word")
            else:
                self._put(top, value)
        else:
            self._at += 1
            self._lose(top, "unknown character")

    def _lose(self, top: _Open, why: str) -> None:
        self._found.losses[why] += 1
        top.key, top.is_complete = None, True

    def _put(self, top: _Open, value: Any) -> None:
        """Add a value to an open object or array."""
        key, top.key, top.is_complete = top.key, None, True
        if isinstance(top.value, list):
            top.value.append(value)
            return
        if key is None:
            return
        old = top.value.get(key, value)
        if old is not value and old != value:
            self._found.repairs["duplicate keys"] += 1
            if not top.in_context and (key[:1] != "@" or key in _MERGED):
                lists = (x if isinstance(x, list) else [x] for x in (old, value))
                value = [*chain.from_iterable(lists)]
        top.value[key] = value

    def _complete_part(self) -> Any:
        """Return the outermost value with its complete nodes, if they have their names.

        The name of a truncated node may be missing; a graph needs its context.
        """
        part: Any = _NOTHING
        while self._stack:
            each = self._stack.pop()
            value = each.value
            if isinstance(value, list):
                if part is not _NOTHING:
                    value.append(part)
                part = value or _NOTHING
                continue
            if part is not _NOTHING and each.key is not None:
                value[each.key] = part
            is_named = any(isinstance(value.get(x), str) for x in ("@id", "id"))
            is_kept = is_named or (self._options.keeps_open and bool(value))
            is_kept |= "@graph" in value and "@context" in value
            part = value if is_kept else _NOTHING
        return part

    # -- strings, numbers and words --------------------------------------------------

    def _string(self, *, is_key: bool, in_array: bool) -> str:
        """Return the string that begins here (`_Cut`)."""
        text = self._text
        quote, repairs = text[self._at], self._found.repairs
        if quote != '"':
            repairs["other quotation marks"] += 1
        body = _BODIES[_QUOTES[quote]]
        begin = at = self._at + 1
        parts: list[str] = []
        while True:
            at = body.match(text, at).end()  # type: ignore[union-attr]  # always matches
            if at >= len(text) or text[at] == "\\":
                raise _Cut
            if not self._ends_string(at + 1, is_key=is_key, in_array=in_array):
                repairs["quotation marks within strings"] += 1
                at += 1
                continue
            parts.append(text[begin:at])
            if is_key or (plus := _CONCATENATION.match(text, at + 1)) is None:
                break
            repairs["joined strings"] += 1
            body = _BODIES[_QUOTES[text[plus.end()]]]
            begin = at = plus.end() + 1
        self._at = at + 1
        return self._unescaped("".join(parts))

    def _ends_string(self, at: int, *, is_key: bool, in_array: bool) -> bool:
        """Return whether the quotation mark before a position ends its string."""
        text = self._text
        begin, at = at, _SPACE.match(text, at).end()  # type: ignore[union-attr]
        char = text[at : at + 1]
        if is_key:
            return char in ":\uff1a=,}" or char in _QUOTES
        if char in "}]":  # or the end
            return True
        follower = _ITEM if in_array else _MEMBER
        if char in _COMMAS:
            after = _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]
            return follower.match(text, after) is not None
        if char in _QUOTES:
            is_apart = not in_array and at > begin
            return "\n" in text[begin:at] or (
                is_apart and bool(_MEMBER.match(text, at))
            )
        is_comment = text.startswith(("//", "/*", "<!--", "-->"), at)
        return is_comment or bool(_CONCATENATION.match(text, at))

    def _unescaped(self, text: str) -> str:
        repairs = self._found.repairs
        if min(text, default=" ") < " ":
            repairs["control characters"] += 1
        if "\\" not in text:
            return text
        n_bad = 0

        def character(escape: re.Match[str]) -> str:
            nonlocal n_bad
            if escape[1]:
                return chr(int(escape[1], 16))
            if escape[3] in _CHARACTERS:
                return _CHARACTERS[escape[3]]
            n_bad += 1
            if escape[2]:
                return chr(int(escape[2], 16))
            return "" if escape[3] in ("\n", "\r", "\r\n", None) else escape[3]

        text = _ESCAPE.sub(character, text)
        if n_bad:
            repairs["wrong escapes"] += n_bad
        if any("\ud800" <= each <= "\udfff" for each in text):  # joins the two halves
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text

    def _word(self, word: str, *, in_object: bool) -> Any:
        """Return the value of a number or word; numbers that may be codes stay text."""
        if word in _WORDS or word.lower() in _WORDS:
            if word not in ("true", "false", "null"):
                self._found.repairs["words of JavaScript"] += 1
            return _WORDS[word if word in _WORDS else word.lower()]
        number = _NUMBER.fullmatch(word)
        if number is None or not (number[2] or (number[3] or ".") != "."):
            return _NOTHING
        if in_object and (fraction := _FRACTION.match(self._text, self._at)):
            self._at = fraction.end()
            self._found.repairs["numbers as text"] += 1
            return word + fraction[0]
        sign, digits, fraction_digits, exponent = number.groups("")
        if len(digits) > 1 and digits[0] == "0":
            self._found.repairs["numbers as text"] += 1
            return word
        if sign == "+" or not digits or fraction_digits == ".":
            self._found.repairs["numbers of JavaScript"] += 1
        try:
            is_whole = not fraction_digits and not exponent
            return int(word) if is_whole else float(word)
        except ValueError:  # too long to compute
            return _NOTHING
