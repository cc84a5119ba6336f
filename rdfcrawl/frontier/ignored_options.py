"""The settings of file names that are not requested, read and checked."""

from __future__ import annotations

import mimetypes
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import mapping
from rdfcrawl.uri.ignored_names import IGNORED_EXTENSIONS, IgnoredNames

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings

_EXTENSION: Final = re.compile(r"\.?([a-z0-9_+-]{1,32})").fullmatch
# The table of the standard library, without those of the machine.
_KNOWN: Final = mimetypes.MimeTypes()


class OwnFormats(NamedTuple):
    """The documents that classes of the user's read, beside pages."""

    media_types: tuple[str, ...]
    extensions: tuple[str, ...]  # of file names, each with its dot


def own_formats(settings: BaseSettings) -> OwnFormats:
    """Return the types and extensions that `EXTRACTORS` and `HARVESTERS` name."""
    theirs = {**mapping(settings, "EXTRACTORS"), **mapping(settings, "HARVESTERS")}
    names = [name for name, path in theirs.items() if path is not None]
    return OwnFormats(
        tuple(name for name in names if "/" in name),
        tuple(name for name in names if name.startswith(".")),
    )


def ignored_names(settings: BaseSettings) -> IgnoredNames:
    """Return the names that links are not followed to: none that a class reads.

    Raises:
        ConfigError: `IGNORED_EXTENSIONS` has something else than extensions.
    """
    listed: Iterable[str] = IGNORED_EXTENSIONS
    if settings.get("IGNORED_EXTENSIONS") is not None:
        listed = settings.getlist("IGNORED_EXTENSIONS")
    ignored = set()
    for name in listed:
        found = _EXTENSION(str(name).strip().lower())
        if found is None:
            raise ConfigError(
                f"IGNORED_EXTENSIONS: {name!r}: must be the extension of a file name"
            )
        ignored.add(found[1])
    own = own_formats(settings)
    read = {name.rpartition(".")[2] for name in own.extensions}
    for media_type in own.media_types:
        for strict in (True, False):
            known = _KNOWN.guess_all_extensions(media_type, strict=strict)
            read |= {name.removeprefix(".") for name in known}
    return IgnoredNames(frozenset(ignored - read))
