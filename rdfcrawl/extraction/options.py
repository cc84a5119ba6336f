"""The settings of the extraction, read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rdfcrawl.rdf.limits import ParseLimits
from rdfcrawl.setting_values import integer, number
from rdfcrawl.unpack.limits import UnpackLimits

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOptions:
    """How documents are read.

    Attributes:
        limits: on one document.
        unpack: on what documents are packed in.
        processes: children that read at the same time.
        memory_bytes: address space of each of them.
        rules: file or folder of scraping rules; empty is none.
    """

    limits: ParseLimits
    unpack: UnpackLimits
    processes: int
    memory_bytes: int
    rules: str

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Read the settings; the scraping rules are loaded, as a check.

        Raises:
            ConfigError: a setting is out of range, or a rule is wrong.
        """
        rules = str(settings.get("SCRAPING_RULES") or "")
        if rules:
            from rdfcrawl.extraction.reading import rules_in  # noqa: PLC0415 (slow to import)

            rules_in(rules)
        return cls(
            limits=ParseLimits(
                literal_bytes=integer(settings, "RDF_LITERAL_MAX_BYTES", 1),
                secs=number(settings, "RDF_PARSE_SECS", 0.1, 86_400),
            ),
            unpack=UnpackLimits(
                n_bytes=integer(settings, "UNPACK_MAXSIZE", 1),
                ratio=number(settings, "UNPACK_MAX_RATIO", 1),
                n_members=integer(settings, "UNPACK_MAX_MEMBERS", 1),
                depth=integer(settings, "UNPACK_MAX_DEPTH", 1, 10),
            ),
            processes=integer(settings, "EXTRACT_PROCESSES", 1, 64),
            memory_bytes=integer(settings, "RDF_PARSE_MEMORY_BYTES", 256 * 1024 * 1024),
            rules=rules,
        )
