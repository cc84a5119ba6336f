"""A dataset as the crawl knows it, in a form that is kept in Redis."""

from __future__ import annotations

from dataclasses import dataclass

from rdfcrawl.sitemaps.access import DatasetAccess  # noqa: TC001  read by the codec
from rdfcrawl.sitemaps.semantic import Slicing, UriPrefix


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDataset:
    """A dataset and the ways to it.

    Attributes:
        name: IRI.
        ways: to all of it, the one to try first at first.
        prefixes: of URIs that resolve to descriptions of its parts.
        samples: URIs in it, to be compared with what the dump says.
    """

    name: str
    ways: tuple[DatasetAccess, ...]
    prefixes: tuple[UriPrefix, ...] = ()
    samples: tuple[str, ...] = ()

    @property
    def slicing(self) -> Slicing:
        """How a dump is cut into descriptions where a prefix does not say it."""
        declared = (prefix.slicing for prefix in self.prefixes)
        return next((each for each in declared if each), Slicing.CBD)
