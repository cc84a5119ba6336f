"""Decide whether to go on after a bad statement: only if no statement is made up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Container

_MAX_LINE_BYTES = 2**20
# Text before an error within `@prefix p: <iri>`
_OPEN_DIRECTIVE = re.compile(
    r"(?:@|\b)(?P<keyword>prefix|base)\s+(?:(?P<prefix>[^\s<>\":]*):\s*)?(?:<[^<>\"]*)?$",
    re.IGNORECASE,
)

# A term without an end mark: prefixed name, number or blank node label
_BARE_TERM = re.compile(r"[\w.%-]+$")


def bad_line(error: SyntaxError) -> int:
    """Return the line, from 1, of a statement that failed in a line-based format."""
    line = error.lineno or 1
    # A statement that ends too early is reported at the beginning of the next line.
    is_before = error.offset == 1 and is_empty_span(error)
    return max(line - 1, 1) if is_before else line


def is_empty_span(error: SyntaxError) -> bool:
    """Return whether an error has a place but no extent: an unexpected end."""
    begin = error.lineno, error.offset
    return None not in begin and begin == (error.end_lineno, error.end_offset)


class SourceLines:
    """The text around errors, which come in order; opened at the first one."""

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

        None if a line is too long.
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
    """Return whether an error before which is `text` leaves a directive outdated.

    Statements with an undeclared prefix are bad, and counted; with an older meaning of
    the prefix, or another base, later statements would be wrong.
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
    """Return whether the last statement ends with the last term of the source `text`.

    In a truncated document, `e:ab` may have been `e:abc`.
    """
    term = _BARE_TERM.search(text or "")
    if term is None:
        return False
    last = line[: -len(" .\n")].rpartition(b" ")[2].decode()
    return last.strip("<>").endswith(term[0]) or last.startswith(f'"{term[0]}"')
