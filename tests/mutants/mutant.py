"""The value of one defence that is taken out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """One defence that is taken out.

    Attributes:
        threat: number of the row.
        path: of the file, in the repository.
        tests: nodes of pytest, of which one has to fail.
    """

    threat: int
    path: str
    old: str
    new: str
    tests: str
