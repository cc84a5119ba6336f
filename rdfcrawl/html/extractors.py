"""Extractors of pages by name, both ours and the user's."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from rdfcrawl.errors import Reason, SourceFault

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    """An extractor of the setting `EXTRACTORS`; its class is imported on first use.

    Attributes:
        name: a media type; or any other name, for an extractor of pages.
        path: of the class.
        marker: text in lower case that a page must have to be read.
    """

    name: str
    path: str
    marker: str = ""

    @property
    def reads_pages(self) -> bool:
        """Whether the extractor reads pages, not documents of a media type."""
        return "/" not in self.name

    def lines(self, document: object) -> Iterator[str]:
        """Yield the statements of a document, each with the end of its line.

        Raises:
            SourceFault: the class failed, or cannot be imported here.
        """
        try:
            for line in _instance(self.path).extract(document):
                yield line if line[-1:] == "\n" else f"{line}\n"
        except SourceFault:
            raise
        except RecursionError as error:
            raise SourceFault(Reason.TOO_DEEP, "nested too deep") from error
        except MemoryError as error:
            raise SourceFault(Reason.TOO_LARGE, "needs too much memory") from error
        except Exception as error:
            raise SourceFault(Reason.PARSE_CRASH, repr(error)) from error

    def load(self) -> None:
        """Import the class and make its instance, once in each process."""
        _instance(self.path)


@lru_cache(maxsize=64)
def _instance(path: str) -> Any:
    return resolve_name(path)()
