"""The settings of the extraction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.formats import HTML
from rdfcrawl.core.options.table import (
    OptionsTable,
    integer,
    mapping,
    parsed,
    part,
    switch,
)
from rdfcrawl.core.options.values import check_class, check_method, iter_classes, member
from rdfcrawl.rdf.environment import ParseLimits
from rdfcrawl.rdf.extraction.messages import Confinement
from rdfcrawl.rdf.html.extractors import CustomExtractor
from rdfcrawl.rdf.unpack.limits import UnpackLimits

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


@dataclass(frozen=True, slots=True)
class OwnFormats(OptionsTable):
    """Users' classes that read documents."""

    extractors: Mapping[str, object] = mapping("EXTRACTORS", {})
    """[extractors of your own](../how-to/own-extractors.md): dotted paths of classes by
    media types or file extensions, or by names of your own for those that read pages"""
    harvesters: Mapping[str, object] = mapping("HARVESTERS", {})
    """[harvesters of your own](../how-to/own-harvesters.md): dotted paths of classes by
    media types, by kinds of sources that they replace, or by names of your own"""

    @property
    def media_types(self) -> tuple[str, ...]:
        """The media types that they read."""
        return tuple(name for name in self._names() if "/" in name)

    @property
    def extensions(self) -> tuple[str, ...]:
        """The extensions of file names that they read, each with its dot."""
        return tuple(name for name in self._names() if name.startswith("."))

    def _names(self) -> list[str]:
        theirs = {**self.extractors, **self.harvesters}
        return [name for name, path in theirs.items() if path is not None]


_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}").fullmatch
_EXTENSION: Final = re.compile(r"\.[a-z0-9][a-z0-9._+-]{0,63}").fullmatch
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9.+-]+/[a-z0-9.+_-]+").fullmatch


def _rules(_name: str, value: Any) -> str:
    rules = str(value or "")
    if rules:
        from rdfcrawl.rdf.html.rules import rules_in  # noqa: PLC0415 (slow to import)

        rules_in(rules)  # as a check
    return rules


def _confinement(name: str, value: Any) -> Confinement:
    wanted = member(name, value, Confinement)
    if wanted is Confinement.KERNEL:
        from rdfcrawl.rdf.extraction.confinement import kernel_layers  # noqa: PLC0415

        if not kernel_layers():
            raise ConfigError(
                f"{name}=kernel: this kernel has neither Landlock nor seccomp;"
                " auto does without"
            )
    return wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOptions(OptionsTable):
    """Options for reading documents."""

    limits: ParseLimits = part(ParseLimits)
    unpack: UnpackLimits = part(UnpackLimits)
    processes: int = integer("EXTRACT_PROCESSES", 2, 1, 64)
    """child processes of each worker that read at the same time"""
    memory_bytes: int = integer(
        "RDF_PARSE_MEMORY_BYTES", 1024 * 1024 * 1024, 256 * 1024 * 1024
    )
    """address space of each child process"""
    rules: str = parsed("SCRAPING_RULES", None, _rules)
    """file or folder of [scraping rules](scraping.md); unset, there are none"""
    wants_facts: bool = switch("FACTS", True)
    """hashes and a sketch of each document, by which it can be compared with others and
    with later runs, are part of the [provenance](provenance.md#facts)"""
    logs_links: bool = switch("LINKS_LOG", True)
    """the links of each document are kept as they were found, in the [log of
    links](stores.md#the-log-of-links)"""
    links_per_document: int = integer("LINKS_MAX_PER_DOCUMENT", 10_000, 1, 100_000)
    """links of one document in that log; the others are only followed"""
    custom: tuple[CustomExtractor, ...] = ()  # the user's
    confinement: Confinement = parsed(
        "EXTRACT_SANDBOX", "auto", _confinement, allowed="`auto`, `kernel` or `process`"
    )
    """how these processes are [confined](security.md#the-sandbox): by what the kernel
    has; a crawl does not begin if it has nothing; or without the kernel"""

    @property
    def most_outlinks(self) -> int:
        """The links of one document that are logged; 0 if there is no log."""
        return self.links_per_document if self.logs_links else 0

    @classmethod
    def from_settings(
        cls, settings: BaseSettings, *, formats: OwnFormats | None = None, **given: Any
    ) -> Self:
        """Read the settings; the scraping rules are loaded, as a check.

        Args:
            settings: of a crawl or a command.
            formats: what the settings say of classes of the user's, if it is known.
            given: see `OptionsTable`.

        Raises:
            ConfigError: a setting is out of range, or a rule is wrong.
        """
        own = formats or OwnFormats.from_settings(settings)
        custom = tuple(custom_extractors(own.extractors))
        return cls(**cls.read(settings, custom=custom, **given))


def custom_extractors(paths: Mapping[str, object]) -> Iterator[CustomExtractor]:
    """Yield the extractors of the setting `EXTRACTORS`.

    Raises:
        ConfigError: a name is malformed, or a class is no extractor.
    """
    for name, where, found in iter_classes("EXTRACTORS", paths):
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
