"""Read line-based documents in blocks of complete lines, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.encoding import BLOCK_BYTES

if TYPE_CHECKING:
    from rdfcrawl.core.faultlog import FaultLog


def iter_line_blocks(
    read: Callable[[int], bytes], *, max_line_bytes: int, log: FaultLog
) -> Iterator[bytes]:
    """Yield blocks of complete lines; all but the last end with a line end.

    A line longer than `max_line_bytes` is skipped, and logged as `LITERAL_TOO_LONG`.
    """
    held: list[bytes] = []  # of a line without its end so far
    n_held = 0
    block = read(BLOCK_BYTES)
    while block:
        # N-Triples section 2, EOL: a carriage return alone also ends a line.
        cut = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        if cut:
            held.append(block[:cut])
            yield b"".join(held)
            held, n_held = [], 0
        held.append(block[cut:])
        n_held += len(block) - cut
        if n_held > max_line_bytes:
            log.note(Reason.LITERAL_TOO_LONG, "a line is too long")
            held, n_held = [], 0
            block = _after_next_line_end(read)
        else:
            block = b""
        block = block or read(BLOCK_BYTES)
    if n_held:
        yield b"".join(held)


def gathered(blocks: Iterable[bytes], n_bytes: int) -> Iterator[bytes]:
    """Yield joined blocks of complete lines, of about `n_bytes`."""
    held: list[bytes] = []
    n_held = 0
    for block in blocks:
        held.append(block)
        n_held += len(block)
        if n_held >= n_bytes:
            yield b"".join(held)
            held.clear()
            n_held = 0
    if held:
        yield b"".join(held)


def _after_next_line_end(read: Callable[[int], bytes]) -> bytes:
    while block := read(BLOCK_BYTES):
        ends = [end for end in (block.find(b"\n"), block.find(b"\r")) if end >= 0]
        if ends:
            return block[min(ends) + 1 :]
    return b""
