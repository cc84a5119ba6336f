"""The body of a response, in memory or in a spool file.

Nobody else chooses between the two: what is written for a small body would silently
find nothing in a large one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path


class HasBody(Protocol):
    """A response, or the document that is made of it: it has a body."""

    body: bytes | None
    path: Path | None


def body_of(holder: HasBody) -> bytes | Path | None:
    """Return the body, or the path of the file that has it; None if there is none."""
    return holder.body if holder.body is not None else holder.path


def head_of(holder: HasBody, n_bytes: int) -> bytes:
    """Return the first bytes of a body, at most so many; nothing if there is no body.

    Raises:
        OSError: its file cannot be read.
    """
    if holder.body is not None:
        return holder.body[:n_bytes]
    if holder.path is None:
        return b""
    with holder.path.open("rb") as file:
        return file.read(n_bytes)
