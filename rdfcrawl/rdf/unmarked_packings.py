"""Packings that first bytes do not show: brotli, old tar, zip behind other bytes."""

from __future__ import annotations

from typing import Final

from rdfcrawl.core.formats import PackingKind
from rdfcrawl.rdf.text import CONTROLS

_BROTLI_MEDIA_TYPES: Final = frozenset(
    {"application/brotli", "application/x-brotli", "application/br"}
)
_ZIP_MEDIA_TYPES: Final = frozenset({"application/zip", "application/x-zip-compressed"})


def packing_of(
    extension: str, essence: str, head: bytes, *, is_known: bool, has_magic: bool
) -> PackingKind | None:
    """Return the packing that the name or media type indicates, if the content fits.

    Args:
        extension: of the name, or its only word.
        essence: media type without parameters, in lower case.
        head: first bytes.
        is_known: they show another format.
        has_magic: they show one that is not text.
    """
    if essence in _BROTLI_MEDIA_TYPES or extension == "br":
        # The name may refer to a Content-Encoding that is decoded already.
        return None if is_known or _is_text(head) else PackingKind.BROTLI
    is_tar = b"\0" in head[:100] or b"\0ustar" in head  # behind other bytes
    if extension == "tar" and is_tar and not is_known:
        return PackingKind.TAR
    # A program or other bytes may precede a zip.
    is_zip = extension == "zip" or essence in _ZIP_MEDIA_TYPES
    if not is_zip or has_magic:
        return None
    is_before = b"PK\3\4" in head or head.startswith((b"#!", b"MZ"))
    return PackingKind.ZIP if is_before else None


def _is_text(head: bytes) -> bool:
    try:
        head[:-3].decode()
    except UnicodeDecodeError:
        return False
    return len(head.translate(None, CONTROLS)) == len(head)
