"""A URI on its way into the frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rdfcrawl.records import Budget


class Candidate(NamedTuple):
    """A URI on its way into the frontier."""

    partition: int
    key: str
    fingerprint: int
    item: bytes  # band digit + payload, or b"k": mark as seen only
    budget: Budget | None = None  # of its host and domain; None: that of the worker
