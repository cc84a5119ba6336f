"""The body of an answer, wherever it lies: in memory, or in a spool file.

Nobody else chooses between the two: what is written for a small body would silently
find nothing in a large one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path


class HasBody(Protocol):
    """What has a body: an answer, or the document that is made of it."""

    body: bytes | None
    path: Path | None


def body_of(holder: HasBody) -> bytes | Path | None:
    """Return the body or the file that it lies in; None if there is none."""
    return holder.body if holder.body is not None else holder.path


def head_of(holder: HasBody, n_bytes: int) -> bytes:
    """Return the begin of a body, at most so many bytes; nothing if there is none.

    Raises:
        OSError: its file cannot be read.
    """
    if holder.body is not None:
        return holder.body[:n_bytes]
    if holder.path is None:
        return b""
    with holder.path.open("rb") as file:
        return file.read(n_bytes)
