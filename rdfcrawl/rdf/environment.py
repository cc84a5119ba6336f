"""The environment of readers: limits, bounds of the process, scratch, contexts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rdfcrawl.errors import NeedsSandbox
from rdfcrawl.rdf.jsonld.sources import ContextSource, NoContexts

if TYPE_CHECKING:
    from rdfcrawl.unpack.scratch import ScratchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """Limits on one document; statements before a limit are kept.

    Attributes:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderContext:
    """Resources of a reader.

    Attributes:
        contexts: of JSON-LD.
        is_bounded: the process has limits on time and memory: quadratic or recursive
            parsers may run.
        scratch: for data to be read out of order, if available.
        lift: function that adds bytes of address space, for a mapped file.
    """

    contexts: ContextSource = field(default_factory=NoContexts)
    is_bounded: bool = False
    scratch: ScratchSpace | None = None
    lift: Callable[[int], None] = lambda _: None

    def demand_bounds(self, what: str) -> None:
        """Raise `NeedsSandbox` if the process has no limits."""
        if not self.is_bounded:
            raise NeedsSandbox(what)


INLINE = ReaderContext()
