"""Limits on one document of RDF."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """Limits on one document; statements before a limit are kept.

    Attributes:
        doc_bytes: length of the document.
        n_quads: statements written.
        literal_bytes: length of one statement, in effect of its literal.
        n_errors: bad statements skipped before the rest is given up.
        secs: CPU seconds of a child process for a document.
        secs_per_mb: additional seconds for each megabyte (10^6 bytes).
    """

    doc_bytes: int = 16 * 2**30
    n_quads: int = 1_000_000_000
    literal_bytes: int = 2**20
    n_errors: int = 10_000
    secs: float = 30.0
    secs_per_mb: float = 1.0


DEFAULT_LIMITS = ParseLimits()
