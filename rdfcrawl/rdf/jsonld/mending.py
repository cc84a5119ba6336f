"""Recover the intact nodes of JSON that is truncated or broken."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import json

_SPACE = re.compile(r"[ \t\n\r]*")


def whole_members(text: str, decoder: json.JSONDecoder) -> Any:
    """Return a document with the intact members of its outermost array, if any.

    A truncated node may lack its name, and is dropped. The outermost array is the
    document itself, or the `@graph` of its only object, after the context.

    >>> import json
    >>> whole_members('[{"a": 1}, {"b": 2}, {"c"', json.JSONDecoder())
    [{'a': 1}, {'b': 2}]
    """
    at = after_space(text, 0)
    if text.startswith("[", at):
        return _members(text, at + 1, decoder)
    found: dict[str, Any] = {}
    while text.startswith("," if found else "{", at):
        try:
            key, at = decoder.raw_decode(text, after_space(text, at + 1))
            at = after_space(text, at)
            if not isinstance(key, str) or not text.startswith(":", at):
                return None
            at = after_space(text, at + 1)
            if key == "@graph" and text.startswith("[", at):
                members = _members(text, at + 1, decoder)
                return {**found, key: members} if "@context" in found else None
            found[key], at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        at = after_space(text, at)
    return None


def _members(text: str, at: int, decoder: json.JSONDecoder) -> list[Any]:
    """Return the members of an array from the place after its bracket."""
    members: list[Any] = []
    while True:
        try:
            value, at = decoder.raw_decode(text, after_space(text, at))
        except (ValueError, RecursionError):
            return members
        members.append(value)  # a number may be cut off, but is ignored in this place
        at = after_space(text, at)
        if not text.startswith(",", at):
            return members
        at += 1


def after_space(text: str, at: int) -> int:
    """Return the place after white space of JSON."""
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # always matches
