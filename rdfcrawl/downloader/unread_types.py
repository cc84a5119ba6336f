"""Recognize responses that no parser reads, by media type and first bytes.

Their bodies are not received.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from rdfcrawl.core.errors import ConfigError, Reason, SourceFault
from rdfcrawl.core.formats import FORMATS, file_name
from rdfcrawl.core.options.values import texts
from rdfcrawl.core.records import Kind
from rdfcrawl.frontier.queue.url_kind import kind_of
from rdfcrawl.rdf.sniffing import media_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfcrawl.rdf.extraction.options import OwnFormats

IGNORED_MEDIA_TYPES: Final = (
    *("image/*", "audio/*", "video/*", "font/*"),
    *("text/css", "text/javascript", "text/ecmascript", "text/rtf"),
    *("application/javascript", "application/x-javascript", "application/ecmascript"),
    *("application/wasm", "application/pdf", "application/x-pdf"),
    *("application/postscript", "application/rtf", "application/msword"),
    *("application/vnd.ms-*", "application/vnd.openxmlformats-officedocument.*"),
    *("application/vnd.oasis.opendocument.*", "application/epub+zip"),
    *("application/font-*", "application/x-font-*", "application/ogg"),
    *("application/x-shockwave-flash", "application/vnd.apple.mpegurl"),
    *("application/x-mpegurl", "application/vnd.android.package-archive"),
    *("application/vnd.microsoft.portable-executable", "application/x-msdownload"),
    *("application/x-apple-diskimage", "application/x-iso9660-image"),
    *("application/vnd.rar", "application/x-rar-compressed"),
)
"""Default of `IGNORED_MEDIA_TYPES`."""
# RDFa may occur in any XML, and rules read JSON.
_READ_SUFFIXES: Final = ("+xml", "+json")
_READ: Final = frozenset(name for each in FORMATS for name in each.media_types)
# Bodies up to this length are drained to reuse the connection.
DRAINED_BYTES: Final = 8 * 1024


class UnreadBody(SourceFault):
    """No parser reads the type of a response; its body is dropped."""

    def __init__(self, found: str) -> None:
        super().__init__(Reason.UNSUPPORTED_FORMAT, found)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadTypes:
    """The media types of responses whose bodies are not received."""

    names: frozenset[str] = frozenset()
    # prefixes of media types; types that may contain RDF are exempt
    begins: tuple[str, ...] = ()
    # types and file extensions that custom classes read
    read: frozenset[str] = frozenset()
    read_extensions: tuple[str, ...] = ()
    has_magic: bool = False  # a custom class is selected by first bytes

    @classmethod
    def of(
        cls, ignored: Iterable[str], own: OwnFormats, *, has_magic: bool = False
    ) -> Self:
        """Return the types of `IGNORED_MEDIA_TYPES`, unless the user's classes do."""
        return cls(
            names=frozenset(name for name in ignored if name[-1] != "*"),
            begins=tuple(sorted(name[:-1] for name in ignored if name[-1] == "*")),
            read=frozenset(own.media_types),
            read_extensions=own.extensions,
            has_magic=has_magic,
        )

    def check(self, url: str, media_type: str) -> None:
        """Raise `UnreadBody` if the body of a response should not be received."""
        if media_type not in self.names:
            if not media_type.startswith(self.begins):
                return
            if media_type in _READ or media_type.endswith(_READ_SUFFIXES):
                return
        if media_type in self.read or self._is_named(url):
            return
        raise UnreadBody(media_type)

    def check_begin(self, url: str, head: bytes) -> None:
        """Raise `UnreadBody` if a body begins like an image or another such format.

        A custom class with further types may read it.
        """
        is_judged = (self.names or self.begins) and not (self.read or self.has_magic)
        if is_judged and (found := media_at(head)) and not self._is_named(url):
            raise UnreadBody(found)

    def _is_named(self, url: str) -> bool:
        """Return whether a URL has an extension of RDF, archives or custom types."""
        is_dump = kind_of(url) is Kind.DUMP
        return is_dump or file_name(url).endswith(self.read_extensions)


def media_types(name: str, value: Any) -> tuple[str, ...]:
    """Return media types, or their beginnings with a `*`; a built-in list for None.

    Raises:
        ConfigError: an entry is something else.
    """
    found = IGNORED_MEDIA_TYPES if value is None else texts(value)
    for given in found:
        if "/" not in given or "*" in given[:-1]:
            raise ConfigError(
                f"{name}: {given!r}: must be a media type, or the beginning of one and"
                " an asterisk"
            )
    return tuple(each.lower() for each in found)
