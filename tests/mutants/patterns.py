"""Regular expressions with one alternative, member or bound less."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_each_part = re.compile(r"\\.|\[(?:\\.|[^\]\\])(?:\\.|[^\]\\])*\]|.", re.DOTALL).findall
_each_member = re.compile(
    r"(?:\\x..|\\u....|\\.|.)(?:-(?:\\x..|\\u....|\\.|[^\]]))?", re.DOTALL
).findall
_each_bound = re.compile(r"\{(\d*),(\d+)\}").finditer


class Weakened(NamedTuple):
    """An expression that says less.

    Attributes:
        text: the expression.
        without: the part that is left out.
    """

    text: str
    without: str


def weakened(pattern: str) -> Iterator[Weakened]:
    """Yield an expression without each of its alternatives, members and upper bounds.

    >>> [each.text for each in weakened("a|[bc]{1,9}")]
    ['[bc]{1,9}', 'a', 'a|[c]{1,9}', 'a|[b]{1,9}', 'a|[bc]{1,}']
    """
    found = [*_alternatives(pattern), *_members(pattern), *_bounds(pattern)]
    for each in found:
        try:
            re.compile(each.text)
        except re.error:
            continue
        yield each


def _alternatives(pattern: str) -> Iterator[Weakened]:
    parts = _each_part(pattern)
    starts = _offsets(parts)
    opened: list[list[int]] = [[0]]  # of each open group: where its alternatives begin
    for at, part in zip(starts, parts, strict=True):
        if part == "(":
            opened.append([_inside(pattern, at)])
        elif part == "|":
            opened[-1].append(at + 1)
        elif part == ")":
            yield from _without_each(pattern, opened.pop(), at)
    yield from _without_each(pattern, opened[0], len(pattern))


def _offsets(parts: list[str]) -> list[int]:
    offsets = [0]
    for part in parts[:-1]:
        offsets.append(offsets[-1] + len(part))
    return offsets if parts else []


def _inside(pattern: str, at: int) -> int:
    """Return where the first alternative of a group begins."""
    head = re.compile(r"\((?:\?(?:P<\w+>|<?[=!]|[a-z-]*:))?").match(pattern, at)
    return head.end() if head else at + 1


def _without_each(pattern: str, starts: list[int], end: int) -> Iterator[Weakened]:
    if len(starts) < 2:
        return
    ends = [*(start - 1 for start in starts[1:]), end]
    texts = [pattern[a:b] for a, b in zip(starts, ends, strict=True)]
    for n, text in enumerate(texts):
        rest = "|".join(texts[:n] + texts[n + 1 :])
        yield Weakened(pattern[: starts[0]] + rest + pattern[end:], text)


def _members(pattern: str) -> Iterator[Weakened]:
    parts = _each_part(pattern)
    for at, part in zip(_offsets(parts), parts, strict=True):
        if len(part) < 4 or part[0] != "[":
            continue
        begin = 2 if part[1] == "^" else 1
        members = _each_member(part[begin:-1])
        if len(members) < 2:
            continue
        for n, member in enumerate(members):
            left = "".join(members[:n] + members[n + 1 :])
            text = part[:begin] + left + "]"
            yield Weakened(pattern[:at] + text + pattern[at + len(part) :], member)


def _bounds(pattern: str) -> Iterator[Weakened]:
    for found in _each_bound(pattern):
        text = f"{{{found[1]},}}"
        yield Weakened(
            pattern[: found.start()] + text + pattern[found.end() :], found[0]
        )
