"""What the readers of documents may use: sandbox, scratch space, contexts."""

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
        contexts: of JSON-LD.
        is_bounded: the process has limits on time and memory: quadratic or recursive
            parsers may run here.
        scratch: keeps data to be read out of order; None if there is no room.
        lift: allows so many bytes of address space more, for a file that is mapped.
    """

    contexts: ContextSource = field(default_factory=NoContexts)
    is_bounded: bool = False
    scratch: ScratchSpace | None = None
    lift: Callable[[int], None] = lambda _: None

    def demand_bounds(self, what: str) -> None:
        """Refuse to run something without limits.

        Raises:
            NeedsSandbox: there are none here.
        """
        if not self.is_bounded:
            raise NeedsSandbox(what)


INLINE = ReaderContext()
