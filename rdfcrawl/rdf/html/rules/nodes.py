"""Nodes of a rule file: texts, lists and tables with line numbers; and checks.

All functions raise `RuleError` for an unexpected node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar


class RuleError(Exception):
    """A mistake in a rule file; the caller adds file and rule."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class TextNode:
    """A scalar; `line` counts from 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list."""

    line: int
    members: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class TableNode:
    """A mapping, in order; may have duplicate keys."""

    line: int
    pairs: tuple[tuple[TextNode, Node], ...]

    def entries(self) -> dict[str, tuple[int, Node]]:
        """Return lines and values by key; raise `RuleError` for a duplicate key."""
        found: dict[str, tuple[int, Node]] = {}
        for key, value in self.pairs:
            if key.text in found:
                raise RuleError(key.line, f"{key.text!r} appears twice")
            found[key.text] = key.line, value
        return found


Node = TextNode | SequenceNode | TableNode


_Made = TypeVar("_Made")

Entry = tuple[int, Node]  # line of the key, and value
Entries = dict[str, Entry]

_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


def entries_of(node: Node, keys: tuple[str, ...] | None, what: str) -> Entries:
    """Return a mapping by key, with lines; `what` names the node in messages.

    Only `keys` are allowed; None allows all.
    """
    if not isinstance(node, TableNode):
        raise RuleError(node.line, f"{what} is a mapping")
    entries = node.entries()
    for key, (line, _) in entries.items():
        if keys is not None and key not in keys:
            known = ", ".join(keys)
            raise RuleError(line, f"{key!r} is unknown in {what}; there are {known}")
    return entries


def table_in(entries: Entries, key: str, keys: tuple[str, ...] | None) -> Entries:
    """Return the mapping at a key, with lines; empty if unset."""
    return entries_of(entries[key][1], keys, f"`{key}`") if key in entries else {}


def table_of(key: str, node: Node) -> Node:
    """Return a mapping; text becomes one with a single key."""
    if isinstance(node, TextNode):
        return TableNode(node.line, ((TextNode(node.line, key), node),))
    return node


def members(node: Node) -> tuple[Node, ...]:
    """Return the members of a list; any other node is its only member."""
    return node.members if isinstance(node, SequenceNode) else (node,)


def text_at(line: int, node: Node) -> str:
    """Return the text of a node, which must be text and not empty."""
    if not isinstance(node, TextNode):
        raise RuleError(line, "must be text; quote values that begin with [ or {")
    if not node.text:
        raise RuleError(line, "is empty; quote values that begin with #")
    return node.text


def choice(entry: Entry, choices: tuple[str, ...]) -> str:
    """Return a text, which must be among the choices."""
    text = text_at(*entry)
    if text not in choices:
        raise RuleError(entry[0], f"{text!r} must be one of {', '.join(choices)}")
    return text


def boolean(entry: Entry | None) -> bool:
    """Return a boolean; False if unset."""
    if entry is None:
        return False
    text = text_at(*entry).lower()
    if text not in _BOOLEANS:
        raise RuleError(entry[0], f"{text!r} must be true or false")
    return _BOOLEANS[text]


def made(line: int, make: Callable[..., _Made], *given: Any) -> _Made:
    """Call a function on a part of the file; a `ValueError` becomes a `RuleError`."""
    try:
        return make(*given)
    except ValueError as error:
        raise RuleError(line, str(error)) from error
