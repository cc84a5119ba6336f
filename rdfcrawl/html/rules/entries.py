"""Check parts of rule files for their expected types."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar

from rdfcrawl.html.rules.nodes import Node, RuleError, SequenceNode, TableNode, TextNode

if TYPE_CHECKING:
    from collections.abc import Callable

_Made = TypeVar("_Made")
_Given = ParamSpec("_Given")

Entry = tuple[int, Node]  # line of the key, and value
Entries = dict[str, Entry]

_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


def entries_of(node: Node, keys: tuple[str, ...] | None, what: str) -> Entries:
    """Return a mapping by its keys, with lines.

    `keys` are those known; None are all. `what` names the mapping in messages.

    Raises:
        Misfit: `node` is no mapping, or a key is unknown.
    """
    if not isinstance(node, TableNode):
        raise RuleError(node.line, f"{what} is a mapping")
    entries = node.entries()
    for key, (line, _) in entries.items():
        if keys is not None and key not in keys:
            known = ", ".join(keys)
            raise RuleError(line, f"{key!r} is unknown in {what}; there are {known}")
    return entries


def table_of(key: str, node: Node) -> Node:
    """Return a mapping; text becomes one with a single key."""
    if isinstance(node, TextNode):
        return TableNode(node.line, ((TextNode(node.line, key), node),))
    return node


def members(node: Node) -> tuple[Node, ...]:
    """Return the members of a list; any other node is its only member."""
    return node.members if isinstance(node, SequenceNode) else (node,)


def text_at(line: int, node: Node) -> str:
    """Return the text of a node.

    Raises:
        Misfit: the node is no text, or empty.
    """
    if not isinstance(node, TextNode):
        raise RuleError(line, "must be text; quote what begins with [ or {")
    if not node.text:
        raise RuleError(line, "is empty; quote what begins with #")
    return node.text


def choice(entry: Entry, choices: tuple[str, ...]) -> str:
    """Return a text that is one of the choices.

    Raises:
        Misfit: it is another.
    """
    text = text_at(*entry)
    if text not in choices:
        raise RuleError(entry[0], f"{text!r} must be one of {', '.join(choices)}")
    return text


def boolean(entry: Entry | None) -> bool:
    """Return a boolean; False if unset.

    Raises:
        Misfit: the text is neither true nor false.
    """
    if entry is None:
        return False
    text = text_at(*entry).lower()
    if text not in _BOOLEANS:
        raise RuleError(entry[0], f"{text!r} must be true or false")
    return _BOOLEANS[text]


def made(
    line: int,
    make: Callable[_Given, _Made],
    *given: _Given.args,
    **named: _Given.kwargs,
) -> _Made:
    """Call a function on a part of the file.

    Raises:
        Misfit: the function raised ValueError.
    """
    try:
        return make(*given, **named)
    except ValueError as error:
        raise RuleError(line, str(error)) from error
