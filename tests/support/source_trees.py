"""Facts found in the source of modules by a search of the text first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and the statements in it: a tenth of the output of `ast.walk`."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        for block in _BLOCKS:
            waiting += getattr(one, block, ())
