"""Signals of a robots.txt on the permitted uses of documents.

`Content-Signal: search=yes, ai-train=no` is part of a group, like rules, and applies to
all paths, or to those of a path at its beginning. `Content-Usage` has the same form,
with `y` and `n`.

Source: Content Signals (contentsignals.org); draft-ietf-aipref-attach and
draft-ietf-aipref-vocab.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from rdfcrawl.downloader.robots.paths import PathPattern, path_of, pattern_of

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


class SignalRule(NamedTuple):
    """One line: the pattern of paths, and the uses allowed or not."""

    pattern: str  # see `paths.pattern_of`; empty for all
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


class SignalRules:
    """The signals of one robots.txt for one crawler."""

    def __init__(self, rules: Sequence[SignalRule]) -> None:
        # The most specific one last, since it decides; of two, the one that says no.
        self._rules = [
            (PathPattern.of(rule.pattern.encode()), rule.said)
            for rule in sorted(rules, key=_rank)
        ]
        self.n_bytes = sum(400 + len(rule.pattern) for rule in rules)

    def of(self, url: str) -> tuple[str, ...]:
        """Return the signals for a URL of the origin, as `use=yes`, sorted."""
        path = path_of(url)
        found: dict[str, str] = {}
        for pattern, said in self._rules:
            if pattern.matches(path):
                found.update(said)
        return tuple(sorted(f"{use}={word}" for use, word in found.items()))


def _rank(rule: SignalRule) -> tuple[int, bool]:
    return len(rule.pattern), any(word == "no" for _, word in rule.said)
