"""A dataset as the crawl knows it, in a form that is kept in Redis."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

from rdfcrawl.sitemaps.access import Access, Way
from rdfcrawl.sitemaps.semantic import Prefix, Slicing


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
    ways: tuple[Access, ...]
    prefixes: tuple[Prefix, ...] = ()
    samples: tuple[str, ...] = ()

    @property
    def slicing(self) -> Slicing:
        """How a dump is cut into descriptions where a prefix does not say it."""
        declared = (prefix.slicing for prefix in self.prefixes)
        return next((each for each in declared if each), Slicing.CBD)

    def to_json(self) -> str:
        """Return what `from_json` reads; equal datasets give equal texts."""
        ways = [[way.way, way.parts, way.graphs] for way in self.ways]
        prefixes = [[x.iri, x.url, x.slicing] for x in self.prefixes]
        return json.dumps([self.name, ways, prefixes, self.samples])

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return what `to_json` was called on."""
        name, ways, prefixes, samples = json.loads(text)
        return cls(
            name=name,
            ways=tuple(
                Access(Way(way), tuple(map(tuple, parts)), tuple(graphs))
                for way, parts, graphs in ways
            ),
            prefixes=tuple(
                Prefix(iri, url, Slicing(name) if name else None)
                for iri, url, name in prefixes
            ),
            samples=tuple(samples),
        )
