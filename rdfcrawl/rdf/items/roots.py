"""The nodes of a document that become items of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rdfcrawl.rdf.items.description import Name


def choose_roots(
    candidates: Sequence[Name], nested: Callable[[Name], Iterable[Name]]
) -> list[Name]:
    """Return the fewest candidates that contain all others, in their order.

    Of those that contain each other, the first one. Takes linear time.

    Args:
        candidates: nodes of the wanted class.
        nested: yields the nodes that are nested directly in a node.

    >>> nested = {"a": "b", "b": "a", "c": "ad", "d": ""}
    >>> choose_roots("abcd", nested.__getitem__)
    ['c']
    >>> choose_roots("adb", nested.__getitem__)
    ['a', 'd']
    """
    # A chosen node is in none that was chosen before, so it only remains to leave out
    # those that are in one chosen later.
    chosen = _uncovered(candidates, nested)
    kept = set(_uncovered(chosen[::-1], nested))
    return [each for each in chosen if each in kept]


def _uncovered(
    candidates: Sequence[Name], nested: Callable[[Name], Iterable[Name]]
) -> list[Name]:
    """Return the candidates that are not in one before them."""
    covered: set[Name] = set()
    found = []
    for each in candidates:
        if each in covered:
            continue
        found.append(each)
        covered.add(each)
        waiting = [each]
        while waiting:
            new = [x for x in nested(waiting.pop()) if x not in covered]
            covered.update(new)
            waiting += new
    return found
