"""Read a robots.txt for one crawler: groups, paths and signals (RFC 9309).

Works on octets: lines end as in RFC 9309, not at further line separators of Unicode,
and paths that are not UTF-8 are compared octet by octet. A rule's path and the path and
query of a URL are normalized before (sections 2.2.2 and 2.2.3).

`Content-Signal: search=yes, ai-train=no` is part of a group, like rules, and applies to
all paths, or to those of a path at its beginning. `Content-Usage` has the same form,
with `y` and `n`.

Sources: RFC 9309; Content Signals (contentsignals.org); draft-ietf-aipref-attach and
draft-ietf-aipref-vocab.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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
MAX_SIGNALS: Final = 100  # lines of a group
_MAX_CHARS: Final = 2048  # of a line
# A closed set, since each is a statistic. The same use has two names in the two
# vocabularies.
_USES: Final = {
    b"search": "search",
    b"ai-input": "ai-input",
    b"ai-train": "ai-train",
    b"train-ai": "ai-train",
    b"train-genai": "ai-train",
}
USES: Final = frozenset(_USES.values())
_VALUES: Final = {b"yes": "yes", b"y": "yes", b"no": "no", b"n": "no"}
_each_pair: Final = re.compile(rb"([A-Za-z-]{1,32})[ \t]*=[ \t]*([A-Za-z]+)").findall
MAX_ROBOTS_BYTES: Final = 500 * 1024  # RFC 9309 2.5: parse at least 500 KiB
MAX_SITEMAPS: Final = 1000
# 2.2.4 permits leniency: common misspellings, and a missing colon.
_RECORD: Final = re.compile(
    rb"[ \t\v\f]*(?:(?P<agent>user[- \t]?agent)"
    rb"|(?P<disallow>diss?all?ow|diasllow|disallaw)"
    rb"|(?P<allow>allow)"
    rb"|(?P<delay>crawl[- \t]?delay)"
    rb"|(?P<sitemap>site-?maps?)"
    rb"|(?P<signal>content-(?:signals?|usage)))"
    rb"(?:[ \t]*(?P<colon>:|\xef\xbc\x9a)|[ \t])(?P<value>[^#]*)",
    re.IGNORECASE,
).match
_KINDS: Final = ("agent", "disallow", "allow", "delay", "sitemap", "signal")
_TOKEN: Final = re.compile(rb"[A-Za-z0-9_-]*").match
# RFC 9309 does not define `Crawl-delay`; these values occur.
_DELAY: Final = re.compile(
    rb"\+?(?:(?P<hex>0x[0-9a-f]+)|(?P<number>(?:[0-9]+(?:[.,][0-9]*)?"
    rb"|[.,][0-9]+)(?:e[+-]?[0-9]+)?)|(?P<endless>inf))"
    rb"(?:[ \t]*(?P<unit>ms|m|min(?:ute)?s?|h|hours?)(?![a-z]))?",
    re.IGNORECASE,
).match
_UNIT_SECS: Final = {b"ms": 0.001, b"m": 60.0, b"h": 3600.0}  # by prefix
_ENDLESS_SECS: Final = 1e9  # infinity in practice
_ANY_AGENT: Final = b"*"
_HEAD_BYTES: Final = 64
# UTF-32 first: its little-endian mark begins like that of UTF-16.
_WIDE: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


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


class SignalRule(NamedTuple):
    """One line: the pattern of paths, and the uses allowed or not."""

    pattern: str  # see `pattern_of`; empty for all
    said: tuple[tuple[str, str], ...]  # uses, and `yes` or `no`


def read_signals(value: bytes) -> SignalRule | None:
    """Parse the value of a line; None without a known use.

    >>> read_signals(b"/data/ search=yes, ai-train=no, other=yes")
    SignalRule(pattern='/data/', said=(('search', 'yes'), ('ai-train', 'no')))
    """
    value = value[:_MAX_CHARS]
    pattern = ""
    if value[:1] in (b"/", b"*"):
        path, _, value = value.partition(b" ")
        pattern = pattern_of(path.strip())
    said = tuple(
        (_USES[name.lower()], _VALUES[word.lower()])
        for name, word in _each_pair(value)
        if name.lower() in _USES and word.lower() in _VALUES
    )
    return SignalRule(pattern, said) if said else None


@dataclass(slots=True, eq=False)
class RobotsRecords:
    """The records of a robots.txt for one crawler."""

    # pattern (see `pattern_of`) -> whether it allows; of two equivalent ones, 2.2.2
    # prefers the one that allows
    rules: dict[str, bool] = field(default_factory=dict)
    delay_secs: float = 0.0  # longest `Crawl-delay`, 0 if there is none
    # as written, at most `MAX_SITEMAPS`
    sitemaps: list[str] = field(default_factory=list)
    has_more_sitemaps: bool = False  # there are more
    # signals on the use of documents, at most `MAX_SIGNALS` lines
    signals: list[SignalRule] = field(default_factory=list)


def read_records(body: bytes, agent: str) -> RobotsRecords:
    """Return the records of a robots.txt for the crawler named `agent`.

    Args:
        body: of any length; only complete lines within `MAX_ROBOTS_BYTES` are read.
        agent: its product token.
    """
    own, everybody = RobotsRecords(), RobotsRecords()
    sitemaps: dict[bytes, None] = {}
    name = _token(agent.encode("utf-8", "replace"))
    reader = _Reader(name, own, everybody)
    for kind, value in _iter_records(_octets(body)):
        if kind != "sitemap":
            reader.take(kind, value)
        # one more reveals that there are more
        elif value and len(sitemaps) <= MAX_SITEMAPS:
            sitemaps[value] = None
    # 2.2.1: the `*` group holds only without a group of our own.
    records = own if reader.is_named else everybody
    texts = [text.decode("utf-8", "replace") for text in sitemaps]
    records.sitemaps = texts[:MAX_SITEMAPS]
    records.has_more_sitemaps = len(texts) > MAX_SITEMAPS
    return records


class _Reader:
    """Assigns each record to its group.

    2.2.4: only a rule ends the user-agent lines of a group. `Crawl-delay` is not
    defined by RFC 9309 but older, from a time when an empty line separated groups:
    agents named after such a line do not inherit an earlier delay.
    """

    def __init__(
        self, name: bytes, own: RobotsRecords, everybody: RobotsRecords
    ) -> None:
        self._name = name
        self._own, self._everybody = own, everybody
        self._group: list[RobotsRecords] = []
        self._has_agents = False
        self._has_rules = False
        self._delay_secs = 0.0
        self.is_named = False
        """Whether a group names this crawler."""

    def take(self, kind: str, value: bytes) -> None:
        """Read a record, or the empty text for an empty line."""
        match kind:
            case "agent":
                self._take_agent(value)
            case "delay":
                self._take_delay(value)
            case "signal":
                self._take_signals(value)
            case "":
                self._delay_secs = 0.0
            case _:
                self._has_rules = True
                self._take_rule(value, allows=kind == "allow")

    def _take_agent(self, value: bytes) -> None:
        self._has_agents = True
        if self._has_rules:
            self._group = []
            self._has_rules = False
            self._delay_secs = 0.0
        if value[:1] == _ANY_AGENT and value[1:2] in (b"", b" ", b"\t"):
            records = self._everybody
        elif self._name and _token(value) == self._name:
            records = self._own
            self.is_named = True
        else:
            return
        if records not in self._group:
            self._group.append(records)
        records.delay_secs = max(records.delay_secs, self._delay_secs)

    def _take_delay(self, value: bytes) -> None:
        secs = read_delay(value)
        if secs is not None and self._has_agents:
            self._delay_secs = secs
            for records in self._group:
                records.delay_secs = max(records.delay_secs, self._delay_secs)

    def _take_signals(self, value: bytes) -> None:
        """Read a line of signals, which RFC 9309 does not define either."""
        rule = read_signals(value) if self._group else None
        if rule is not None:
            for records in self._group:
                if len(records.signals) < MAX_SIGNALS:
                    records.signals.append(rule)

    def _take_rule(self, value: bytes, *, allows: bool) -> None:
        if not self._group or value[:1] not in (b"/", b"*"):
            return
        pattern = pattern_of(value)
        for records in self._group:
            records.rules[pattern] = allows or records.rules.get(pattern, False)


def read_delay(value: bytes) -> float | None:
    """Return the seconds of a `Crawl-delay`, at most 1e9; None if it is not a number.

    >>> [read_delay(x) for x in (b"1.5", b"1,5 s", b"2 min", b"0x10")]
    [1.5, 1.5, 120.0, 16.0]
    >>> [read_delay(x) for x in (b"1e400", b"inf", b"-1", b"soon")]
    [1000000000.0, 1000000000.0, None, None]
    """
    found = _DELAY(value)
    if found is None:
        return None
    if found["endless"]:
        return _ENDLESS_SECS
    if found["hex"]:
        secs = float(min(int(found["hex"], 16), 10**9))
    else:
        secs = float(found["number"].replace(b",", b"."))
    unit = (found["unit"] or b"").lower()
    secs *= _UNIT_SECS.get(unit) or _UNIT_SECS.get(unit[:1], 1.0)
    return min(secs, _ENDLESS_SECS)


def _iter_lines(octets: bytes) -> Iterator[bytes]:
    """Yield the lines; a NUL ends one, like in Google's parser.

    Within a word, it is removed instead: more rules remain valid.
    """
    if b"\xc2\xa0" in octets:
        octets = octets.replace(b"\xc2\xa0", b" ")
    for line in octets.splitlines():  # at CR, LF and CRLF only
        if line.startswith(codecs.BOM_UTF8):  # of an appended file
            line = line.removeprefix(codecs.BOM_UTF8)  # noqa: PLW2901
        if b"\0" not in line:
            yield line
            continue
        pieces = [piece for piece in line.split(b"\0") if piece]
        yield from pieces if any(map(_RECORD, pieces)) else [b"".join(pieces)]


def _iter_records(octets: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the known records, and an empty one for each empty line."""
    for line in _iter_lines(octets):
        if not line or line.isspace():
            yield "", b""
        elif found := _RECORD(line):
            kind = next(name for name in _KINDS if found[name] is not None)
            value = found["value"].strip(b" \t\v\f")
            if found["colon"] or _is_meant(kind, value):
                yield kind, value


