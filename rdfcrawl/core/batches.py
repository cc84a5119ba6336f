"""Long sequences in groups: one command or one file write for many items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def in_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in order, `size` at a time; the last group may be smaller.

    >>> list(in_batches("abc", 2))
    [['a', 'b'], ['c']]
    """
    iterator = iter(items)
    while group := list(islice(iterator, size)):
        yield group
