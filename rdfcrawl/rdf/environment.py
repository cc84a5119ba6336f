"""The environment of readers: bounds of the process, scratch space, contexts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rdfcrawl.errors import NeedsSandbox
from rdfcrawl.rdf.jsonld.sources import NoContexts

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.rdf.jsonld.sources import ContextSource
    from rdfcrawl.unpack.scratch import ScratchSpace


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
