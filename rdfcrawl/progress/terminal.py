"""Text of the web on a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TextIO, cast

from rdfcrawl.errors import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable

_LAYOUT: Final = re.compile("(\r?\n|\t)")  # of our own, in tables, CSV and TSV


class _Terminal:
    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.flush: Callable[[], None] = file.flush

    def isatty(self) -> bool:
        """Return that it is a terminal."""
        return True

    def write(self, text: str) -> int:
        """Write text, with control characters escaped."""
        parts = _LAYOUT.split(text)
        parts[::2] = map(safe_text, parts[::2])
        return self._file.write("".join(parts))


def safe_file(file: TextIO) -> TextIO:
    """Return a file that, if it is a terminal, gets control characters escaped."""
    return cast("TextIO", _Terminal(file)) if file.isatty() else file
