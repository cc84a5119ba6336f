"""Read the strings, numbers and words of text that is nearly JSON; see `mending`."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.errors import Reason

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog

SPACES: Final = "\\s\ufeff\u200b-\u200f\u2060\u180e\\x00"  # of Unicode, or invisible
SPACE = re.compile(f"(?:[{SPACES}]|&nbsp;)*+")
_CURLY: Final = "“”„‟″"
QUOTES: Final = {'"': '"', "'": "'", "`": "`"} | dict.fromkeys(_CURLY, _CURLY)
_BODIES: Final = {
    ends: re.compile(rf"(?:[^\\{ends}]|\\.)*+", re.DOTALL) for ends in QUOTES.values()
}
KEY = re.compile(r"([\w$@-]+(?::[\w$@.-]+(?=\"?\s*:))*+)(?:\s*+\"(?=\s*:))?")
# Tags that editors put between the lines of a text
MARKUP = re.compile(
    r"</?(?:p|br|div|span|code|pre|font|strong|em|b|i)(?:\s[^<>\"]*+)?/?>",
    re.IGNORECASE,
)
PLAIN_VALUE = re.compile(r"(?:-?\d[\d.]*+|true|false|null)(?=\s*+[,}\]])")
# The next member of an object, or the end of a truncated one
MEMBER = re.compile(
    rf"""u?"(?:[^"\\]|\\.)*+(?:"\s*+(?:[:=\uff1a"{{\[]|{PLAIN_VALUE.pattern})|\Z)"""
    r"""|"[\w$@:.-]{1,199}:\s*+["{\[\d]|u?'(?:[^'\\]|\\.)*+(?:'\s*+[:=\uff1a]|\Z)"""
    rf"""|[{_CURLY}][^{_CURLY}]*+[{_CURLY}]\s*+[:=\uff1a]|`[^`\\]*+`\s*+[:=]|[\w$@-]++\s*+"?\s*+:|\.{{3}}|\u2026|[,;}}\]/<#]|\{{\s*+["}}%]|:\s*+["{{\[]|\Z""",
    re.DOTALL,
)
_ITEM = re.compile(
    r"""u?["']|[`“”„‟″{\[\]},;/<#+-]|\d|true\b|false\b|null\b|None\b|True\b|False\b|\.{3}|\u2026|\Z"""
)
BARE = re.compile(r"""(?:(?!//|/\*)[^\s,;{}\[\]"'`“”<&])++""")
# A string without its first quotation mark
UNOPENED = re.compile(r"(\w[^,{}\[\]\"'`“”<\\\n]{0,200}+)\"(?=\s*+[,}\]])")
# Marks or white space before a second string, which a mark follows, and no text
_MARKS_AND_STRING = re.compile(
    r"""(?:(?:\s*+[^\w\s"“”]){1,9}\s*+|\s++)"[^"\\\n]{1,99}+"\s*+[^\w\s]"""
    r"""|"[\w$@:.-]{1,99}+"\s*+:"""
)
COMMAS: Final = ",;\uff0c"
_NUMBER = re.compile(r"([+-]?)(\d*)(\.\d*)?((?:[eE][+-]?\d+)?)")
_FRACTION = re.compile(r",\d++(?=\s*+[,}\n])")  # after a comma in place of a point
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
NOTHING: Final = object()  # in place of a value that cannot be read
# A member of an object that is well-formed up to its value
NEXT_MEMBER = re.compile(r'"([^"\\\n]*+)"\s*+:\s*+(?=["{\[\dtfn-])')
# Text before a member if the string before it has no end, and the next line then
_BEFORE_MEMBER = re.compile(r"(?<![\s}\]])[\s}\]]*+,[\s{]*+\Z")
_MAX_BEFORE: Final = 64
_NEXT_LINE = re.compile(r'\n[^\S\n]*+(?:[{}\[\]]|"[^"\n]*+"\s*+:)')
_OPENING = re.compile(r"[{\[]\s*+[\"{\[}\]:\d-]")
_OPEN_KEY = re.compile(
    r"([\w$@-]{1,99}(?::[\w.-]{1,99})?)\s*+:(?:[\s\[{]*+|\s*+[\w.+-]++[\s\]},{]++)"
)
_STRAY_MARK = re.compile(r"[^\w\s\"{\[]\s*+:")
_KEY_TEXT = re.compile(r"[\w@:./$-]{1,100}")


@dataclass(slots=True)
class MendedJson:
    """The values of a text, and the number of repairs and losses by kind."""

    values: list[Any] = field(default_factory=list)
    repairs: Counter[str] = field(default_factory=Counter)
    losses: Counter[str] = field(default_factory=Counter)
    places: dict[str, str] = field(default_factory=dict)  # of the first of each kind

    def note(self, log: FaultLog, error: object, what: str = "JSON-LD") -> None:
        """Log the repairs (`REPAIRED`), and the losses after an error (`SYNTAX`)."""
        for kind, count in self.repairs.items():
            place = self.places.get(kind, "")
            log.note(Reason.REPAIRED, f"{what}: {kind}{place}", count, apart=True)
        if self.losses:
            kinds = (f"{kind}{self.places.get(kind, '')}" for kind in self.losses)
            detail = f"{error} ({', '.join(kinds)})".strip()
            log.note(Reason.SYNTAX, detail, self.losses.total())


class TruncatedText(Exception):
    """The text ends within a value."""


