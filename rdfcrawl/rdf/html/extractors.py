"""Extractors of pages by name, both ours and the user's."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from pkgutil import resolve_name
from typing import Any, NamedTuple

from pyoxigraph import Quad, Triple

from rdfcrawl.core.errors import Reason, SourceFault


class Extractor(StrEnum):
    """Name of an extractor; a statistic and a value in the provenance."""

    JSON_LD = "json-ld"
    MICRODATA = "microdata"
    OPEN_GRAPH = "opengraph"
    DUBLIN_CORE = "dublincore"
    RDFA = "rdfa"
    MICROFORMATS = "microformats"
    # Last: an expression of XPath that takes too long takes the process with it.
    RULES = "rules"


# They recurse or take long: only in a process with bounds.
SLOW = frozenset({Extractor.RDFA, Extractor.MICROFORMATS, Extractor.RULES})


class CustomExtractor(NamedTuple):
    """An extractor of the setting `EXTRACTORS`; its class is imported when it runs."""

    # a media type, an extension with its dot, or a name of its own if it reads pages
    name: str
    path: str  # of the class
    marker: str = ""  # what a page must have, in lower case, to be read with it
    # first bytes of the documents, as Latin-1; empty if they may be any
    magic: tuple[str, ...] = ()

    @property
    def reads_pages(self) -> bool:
        """Whether it gets pages, and not the documents of a type or an extension."""
        return "/" not in self.name and self.name[0] != "."

    def begins(self, head: bytes) -> bool:
        """Tell whether a document begins with its `magic`."""
        return head.startswith(tuple(each.encode("latin-1") for each in self.magic))

    def lines(self, document: object) -> Iterator[str]:
        """Yield the statements of a document, each with the end of its line.

        Raises:
            Exception: of the class, or as it cannot be imported here.
        """
        try:
            found = _instance(self.path).extract(document)
            if isinstance(found, str | bytes):
                raise TypeError("extract() returns text, not one line after the other")
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
