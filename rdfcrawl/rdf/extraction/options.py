"""Read and check the settings of the extraction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.formats import HTML
from rdfcrawl.core.options.values import (
    check_class,
    check_method,
    integer,
    is_on,
    iter_classes,
    number,
    one_of,
)
from rdfcrawl.rdf.environment import ParseLimits
from rdfcrawl.rdf.extraction.confinement import Confinement, kernel_layers
from rdfcrawl.rdf.html.extractors import CustomExtractor
from rdfcrawl.rdf.unpack.limits import UnpackLimits

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}").fullmatch
_EXTENSION: Final = re.compile(r"\.[a-z0-9][a-z0-9._+-]{0,63}").fullmatch
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9.+-]+/[a-z0-9.+_-]+").fullmatch


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOptions:
    """Options for reading documents.

    Attributes:
        processes: children that read at the same time.
        memory_bytes: address space of each child.
        rules: file or folder of scraping rules, or empty.
        wants_facts: fingerprints of documents are kept.
        most_outlinks: of one document, that are logged; 0 if there is no log of links.
    """

    limits: ParseLimits
    unpack: UnpackLimits
    processes: int
    memory_bytes: int
    rules: str
    wants_facts: bool = False
    most_outlinks: int = 0
    custom: tuple[CustomExtractor, ...] = ()
    confinement: Confinement = Confinement.AUTO  # of children, by the kernel

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Read the settings; the scraping rules are loaded, as a check.

        Raises:
            ConfigError: a setting is out of range, or a rule is wrong.
        """
        rules = str(settings.get("SCRAPING_RULES") or "")
        if rules:
            from rdfcrawl.rdf.extraction.reading import rules_in  # noqa: PLC0415 (slow to import)

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
            wants_facts=is_on(settings, "FACTS"),
            most_outlinks=most_outlinks(settings),
            custom=tuple(custom_extractors(settings)),
            confinement=_confinement(settings),
        )


def _confinement(settings: BaseSettings) -> Confinement:
    wanted = one_of(settings, "EXTRACT_SANDBOX", Confinement)
    if wanted is Confinement.KERNEL and not kernel_layers():
        raise ConfigError(
            "EXTRACT_SANDBOX=kernel: this kernel has neither Landlock nor seccomp;"
            " auto does without"
        )
    return wanted


def most_outlinks(settings: BaseSettings) -> int:
    """Return how many links of one document are logged; 0 if there is no log.

    Raises:
        ConfigError: a setting is out of range.
    """
    most = integer(settings, "LINKS_MAX_PER_DOCUMENT", 1, 100_000)
    return most if is_on(settings, "LINKS_LOG") else 0


def custom_extractors(settings: BaseSettings) -> Iterator[CustomExtractor]:
    """Yield the extractors of the setting `EXTRACTORS`.

    Raises:
        ConfigError: a name is malformed, or a class is no extractor.
    """
    for name, where, found in iter_classes(settings, "EXTRACTORS"):
        is_html = name in HTML.media_types or name[1:] in HTML.extensions
        if is_html or not (_NAME(name) or _MEDIA_TYPE(name) or _EXTENSION(name)):
            raise ConfigError(
                f"EXTRACTORS: {name!r}: must be a media type or an extension other than"
                " those of HTML, or a name in lower case for an extractor of pages"
            )
        check_class(where, found, 0)
        check_method(where, found, "extract", 1)
        marker, magic = getattr(found, "marker", ""), getattr(found, "magic", ())
        if not isinstance(marker, str):
            raise ConfigError(f"{where}: `marker` must be text")
        begins = (magic,) if isinstance(magic, bytes) else magic
        if not isinstance(begins, tuple) or not all(
            isinstance(each, bytes) and each for each in begins
        ):
            raise ConfigError(f"{where}: `magic` is neither bytes nor a tuple of bytes")
        yield CustomExtractor(
            name,
            f"{found.__module__}:{found.__qualname__}",  # imported by children
            marker.lower(),
            tuple(each.decode("latin-1") for each in begins),
        )
