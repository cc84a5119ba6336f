"""Another way to a dataset, when one of its files did not give what it should."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.formats import HTML
from rdfcrawl.harvest.discovery import NOTHING_FOUND

if TYPE_CHECKING:
    from rdfcrawl.harvest.context import HarvestContext
    from rdfcrawl.harvest.discovery import Discovery
    from rdfcrawl.records import Document


class FailedFiles:
    """Finds other ways to what a file of a dataset should have given."""

    def __init__(self, context: HarvestContext) -> None:
        self._datasets = context.datasets

    async def find(self, document: Document) -> Discovery:
        """Return the next way to the datasets of a file that failed."""
        if lack := shortfall_of(document):
            return await self._datasets.instead_of_file(document, lack)
        return NOTHING_FOUND


def shortfall_of(document: Document) -> str:
    """Return what is wrong with a dump, in a few words; empty if it was had.

    A redirect to where somebody else asks is as good as what is there. Statements that
    were left out of a file that was read to its end are no reason to take all of it
    once more.

    Args:
        document: read to its end.
    """
    if 300 <= document.status < 400 and not document.faults:
        return ""
    if not document.n_quads:
        reasons = [str(fault.reason) for fault in document.faults]
        return reasons[0] if reasons else "no statements"
    if document.reading.format is HTML and not document.reading.n_members:
        return "a page"
    return "cut" if document.is_partial else ""
