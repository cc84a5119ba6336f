"""What a rule file consists of: texts, lists and tables that know their line."""

from __future__ import annotations

from dataclasses import dataclass


class RuleError(Exception):
    """Something in a rule file is wrong; whoever knows file and rule says so."""

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
    """A mapping, in order; keys may be doubled."""

    line: int
    pairs: tuple[tuple[TextNode, Node], ...]

    def entries(self) -> dict[str, tuple[int, Node]]:
        """Return lines and values by key.

        Raises:
            RuleError: a key is there twice.
        """
        found: dict[str, tuple[int, Node]] = {}
        for key, value in self.pairs:
            if key.text in found:
                raise RuleError(key.line, f"{key.text!r} is here twice")
            found[key.text] = key.line, value
        return found


Node = TextNode | SequenceNode | TableNode
