"""Collect the facts on a value of JSON that the fast way depends on, in one walk."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import copysign, isfinite
from typing import Any, Final

_LARGEST_PLAIN: Final = 2**53  # larger numbers may lose digits as doubles


@dataclass(slots=True)
class JsonContents:
    """Content of a value of JSON.

    Attributes:
        holders: keys and indexes of objects and arrays.
        strings: keys and values.
        nodes: objects with a context.
        has_lists: an object has the key `@list` or `@set`.
        is_plain: libraries agree on the numbers.
    """

    holders: set[Any] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    has_lists: bool = False
    is_plain: bool = True


def walk(value: Any) -> JsonContents:
    """Return the content of a value of JSON, including contexts."""
    found = JsonContents()
    strings, holders = found.strings, found.holders
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            strings.update(node)
            if "@context" in node:
                found.nodes.append(node)
            if "@list" in node or "@set" in node:
                found.has_lists = True
            entries: Any = node.items()
        else:
            entries = enumerate(node)
        for key, entry in entries:
            kind = type(entry)
            if kind is str:
                strings.add(entry)
            elif kind is dict or kind is list:
                stack.append(entry)
                holders.add(key)
            elif kind is float:
                found.is_plain &= _is_plain(entry)
            elif kind is int:
                found.is_plain &= -_LARGEST_PLAIN < entry < _LARGEST_PLAIN
    return found


def _is_plain(number: float) -> bool:
    """Return whether a number has a fraction, or is not too large an integer."""
    if number == 0:
        return copysign(1, number) > 0
    return isfinite(number) and (
        not number.is_integer() or abs(number) < _LARGEST_PLAIN
    )


def names_in(strings: set[str]) -> set[str]:
    """Return possible terms among strings, which include their parts before a colon."""
    return strings | {text[: text.index(":")] for text in strings if ":" in text}
