"""Numbers with their nouns, in messages, and lists in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def counted(n: float, noun: str, plural: str = "") -> str:
    """Return a number and its noun, in the singular for one.

    Args:
        n: the number.
        noun: in the singular; may include a verb if `plural` has its other form.
        plural: the noun with an "s", unless given.

    >>> counted(1, "host")
    '1 host'
    >>> counted(1234, "URI is queued", "URIs are queued")
    '1,234 URIs are queued'
    """
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


def in_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in order, `size` at a time; the last group may be smaller.

    One Redis command with all of a long list would delay the commands of others.

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
