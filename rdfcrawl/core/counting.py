"""Numbers with their nouns, in messages."""

from __future__ import annotations


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
