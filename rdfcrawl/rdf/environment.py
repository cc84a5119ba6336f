"""What the readers of documents may use."""

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
    """What a reader may use where it runs.

    Attributes:
        contexts: gives the contexts of JSON-LD.
        is_bounded: the process has bounds on time and memory: what can go quadratic
            or recurse may run here.
        scratch: keeps what must be read out of order; None where nothing may be.
        lift: allows so many bytes of address space more, for a file that is mapped.
    """

    contexts: ContextSource = field(default_factory=NoContexts)
    is_bounded: bool = False
    scratch: ScratchSpace | None = None
    lift: Callable[[int], None] = lambda _: None

    def demand_bounds(self, what: str) -> None:
        """Say that something must not run without bounds.

        Raises:
            NeedsSandbox: there are none here.
        """
        if not self.is_bounded:
            raise NeedsSandbox(what)


INLINE = ReaderContext()
