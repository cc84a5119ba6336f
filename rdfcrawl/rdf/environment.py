"""The environment of readers: limits, process bounds, scratch space, contexts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import NeedsSandbox
from rdfcrawl.rdf.context_sources import ContextSource, NoContexts

if TYPE_CHECKING:
    from rdfcrawl.rdf.unpack.scratch import ScratchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """Limits on one document; statements before a limit are kept."""

    doc_bytes: int = 16 * 2**30
    n_quads: int = 1_000_000_000  # statements written
    literal_bytes: int = 2**20  # length of one statement, mostly of its literal
    n_errors: int = 10_000  # bad statements skipped before reading ends
    secs: float = 30.0  # CPU seconds of a child process per document
    secs_per_mb: float = 1.0  # additional seconds per megabyte (10^6 bytes)


DEFAULT_LIMITS = ParseLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderContext:
    """Resources of a reader."""

    contexts: ContextSource = field(default_factory=NoContexts)  # of JSON-LD
    # the process has time and memory limits: quadratic or recursive parsers may run
    is_bounded: bool = False
    # for random access, if available
    scratch: ScratchSpace | None = None
    # function that adds bytes of address space, for a mapped file
    lift: Callable[[int], None] = lambda _: None

    def demand_bounds(self, what: str) -> None:
        """Raise `NeedsSandbox` if the process has no limits."""
        if not self.is_bounded:
            raise NeedsSandbox(what)


INLINE = ReaderContext()
