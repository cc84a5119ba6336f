"""Proactive content negotiation: choose a media type of the server for a response."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pyoxigraph import RdfFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

MAX_REMEMBERED = 1024  # Accept values of a crawl are few; an attacker's are not

_QUALITY = re.compile(r"(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\Z")  # RFC 9110 12.4.2

# Formats that pyoxigraph can write, the preferred first; aliases as in Jena.
RDF_MEDIA_TYPES: dict[str, RdfFormat] = {
    "text/turtle": RdfFormat.TURTLE,
    "application/n-triples": RdfFormat.N_TRIPLES,
    "application/n-quads": RdfFormat.N_QUADS,
    "application/trig": RdfFormat.TRIG,
    "application/rdf+xml": RdfFormat.RDF_XML,
    "application/ld+json": RdfFormat.JSON_LD,
    "text/n3": RdfFormat.N3,
    "application/turtle": RdfFormat.TURTLE,
    "application/x-turtle": RdfFormat.TURTLE,
    "text/plain": RdfFormat.N_TRIPLES,
    "text/nquads": RdfFormat.N_QUADS,
    "text/rdf+n3": RdfFormat.N3,
    "application/n3": RdfFormat.N3,
}


@dataclass(frozen=True, slots=True)
class MediaRange:
    """One entry of `Accept`: `text/turtle`, `text/*` or `*/*`, and its quality."""

    value: str
    quality: float

    def specificity(self, media_type: str) -> int:
        """Return how exactly this range names a type: 3, 2, 1, or 0 for not at all."""
        if self.value == media_type:
            return 3
        if self.value == media_type.partition("/")[0] + "/*":
            return 2
        return int(self.value == "*/*")


def parse_accept(value: str) -> list[MediaRange]:
    """Parse an `Accept` field in its order; an entry with a bad weight is dropped.

    Parameters other than `q` are ignored. Source: RFC 9110, 12.5.1.
    """
    ranges = []
    for entry in value.split(","):
        name, *parameters = (part.strip().lower() for part in entry.split(";"))
        quality = "1"
        for parameter in parameters:
            key, _, text = parameter.partition("=")
            if key.strip() == "q":
                quality = text.strip()
        if name and _QUALITY.match(quality):
            ranges.append(MediaRange(name, float(quality)))
    return ranges


class MediaTypeChooser(Generic[T]):
    """Chooses one of the media types that a server can write."""

    def __init__(self, available: Mapping[str, T]) -> None:
        self._available = available
        self._remembered: dict[str, T | None] = {}

    def choose(self, accept: str) -> T | None:
        """Choose the type of the highest quality; None if nothing is acceptable.

        Of types of equal quality the one that `Accept` names first wins, then the
        one the server prefers. No field accepts everything. The most specific
        range decides the quality of a type.
        """
        try:
            return self._remembered[accept]
        except KeyError:
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            chosen = self._choose(parse_accept(accept or "*/*"))
            self._remembered[accept] = chosen
            return chosen

    def _choose(self, ranges: list[MediaRange]) -> T | None:
        best: T | None = None
        best_rank = (0.0, 0)
        for media_type, value in self._available.items():
            matches = [
                (one.specificity(media_type), -index, one.quality)
                for index, one in enumerate(ranges)
                if one.specificity(media_type)
            ]
            if not matches:
                continue
            _, place, quality = max(matches)
            if quality > 0 and (best is None or (quality, place) > best_rank):
                best, best_rank = value, (quality, place)
        return best


RDF_NEGOTIATOR = MediaTypeChooser(RDF_MEDIA_TYPES)
