"""Cut the triples of a graph into parts without splitting blank nodes.

Blank nodes of different requests are different in the store. So all triples of a blank
node are in one part, together with those of other blank nodes between them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import StoreFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LABEL: Final = re.compile(rb"^_:(\S+)|> _:(\S+) \.$", re.MULTILINE)
_LABEL_OR_TEXT: Final = re.compile(rb"(?<= )_:(\S+)|^_:(\S+)")
MAX_LABELS: Final = 2_000_000  # about 250 MB
MAX_WHOLE_BYTES: Final = 64 * 1024 * 1024


class UncutGraph(StoreFault):
    """The triples of linked blank nodes are too long for one request."""


def iter_parts(
    pieces: Callable[[], Iterator[bytes]], *, max_bytes: int, max_lines: int
) -> Iterator[bytes]:
    """Yield triples in parts, each about as long as a request may be.

    Args:
        pieces: returns an iterator of triples in complete lines; is called twice.
        max_bytes: of a part; exceeded if a blank node requires it.
        max_lines: of a part, likewise.

    Raises:
        UncutGraph: a part would be longer than `MAX_WHOLE_BYTES`.
    """
    last = _last_lines(pieces())
    free, bound = _Part(), _Part()
    until = number = -1
    for piece in pieces():
        for line in piece.splitlines(keepends=True):
            number += 1
            labels = _labels(line) if b"_:" in line else ()
            until = max(until, *(last[each] for each in labels)) if labels else until
            (bound if labels else free).add(line)
            if bound.n_bytes > MAX_WHOLE_BYTES:
                raise UncutGraph(
                    "its blank nodes are too closely linked to cut it into parts"
                )
            if number >= until and bound.n_lines + free.n_lines:
                n_bytes = bound.n_bytes + free.n_bytes
                if n_bytes >= max_bytes or bound.n_lines + free.n_lines >= max_lines:
                    yield bound.take() + free.take()
            elif free.n_bytes >= max_bytes or free.n_lines >= max_lines:
                yield free.take()
    if rest := bound.take() + free.take():
        yield rest


def _labels(line: bytes) -> list[int]:
    # Triple terms contain blank nodes, too; a false match in a string does no harm.
    found = _LABEL_OR_TEXT if b"<<(" in line else _LABEL
    return [hash(one or other) for one, other in found.findall(line)]


def _last_lines(pieces: Iterator[bytes]) -> dict[int, int]:
    """Return the number of the last line of each blank node."""
    last: dict[int, int] = {}
    n_before = 0
    for piece in pieces:
        if b"_:" in piece:
            for number, line in enumerate(piece.splitlines(keepends=True), n_before):
                if b"_:" in line:
                    last.update(dict.fromkeys(_labels(line), number))
            if len(last) > MAX_LABELS:
                raise UncutGraph(f"it has more than {MAX_LABELS:,} blank nodes")
        n_before += piece.count(b"\n")
    return last


class _Part:
    """Lines of one part."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self.n_bytes = 0

    @property
    def n_lines(self) -> int:
        return len(self._lines)

    def add(self, line: bytes) -> None:
        self._lines.append(line)
        self.n_bytes += len(line)

    def take(self) -> bytes:
        taken = b"".join(self._lines)
        self._lines.clear()
        self.n_bytes = 0
        return taken
