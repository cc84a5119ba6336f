"""The environment of readers: limits, process bounds, scratch space, contexts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import NeedsSandbox
from rdfcrawl.core.options.table import OptionsTable, integer, number
from rdfcrawl.rdf.context_sources import ContextSource, NoContexts

if TYPE_CHECKING:
    from rdfcrawl.rdf.unpack.scratch import ScratchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits(OptionsTable):
    """Limits on one document; statements before a limit are kept."""

    doc_bytes: int = 16 * 2**30
    n_quads: int = 1_000_000_000  # statements written
    literal_bytes: int = integer("RDF_LITERAL_MAX_BYTES", 1024 * 1024, 1)
    """longest statement, in effect its literal; a longer one is left out"""
    n_errors: int = 10_000  # bad statements skipped before the rest is given up
    secs: float = number("RDF_PARSE_SECS", 30.0, 0.1, 86_400)
    """CPU time for a document that is read in a child process, and one second more for
    each megabyte of it and of what it gives"""
    secs_per_mb: float = 1.0  # additional seconds for each megabyte (10^6 bytes)


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