def _is_meant(kind: str, value: bytes) -> bool:
    """Return whether a line without a colon is a record, and not prose."""
    if kind in ("allow", "disallow"):
        return value[:1] in (b"/", b"*")
    return bool(value) and b" " not in value


def _token(value: bytes) -> bytes:
    """Return the product token at the start of a name, in lower case."""
    found = _TOKEN(value)
    return found[0].lower() if found else b""


def _octets(body: bytes) -> bytes:
    """Return the complete lines within the limit as UTF-8 without a mark."""
    is_cut = len(body) > MAX_ROBOTS_BYTES
    octets = body[:MAX_ROBOTS_BYTES]
    for mark, encoding in _WIDE:
        if octets.startswith(mark):
            # RFC 9309 2.2.2: parsers may convert detected encodings.
            octets = octets.decode(encoding, "replace").encode("utf-8", "replace")
            break
    else:
        octets = _from_unmarked_utf16(octets)
    if is_cut:  # after the decoding, where a line feed is one octet
        end = max(octets.rfind(b"\n"), octets.rfind(b"\r"))
        octets = octets[: end + 1]
    return octets.removeprefix(codecs.BOM_UTF8)


def _from_unmarked_utf16(octets: bytes) -> bytes:
    """Return UTF-16 without a mark as UTF-8; anything else unchanged."""
    head = octets[:_HEAD_BYTES]
    for first, encoding in ((0, "utf-16-be"), (1, "utf-16-le")):
        half = head[first::2]
        others = head[1 - first :: 2]
        if not half.strip(b"\0") and others and others[0] != 0:
            return octets.decode(encoding, "replace").encode("utf-8", "replace")
    return octets
