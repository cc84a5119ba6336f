"""Split long lists, so that one Redis command does not delay the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def in_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in order, `size` at a time; the last group may be smaller.

    >>> list(in_batches("abc", 2))
    [['a', 'b'], ['c']]
    """
    group: list[T] = []
    for item in items:
        group.append(item)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
