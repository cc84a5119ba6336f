"""Read line-based documents in blocks of whole lines, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.rdf.encoding import BLOCK_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def iter_line_blocks(
    read: Callable[[int], bytes],
    *,
    max_line_bytes: int,
    drop: Callable[[], None],
) -> Iterator[bytes]:
    """Yield blocks of whole lines; all but the last end with a line end.

    A line longer than `max_line_bytes` is skipped, and `drop` called.
    """
    rest = b""
    while block := read(BLOCK_BYTES):
        block = rest + block
        cut = _after_last_line(block)
        rest = block[cut:]
        if cut:
            yield block[:cut]
        if len(rest) > max_line_bytes:
            drop()
            rest = _after_next_line_end(read)
    if rest:
        yield rest


def gathered(blocks: Iterable[bytes], n_bytes: int) -> Iterator[bytes]:
    """Yield joined blocks of whole lines, of about so many bytes."""
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


def _after_last_line(block: bytes) -> int:
    # N-Triples section 2, EOL: a carriage return alone ends a line as well.
    return max(block.rfind(b"\n"), block.rfind(b"\r")) + 1


def _after_next_line_end(read: Callable[[int], bytes]) -> bytes:
    while block := read(BLOCK_BYTES):
        ends = [end for end in (block.find(b"\n"), block.find(b"\r")) if end >= 0]
        if ends:
            return block[min(ends) + 1 :]
    return b""
