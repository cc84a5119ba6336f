"""The settings of file names that are not requested."""

from __future__ import annotations

import mimetypes
import re
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import texts
from rdfcrawl.uri.link_filter import IGNORED_EXTENSIONS, IgnoredNames

if TYPE_CHECKING:
    from rdfcrawl.rdf.extraction.options import OwnFormats

_EXTENSION: Final = re.compile(r"\.?([a-z0-9_+-]{1,32})").fullmatch
# The table of the standard library, without the one of the machine.
_KNOWN: Final = mimetypes.MimeTypes()


def extensions(name: str, value: Any) -> frozenset[str]:
    """Return extensions of file names, without dots; a built-in list for None.

    Raises:
        ConfigError: an entry is not an extension.
    """
    found = set()
    for each in IGNORED_EXTENSIONS if value is None else texts(value):
        extension = _EXTENSION(each.lower())
        if extension is None:
            raise ConfigError(f"{name}: {each!r}: must be the extension of a file name")
        found.add(extension[1])
    return frozenset(found)


def ignored_names(ignored: frozenset[str], own: OwnFormats) -> IgnoredNames:
    """Return the file names that are not followed, except those that a class reads."""
    read = {name.rpartition(".")[2] for name in own.extensions}
    for media_type in own.media_types:
        for strict in (True, False):
            known = _KNOWN.guess_all_extensions(media_type, strict=strict)
            read |= {name.removeprefix(".") for name in known}
    return IgnoredNames(ignored - read)
