"""Texts for people: numbers with their nouns, text of the web on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Final, TextIO, cast

from rdfcrawl.core.errors import safe_text

_LIKENESS: Final = 0.75  # of names, from 0 to 1; one letter of twelve is 0.96
_LAYOUT: Final = re.compile("(\r?\n|\t)")  # ours, in tables, CSV and TSV


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


def listed(names: Sequence[str], most: int, noun: str = "") -> str:
    """Return the first of some names, and the number of the others.

    >>> listed(["a", "b", "c", "d"], 2), listed(["a", "b"], 1, "kind")
    ('a, b and 2 more', 'a and 1 more kind')
    """
    n_more = len(names) - most
    more = counted(n_more, f"more {noun}") if noun else f"{n_more:,} more"
    return ", ".join(names[:most]) + (f" and {more}" if n_more > 0 else "")


def clipped(text: str, most: int) -> str:
    """Return the beginning of a text of more characters, with an ellipsis at its end.

    >>> clipped("abcdef", 4), clipped("abcd", 4)
    ('abc…', 'abcd')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def escaped(text: str) -> str:
    r"""Return text with all control characters except line ends and tabs escaped.

    >>> escaped("a\tb\x1b[2J\n")
    'a\tb\\x1b[2J\n'
    """
    parts = _LAYOUT.split(text)
    parts[::2] = map(safe_text, parts[::2])
    return "".join(parts)


def perhaps(name: str, known: Iterable[str]) -> str:
    """Return a hint for a misspelled name: the known one that is most like it, if any.

    >>> perhaps("DOWNLOAD_DELY", ["DOWNLOAD_DELAY", "DOWNLOAD_TIMEOUT"])
    ', perhaps DOWNLOAD_DELAY'
    """
    like = get_close_matches(name, list(known), n=1, cutoff=_LIKENESS)
    return f", perhaps {like[0]}" if like else ""


class _Terminal:
    def __init__(self, file: TextIO) -> None:
        self.file = file

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the file."""
        return getattr(self.file, name)

    def write(self, text: str) -> int:
        """Write text, with control characters escaped."""
        return self.file.write(escaped(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines, with control characters escaped."""
        for line in lines:
            self.write(line)


def safe_file(file: TextIO) -> TextIO:
    """Return a file that escapes control characters if it is a terminal."""
    is_safe = isinstance(file, _Terminal) or not file.isatty()
    return file if is_safe else cast("TextIO", _Terminal(file))


def raw_file(file: TextIO) -> TextIO:
    """Return the file behind a safe one, for our colours and carriage returns."""
    return file.file if isinstance(file, _Terminal) else file