class TokenReader:
    """Reader of the tokens of one text."""

    def __init__(self, text: str, found: MendedJson) -> None:
        self._text, self._found = text, found
        self._at = 0

    def _repaired(self, kind: str, count: int = 1) -> None:
        self._found.repairs[kind] += count
        self._locate(kind)

    def _lost(self, why: str) -> None:
        self._found.losses[why] += 1
        self._locate(why)

    def _locate(self, kind: str) -> None:
        if kind not in self._found.places:
            line = self._text.count("\n", 0, self._at) + 1
            column = self._at - self._text.rfind("\n", 0, self._at)
            self._found.places[kind] = f", line {line} column {column}"

    def _after_space(self, at: int) -> int:
        space = SPACE.match(self._text, at)
        return space.end() if space else at

    def _string(self, *, is_key: bool, in_array: bool) -> str:
        """Return the string that begins here (`TruncatedText`)."""
        text, quote = self._text, self._text[self._at]
        if quote != '"':
            self._repaired("other quotation marks")
        body = _BODIES[QUOTES[quote]]
        begin = at = line = self._at + 1
        n_inside = 0
        parts: list[str] = []
        while True:
            at = body.match(text, at).end()  # type: ignore[union-attr]  # always matches
            if at >= len(text) or text[at] == "\\":
                raise TruncatedText
            if not (
                self._ends_key(at)
                if is_key
                else self._ends_string(begin, at, in_array=in_array)
                or (not n_inside and _MARKS_AND_STRING.match(text, at + 1))
            ):
                end = self._end_of_open(begin, at, line, is_first=not n_inside)
                if quote == '"' and not is_key and end >= 0:
                    self._repaired("open strings")
                    self._at = end
                    return self._unescaped("".join((*parts, text[begin:end])))
                if is_key and (open_key := _OPEN_KEY.fullmatch(text, begin, at)):
                    self._repaired("open strings")
                    self._at = open_key.end(1)
                    return open_key[1]
                n_inside += 1
                at = line = at + 1
                continue
            if n_inside:
                self._repaired("quotation marks within strings", n_inside)
                n_inside = 0
            parts.append(text[begin:at])
            if is_key or (plus := _CONCATENATION.match(text, at + 1)) is None:
                self._at = at + 1
                return self._unescaped("".join(parts))
            self._repaired("joined strings")
            body = _BODIES[QUOTES[text[plus.end()]]]
            begin = at = line = plus.end() + 1

    def _ends_key(self, end: int) -> bool:
        """Return whether a quotation mark ends a key."""
        at = self._after_space(end + 1)
        char = self._text[at : at + 1]
        if char in "{[":
            return not char or _OPENING.match(self._text, at) is not None
        is_end = char in ":\uff1a=,}]" or char in QUOTES
        is_end |= bool(PLAIN_VALUE.match(self._text, at))
        return is_end or _STRAY_MARK.match(self._text, at) is not None

    def _ends_string(self, begin: int, end: int, *, in_array: bool) -> bool:
        """Return whether a quotation mark ends the value with this text."""
        text = self._text
        at = self._after_space(end + 1)
        char = text[at : at + 1]
        if char in "}]":  # or the end
            return True
        if char in COMMAS:
            follower = _ITEM if in_array else MEMBER
            return follower.match(text, self._after_space(at + 1)) is not None
        is_last = "\n" in text[end:at]
        if char in QUOTES:
            is_apart = not in_array and at > end + 1
            return is_last or (is_apart and bool(MEMBER.match(text, at)))
        is_like_key = _KEY_TEXT.fullmatch(text, begin, end) is not None
        if char in "{[" and (is_last or is_like_key) and _OPENING.match(text, at):
            return True
        return (
            text.startswith(("//", "/*", "<!--", "-->", "=======", ">>>>>>>"), at)
            or bool(MARKUP.match(text, at))
            or (is_like_key and bool(NEXT_MEMBER.match(text, begin - 1)))
            or bool(_CONCATENATION.match(text, end + 1))
        )

    def _end_of_open(self, begin: int, at: int, line: int, *, is_first: bool) -> int:
        """Return the end of a string without quotation mark; -1 if it has one.

        Args:
            begin: of the string.
            at: of a quotation mark in it, which may begin another string.
            line: where to look for the next line.
            is_first: it is the first one.
        """
        text = self._text
        while (line := text.find("\n", line, at)) >= 0:
            if _NEXT_LINE.match(text, line):
                return begin + len(text[begin:line].rstrip().rstrip("}], \t"))
            line += 1
        if is_first and NEXT_MEMBER.match(text, at):
            start = max(begin, at - _MAX_BEFORE)
            before = _BEFORE_MEMBER.search(text[start:at])
            if before is not None:
                return start + before.start()
        return -1

    def _unescaped(self, text: str) -> str:
        if min(text, default=" ") < " ":
            self._repaired("control characters")
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
            self._repaired("wrong escapes", n_bad)
        if any("\ud800" <= each <= "\udfff" for each in text):  # joins the two halves
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text

    def _word(self, word: str, *, in_object: bool) -> Any:
        """Return the value of a number or word; numbers that may be codes stay text."""
        if word in _WORDS or word.lower() in _WORDS:
            if word not in ("true", "false", "null"):
                self._repaired("words of JavaScript")
            return _WORDS[word if word in _WORDS else word.lower()]
        number = _NUMBER.fullmatch(word)
        if number is None or not (number[2] or (number[3] or ".") != "."):
            return NOTHING
        if in_object and (fraction := _FRACTION.match(self._text, self._at)):
            self._at = fraction.end()
            self._repaired("numbers as text")
            return word + fraction[0]
        sign, digits, fraction_digits, exponent = number.groups("")
        if len(digits) > 1 and digits[0] == "0":
            self._repaired("numbers as text")
            return word
        if sign == "+" or not digits or fraction_digits == ".":
            self._repaired("numbers of JavaScript")
        try:
            is_whole = not fraction_digits and not exponent
            return int(word) if is_whole else float(word)
        except ValueError:  # too long to compute
            return NOTHING
