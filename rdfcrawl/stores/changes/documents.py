"""Compare the statements of two versions of one document."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.stores.log.documents import LogDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementDifference:
    """The difference of two versions of a document, in N-Quads.

    Blank nodes have their labels of the log, as in patches: statements that differ only
    in these labels count as different.

    Attributes:
        added: the first statements that only the later version has.
        n_added: number of all of them.
        removed: the first statements that only the earlier version has.
        n_removed: number of all of them.
        n_kept: statements that both have.
        is_cut: a version was too long, and was compared only in part.
    """

    added: tuple[str, ...]
    n_added: int
    removed: tuple[str, ...]
    n_removed: int
    n_kept: int
    is_cut: bool


def compare_versions(
    former: LogDocument, now: LogDocument, *, most_bytes: int, most_listed: int
) -> StatementDifference:
    """Return how the statements of two versions differ.

    Args:
        former: the earlier version.
        now: the later version.
        most_bytes: compare at most so many bytes of each version.
        most_listed: return at most so many statements of each kind.

    Raises:
        OSError: a segment is gone or cannot be read.
        TornMember: a segment has been damaged.
    """
    current, earlier = (dict.fromkeys(_lines(x, most_bytes)) for x in (now, former))
    added = [line for line in current if line not in earlier]
    removed = [line for line in earlier if line not in current]
    return StatementDifference(
        added=tuple(_texts(added, most_listed)),
        n_added=len(added),
        removed=tuple(_texts(removed, most_listed)),
        n_removed=len(removed),
        n_kept=len(current) - len(added),
        is_cut=max(former.n_bytes, now.n_bytes) > most_bytes,
    )


def _lines(document: LogDocument, most_bytes: int) -> Iterator[bytes]:
    left = most_bytes
    for piece in document.pieces():
        for line in piece.splitlines():
            left -= len(line) + 1
            if left < 0:
                return
            yield line


def _texts(lines: list[bytes], most: int) -> Iterator[str]:
    return (line.decode("utf-8", "replace") for line in islice(lines, most))
