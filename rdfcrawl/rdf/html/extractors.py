"""Built-in and custom extractors of pages, by name."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from pkgutil import resolve_name
from typing import Any, Final, NamedTuple

from pyoxigraph import Quad, Triple

from rdfcrawl.core.errors import Reason, SourceFault

MAX_EXTRUCT_BYTES: Final = 256 * 1024  # of pages that `extruct_reading` reads
EXTRUCT_REASONS: Final = frozenset(
    {Reason.TOO_DEEP, Reason.TOO_LARGE, Reason.PARSE_CRASH}
)
"""Faults of our extractors after which extruct may read a page."""


class Extractor(StrEnum):
    """Name of an extractor; also in statistics and provenance."""

    JSON_LD = "json-ld"
    MICRODATA = "microdata"
    OPEN_GRAPH = "opengraph"
    DUBLIN_CORE = "dublincore"
    RDFA = "rdfa"
    MICROFORMATS = "microformats"
    # Last: a slow XPath expression kills the process.
    RULES = "rules"


# Recursive or slow: only in a bounded process.
SLOW = frozenset({Extractor.RDFA, Extractor.MICROFORMATS, Extractor.RULES})


class CustomExtractor(NamedTuple):
    """An extractor of the setting `EXTRACTORS`; its class is imported on first use."""

    # a media type, an extension with its dot, or another name if it reads pages
    name: str
    path: str  # of the class
    marker: str = ""  # text required in a page, in lower case
    # first bytes of the documents, as Latin-1; empty: any
    magic: tuple[str, ...] = ()

    @property
    def reads_pages(self) -> bool:
        """Whether pages are read, not documents of a media type or an extension."""
        return "/" not in self.name and self.name[0] != "."

    def begins(self, head: bytes) -> bool:
        """Return whether a document begins with its `magic`."""
        return head.startswith(tuple(each.encode("latin-1") for each in self.magic))

    def lines(self, document: object) -> Iterator[str]:
        """Yield the statements of a document as lines with line ends.

        Raises:
            Exception: from the class or its import.
        """
        try:
            found = _instance(self.path).extract(document)
            if isinstance(found, str | bytes):
                raise TypeError("extract() returns text, not an iterable of lines")
            yield from map(_line_of, found)
        except SystemExit as error:
            raise SourceFault(Reason.PARSE_CRASH, repr(error)) from error

    def load(self) -> None:
        """Import the class and make its instance, once in each process."""
        _instance(self.path)


def _line_of(statement: object) -> str:
    if isinstance(statement, Triple | Quad):
        return f"{statement} .\n"
    if isinstance(statement, bytes):
        statement = statement.decode()
    if not isinstance(statement, str):
        kind = type(statement).__name__
        raise TypeError(f"extract() yields {kind}, not lines of N-Triples")
    return statement if statement[-1:] == "\n" else f"{statement}\n"


@lru_cache(maxsize=64)
def _instance(path: str) -> Any:
    return resolve_name(path)()
