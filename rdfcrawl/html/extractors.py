"""The extractors of pages, by name."""

from __future__ import annotations

from enum import StrEnum


class Extractor(StrEnum):
    """What finds statements in a page; a statistic and a value in the provenance."""

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
