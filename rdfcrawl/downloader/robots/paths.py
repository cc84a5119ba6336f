"""Paths of robots.txt and of URLs, and the best matching rule.

A rule's path and the path and query of a URL are normalized, and then compared octet by
octet (RFC 9309 sections 2.2.2 and 2.2.3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple, Self

# RFC 3986 2.3. The escape of such a character is equivalent to it.
_UNRESERVED: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
)
# RFC 3986 2.2, and "%": their escapes are not equivalent to them.
_KEPT: Final = _UNRESERVED | frozenset(b":/?#[]@!$&'()*+,;=%")
_SPELLING: Final = [
    chr(octet) if octet in _KEPT else f"%{octet:02X}" for octet in range(256)
]
# Most paths have only one spelling.
_PLAIN: Final = re.compile(
    r"[A-Za-z]+://[^/?#]*+(/[A-Za-z0-9\-._~:/?\[\]@!&'()+,;=]*+)"
).fullmatch
_BEFORE_PATH: Final = re.compile(r"\A(?:[A-Za-z]+://)?[^/?#]*+").sub
_each_escape: Final = re.compile(r"%([0-9A-Fa-f]{2})").sub
# In queries, these are sometimes escaped and sometimes not, as in the second example of
# RFC 9309 2.2.2: `?baz=https://foo.bar`. Both spellings are tried.
_IN_QUERY: Final = {ord(x): f"%{ord(x):02X}" for x in ":/?#[]@"}
_has_two_spellings: Final = re.compile(
    r"\?.*(?:[:/?#\[\]@]|%(?:3A|2F|3F|23|5B|5D|40))"
).search


def pattern_of(value: bytes) -> str:
    r"""Return the pattern of a rule: `*` any characters, and `$` the end if it is last.

    >>> pattern_of(b"/a%7e\xc3\xa9/$5*$")
    '/a~%C3%A9/%245*$'
    """
    end = ""
    if value.endswith(b"$"):
        value, end = value[:-1], "$"
    pattern = _one_spelling("".join(map(_SPELLING.__getitem__, value)))
    pattern = pattern.replace("$", "%24") + end
    while "**" in pattern:
        pattern = pattern.replace("**", "*")
    return pattern


def path_of(url: str) -> str:
    """Return path and query of an absolute URL in the spelling of patterns.

    >>> path_of("http://example.org?a=%7e*#b")
    '/?a=~%2A'
    """
    if plain := _PLAIN(url):
        return plain[1]
    path = _BEFORE_PATH("", url.partition("#")[0], 1)
    if not path.startswith("/"):
        path = "/" + path
    if not path.isascii():
        path = "".join(map(_SPELLING.__getitem__, path.encode("utf-8", "replace")))
    else:
        path = "".join(_SPELLING[ord(x)] for x in path)
    # 2.2.3: characters with a special meaning in patterns are escaped.
    return _one_spelling(path).replace("$", "%24").replace("*", "%2A")


def _one_spelling(path: str) -> str:
    return _each_escape(_respell, path) if "%" in path else path


def _respell(escape: re.Match[str]) -> str:
    octet = int(escape[1], 16)
    return chr(octet) if octet in _UNRESERVED else escape[0].upper()


def _query_escaped(path: str) -> str:
    """Return a path or pattern with the `_IN_QUERY` characters of its query escaped."""
    path, mark, query = path.partition("?")
    return path + mark + query.translate(_IN_QUERY)


class PathRules:
    """The rules of one robots.txt for one crawler.

    Rules without wildcards, the majority, are looked up by prefix: their number does
    not matter.

    Args:
        rules: pattern -> whether it allows (see `pattern_of`).

    Attributes:
        n_bytes: approximate size in memory.
    """

    def __init__(self, rules: Mapping[str, bool]) -> None:
        self._as_written = _Spelt(rules)
        escaped = {_query_escaped(pattern): allows for pattern, allows in rules.items()}
        is_same = escaped.keys() == rules.keys()
        self._escaped = self._as_written if is_same else _Spelt(escaped)
        n_bytes = sum(150 + len(pattern) for pattern in rules)
        self.n_bytes = n_bytes if is_same else 2 * n_bytes

    def allows(self, url: str) -> bool:
        """Return whether an absolute URL may be requested."""
        path = path_of(url)
        found = self._as_written.best(path)
        if "?" in path and _has_two_spellings(path):
            found = max(found, self._escaped.best(_query_escaped(path)))
        return found[1]


class _Spelt:
    """Rules in one of the spellings, indexed."""

    def __init__(self, rules: Mapping[str, bool]) -> None:
        self._begins: dict[str, bool] = {}
        self._wholes: dict[str, bool] = {}
        wild = []
        for pattern, allows in rules.items():
            if "*" in pattern:
                wild.append(_Wild.of(pattern, allows=allows))
            elif pattern.endswith("$"):
                self._wholes[pattern[:-1]] = allows
            else:
                self._begins[pattern] = allows
        self._lengths = sorted({len(begin) for begin in self._begins}, reverse=True)
        # The most specific one first; of two, the one that allows.
        self._wild = sorted(wild, key=lambda rule: rule.rank, reverse=True)

    def best(self, path: str) -> tuple[int, bool]:
        """Return length and verdict of the most specific rule; else (0, True)."""
        found = (0, True)
        for length in self._lengths:
            if length <= len(path) and path[:length] in self._begins:
                found = (length, self._begins[path[:length]])
                break
        if path in self._wholes:
            found = max(found, (len(path) + 1, self._wholes[path]))
        for rule in self._wild:
            if rule.rank <= found:
                break
            if rule.matches(path):
                return rule.rank
        return found


class PathPattern(NamedTuple):
    """One pattern."""

    text: str  # see `pattern_of`
    wild: _Wild | None  # its pieces, if it has a `*`

    @classmethod
    def of(cls, value: bytes) -> Self:
        """Return the pattern of an unnormalized path."""
        text = pattern_of(value)
        return cls(text, _Wild.of(text, allows=True) if "*" in text else None)

    def matches(self, path: str) -> bool:
        """Return whether a path (see `path_of`) matches."""
        if self.wild is not None:
            return self.wild.matches(path)
        if self.text.endswith("$"):
            return path == self.text[:-1]
        return path.startswith(self.text)


class _Wild(NamedTuple):
    """A pattern with `*`."""

    # its length, for the most specific match, and its verdict
    rank: tuple[int, bool]
    begin: str  # prefix of the path
    middle: tuple[str, ...]  # substrings that follow, in order
    end: str | None  # suffix of the path; None for any

    @classmethod
    def of(cls, pattern: str, *, allows: bool) -> Self:
        begin, *pieces = pattern.removesuffix("$").split("*")
        end = pieces.pop() if pattern.endswith("$") else None
        middle = tuple(filter(None, pieces))
        return cls((len(pattern), allows), begin, middle, end)

    def matches(self, path: str) -> bool:
        """Return whether a path matches: each piece is searched once, left to right."""
        _, begin, middle, end = self
        if not path.startswith(begin):
            return False
        at = len(begin)
        for piece in middle:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        return end is None or (len(path) - at >= len(end) and path.endswith(end))
