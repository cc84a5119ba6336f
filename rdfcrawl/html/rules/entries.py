"""Parts of rule files, as whoever reads them expects them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar

from rdfcrawl.html.rules.nodes import Misfit, Node, Sequence, Table, TextNode

if TYPE_CHECKING:
    from collections.abc import Callable

_Made = TypeVar("_Made")
_Given = ParamSpec("_Given")

Entry = tuple[int, Node]  # line of the key, and value
Entries = dict[str, Entry]

_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


def entries_of(node: Node, keys: tuple[str, ...] | None, what: str) -> Entries:
    """Return a mapping.

    Args:
        node: that should be one.
        keys: that are known; None are all.
        what: it is; for messages.

    Raises:
        Misfit: it is none, or a key is not known.
    """
    if not isinstance(node, Table):
        raise Misfit(node.line, f"{what} is a mapping")
    entries = node.entries()
    for key, (line, _) in entries.items():
        if keys is not None and key not in keys:
            known = ", ".join(keys)
            raise Misfit(line, f"{key!r} is unknown in {what}; there are {known}")
    return entries


def table_of(key: str, node: Node) -> Node:
    """Return a mapping for what is short for one with a single key."""
    if isinstance(node, TextNode):
        return Table(node.line, ((TextNode(node.line, key), node),))
    return node


def members(node: Node) -> tuple[Node, ...]:
    """Return the members of a list; what is none is its only member."""
    return node.members if isinstance(node, Sequence) else (node,)


def text_at(line: int, node: Node) -> str:
    """Return a text.

    Raises:
        Misfit: it is none, or empty.
    """
    if not isinstance(node, TextNode):
        raise Misfit(line, "must be text; quote what begins with [ or {")
    if not node.text:
        raise Misfit(line, "is empty; quote what begins with #")
    return node.text


def choice(entry: Entry, choices: tuple[str, ...]) -> str:
    """Return one of several words.

    Raises:
        Misfit: it is another.
    """
    text = text_at(*entry)
    if text not in choices:
        raise Misfit(entry[0], f"{text!r} must be one of {', '.join(choices)}")
    return text


def boolean(entry: Entry | None) -> bool:
    """Return whether something is asked for; it is not by default.

    Raises:
        Misfit: it is neither true nor false.
    """
    if entry is None:
        return False
    text = text_at(*entry).lower()
    if text not in _BOOLEANS:
        raise Misfit(entry[0], f"{text!r} must be true or false")
    return _BOOLEANS[text]


def made(
    line: int,
    make: Callable[_Given, _Made],
    *given: _Given.args,
    **named: _Given.kwargs,
) -> _Made:
    """Return what a function makes of a part of the file.

    Raises:
        Misfit: it raised ValueError.
    """
    try:
        return make(*given, **named)
    except ValueError as error:
        raise Misfit(line, str(error)) from error
