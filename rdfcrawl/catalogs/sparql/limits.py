"""How much of one answer is read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultLimits:
    """Bounds on one answer; what was read before one is reached is kept.

    Attributes:
        body_bytes: bytes of the answer that are read.
        rows: rows that are read.
        row_chars: length of one row, and of whatever else is read as a whole.
        variables: names in the head of a table.
        description_bytes: of a service description; a server that answers a GET
            with its whole store is not read to the end.
    """

    body_bytes: int = 2**30
    rows: int = 10_000_000
    row_chars: int = 4 * 2**20
    variables: int = 1_000
    description_bytes: int = 4 * 2**20


DEFAULT_RESULT_LIMITS = ResultLimits()
