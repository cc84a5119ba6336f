"""Screens XML for what makes a parser slow: entities that grow, and deep nesting."""

from __future__ import annotations

import re
from typing import Final

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf.doctype import EntityScreen

# The RDF/XML parser is quadratic in the depth: 8,000 levels take 0.4 s, 100,000 more
# than a minute.
MAX_XML_DEPTH: Final = 4000
_STEP_BYTES: Final = 16 * 1024  # between two looks at the depth
# What does not end here goes on in the next block; each byte is looked at once.
_NO_ELEMENTS = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[!?]", re.DOTALL
)


class XmlScreen:
    """Passes XML on block by block; `SourceFault` for what is dangerous.

    The depth is counted, not parsed: what is left of a comment behind a border of
    blocks counts as markup. It is meant to end attacks, and far from what documents
    have.
    """

    def __init__(self) -> None:
        self._entities = EntityScreen()
        self._depth = 0

    def feed(self, block: bytes, is_last: bool) -> bytes:
        """Return what may be parsed of the blocks so far.

        Raises:
            SourceFault: `ENTITY_EXPANSION`, see `EntityScreen`; `SYNTAX`: nested
                deeper than `MAX_XML_DEPTH`.
        """
        block = self._entities.feed(block, is_last)
        markup = block
        if b"<!" in block or b"<?" in block:
            markup = _NO_ELEMENTS.sub(b"", block)
        for begin in range(0, len(markup), _STEP_BYTES):
            self._count(markup, begin, begin + _STEP_BYTES)
        return block

    def _count(self, markup: bytes, begin: int, end: int) -> None:
        n_ends = markup.count(b"</", begin, end + 1)
        n_starts = markup.count(b"<", begin, end) - n_ends
        n_starts -= markup.count(b"/>", begin, end + 1)
        self._depth = max(self._depth + n_starts - n_ends, 0)
        if self._depth > MAX_XML_DEPTH:
            detail = f"nested deeper than {MAX_XML_DEPTH} levels"
            raise SourceFault(Reason.SYNTAX, detail)
