"""What two versions of one document say differently."""

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

    Blank nodes have their labels of the log, as in patches: a statement with one that
    has another label counts as another one.

    Attributes:
        added: statements that the later one has alone; the first of them.
        n_added: how many there are.
        removed: statements that the earlier one had alone; the first of them.
        n_removed: how many there are.
        n_kept: statements that both have.
        is_cut: one of them is too long; the rest of it was not compared.
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
    """Return what two versions say differently.

    Args:
        former: the earlier version.
        now: the later version.
        most_bytes: of the statements of each that are compared.
        most_listed: statements that are told of each kind.

    Raises:
        OSError: a segment is gone, or cannot be read.
        TornMember: a segment has been damaged.
    """
    said, had = (dict.fromkeys(_lines(x, most_bytes)) for x in (now, former))
    added = [line for line in said if line not in had]
    removed = [line for line in had if line not in said]
    return StatementDifference(
        added=tuple(_texts(added, most_listed)),
        n_added=len(added),
        removed=tuple(_texts(removed, most_listed)),
        n_removed=len(removed),
        n_kept=len(said) - len(added),
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
