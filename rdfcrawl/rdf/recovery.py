"""Decide whether to go on after a bad statement.

Reading goes on only where no statement can come out that the publisher did not make.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Container

_MAX_LINE_BYTES = 2**20
# What stands before the place of an error inside of `@prefix p: <iri>`
_OPEN_DIRECTIVE = re.compile(
    r"(?:@|\b)(?P<keyword>prefix|base)\s+(?:(?P<prefix>[^\s<>\":]*):\s*)?(?:<[^<>\"]*)?$",
    re.IGNORECASE,
)

# A term without an end mark: prefixed name, number or blank node label
_BARE_TERM = re.compile(r"[\w.%-]+$")


def bad_line(error: SyntaxError) -> int:
    """Return the number, from 1, of the line on which a line-based statement failed."""
    line = error.lineno or 1
    # A statement that ends too early is reported at the begin of the next line.
    is_before = error.offset == 1 and is_empty_span(error)
    return max(line - 1, 1) if is_before else line


def is_empty_span(error: SyntaxError) -> bool:
    """Return whether the error has a place but no extent: an end where none may be."""
    begin = error.lineno, error.offset
    return None not in begin and begin == (error.end_lineno, error.end_offset)


class SourceLines:
    """The text around errors, whose places only go forward.

    `reopen` opens the source at the first error.
    """

    def __init__(self, reopen: Callable[[], BinaryIO]) -> None:
        self._reopen = reopen
        self._file: BinaryIO | None = None
        self._n_read = 0
        self._before = self._line = b""

    def close(self) -> None:
        """Close the source, if open."""
        if self._file is not None:
            self._file.close()

    def up_to(self, line: int, column: int) -> str | None:
        """Return the line before and this one up to the column (from 1).

        None if unknown, as lines are too long.
        """
        file = self._file = self._file or self._reopen()
        while self._n_read < line:
            self._before, self._line = self._line, file.readline(_MAX_LINE_BYTES)
            if len(self._line) == _MAX_LINE_BYTES:
                return None
            self._n_read += 1
        text = self._line.decode("utf-8", "replace")[: column - 1]
        return self._before.decode("utf-8", "replace") + text


def breaks_directive(text: str | None, prefixes: Container[str]) -> bool:
    """Return whether later statements would be read with an outdated directive.

    An undeclared prefix makes statements bad, which are counted; one with an older
    meaning, or a base, would make them wrong.

    Args:
        text: source before the place of the error; None if unknown.
        prefixes: declared so far.
    """
    if text is None:
        return True
    match = _OPEN_DIRECTIVE.search(text)
    if match is None:
        return False
    if match["keyword"].lower() == "base":
        return True
    return match["prefix"] is None or match["prefix"] in prefixes


def is_cut_off(text: str | None, line: bytes) -> bool:
    """Return whether a statement ends with the last term of the source.

    Where a document is truncated, `e:ab` may have been `e:abc`.

    Args:
        text: source before its end; None if unknown.
        line: last statement read, in canonical N-Quads.
    """
    term = _BARE_TERM.search(text or "")
    if term is None:
        return False
    last = line[: -len(" .\n")].rpartition(b" ")[2].decode()
    return last.strip("<>").endswith(term[0]) or last.startswith(f'"{term[0]}"')
