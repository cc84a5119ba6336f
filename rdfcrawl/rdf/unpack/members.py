"""Members of archives; their names are data, never paths."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes, urlsplit

from rdfcrawl.core import formats
from rdfcrawl.core.formats import PackingKind

if TYPE_CHECKING:
    from rdfcrawl.rdf.unpack.limits import PackingLayer

ARCHIVES: Final = frozenset({PackingKind.ZIP, PackingKind.TAR, PackingKind.SEVEN_ZIP})
MAX_NAME_CHARS: Final = 1000

_ENCODED_URI: Final = re.compile(
    r"(?:https?|ftp)%3A%2F%2F[\w.~%!$&'()*+,;=:@-]+", re.ASCII | re.IGNORECASE
)
_NO_IRI: Final = re.compile(r'[\x00-\x20<>"{}|^`\\\x7f-\x9f]')
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """A file in an archive that is being read."""

    name: str  # as in the archive, shortened and without controls
    layer: PackingLayer  # counts encoded and decoded bytes of the file
    # starts reading, counted by a layer; may be called again with another layer if
    # `is_reopenable`
    pieces: Callable[[PackingLayer], Iterator[bytes]]
    is_reopenable: bool = False


def decode_name(octets: bytes, fallback: str = "latin-1") -> str:
    """Return a name as text: UTF-8 if valid, else in the fallback charset."""
    try:
        return clean_name(octets.decode())
    except UnicodeDecodeError:
        return clean_name(octets.decode(fallback, "replace"))


def clean_name(name: str) -> str:
    """Return a name for display and storage; controls become U+FFFD."""
    return _CONTROLS.sub("\ufffd", name[:MAX_NAME_CHARS])


def graph_of_member(name: str, head: bytes = b"") -> str | None:
    """Return the URI that is URL-encoded in the name of a member, if any.

    Source: Semantic Sitemaps section 2.3: "each file name is the URL encoded
    URI/URL". Leading folders are ignored, and so is the extension of a format if the
    first bytes of the member, `head`, name the URI without it, and not with it.

    >>> graph_of_member("dump/http%3A%2F%2Fexample.org%2Fcaf%C3%A9")
    'http://example.org/café'
    >>> graph_of_member("http%3A%2F%2Fe.example%2Fa.nt", b"<http://e.example/a> <p:q>")
    'http://e.example/a'
    >>> graph_of_member("dump.nt") is None
    True
    """
    encoded = name.rpartition("/")[2]
    if len(name) >= MAX_NAME_CHARS or not _ENCODED_URI.fullmatch(encoded):
        return None
    try:
        uri = unquote_to_bytes(encoded).decode()
        has_host = bool(urlsplit(uri).hostname)
    except ValueError:
        return None
    if not has_host or _NO_IRI.search(uri):
        return None
    short, dot, extension = uri.rpartition(".")
    is_extension = dot and formats.format_of_name(f"x.{extension}") is not None
    if is_extension and _names(head, short) and not _names(head, uri):
        return short
    return uri


def _names(head: bytes, uri: str) -> bool:
    """Return whether a text has a URI, also with a fragment or as a prefixed name."""
    text = head.replace(b"&amp;", b"&")
    namespace, slash, local = uri.rpartition("/")
    full, before, after = (
        re.escape(part).encode() for part in (uri, namespace + slash, local)
    )
    if re.search(rb"[\"'<]%b[\"'>#]" % full, text):
        return True
    has_prefix = local and re.search(rb"[\"'<]%b[\"'>]" % before, text)
    return bool(has_prefix and re.search(rb"[\w-][:;]%b(?![\w.-])" % after, text))
