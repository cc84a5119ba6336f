"""First bytes of formats that are not text."""

from __future__ import annotations

from rdfcrawl.core import formats
from rdfcrawl.core.formats import PackingKind

# First bytes of known formats that are not text.
_MAGIC: tuple[tuple[bytes, str | PackingKind | formats.Format], ...] = (
    (b"\x1f\x8b", PackingKind.GZIP),
    *((b"BZh%d1AY&SY" % level, PackingKind.BZIP2) for level in range(1, 10)),
    *((b"BZh%d\x17rE8P\x90" % level, PackingKind.BZIP2) for level in range(1, 10)),
    (b"\xfd7zXZ\x00", PackingKind.XZ),
    (b"\x28\xb5\x2f\xfd", PackingKind.ZSTD),
    # RFC 8878 3.1.2: skippable frames, which pzstd writes first
    *((bytes((0x50 + i, 0x2A, 0x4D, 0x18)), PackingKind.ZSTD) for i in range(16)),
    (b"\x04\x22\x4d\x18", PackingKind.LZ4),
    (b"\x5d\0\0", PackingKind.LZMA),  # usual properties, and a usual dictionary
    (b"LZIP\1", PackingKind.LZIP),
    (b"\x1f\x9d", PackingKind.COMPRESS),
    (b"PK\x03\x04", PackingKind.ZIP),
    (b"PK\x05\x06", PackingKind.ZIP),  # empty
    (b"7z\xbc\xaf\x27\x1c", PackingKind.SEVEN_ZIP),
    (b"$HDT", formats.HDT),
    (b"%PDF-", "PDF"),
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
)
# Formats that are never read.
_MEDIA = (
    *((magic, what) for magic, what in _MAGIC if what in ("PDF", "PNG", "JPEG", "GIF")),
    *((b"ID3%c" % version, "MP3") for version in (2, 3, 4)),
    (b"OggS\x00", "Ogg"),
    (b"fLaC\x00", "FLAC"),
    (b"\x1a\x45\xdf\xa3", "Matroska"),
    (b"FLV\x01", "FLV"),
    (b"\x00\x00\x01\x00", "icon"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"wOFF", "WOFF"),
    (b"wOF2", "WOFF"),
    (b"%!PS-", "PostScript"),
    (b"{\\rtf1", "RTF"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Microsoft Office"),
)
_RIFF_TYPES = (b"WEBP", b"WAVE", b"AVI ")
_MEDIA_STARTS = tuple(magic for magic, _ in _MEDIA)
MAGIC_STARTS = tuple(magic for magic, _ in _MAGIC)


def format_at(head: bytes) -> str | PackingKind | formats.Format:
    """Return the format of bytes that begin with one of `MAGIC_STARTS`."""
    return next(what for magic, what in _MAGIC if head.startswith(magic))


def media_at(head: bytes) -> str:
    r"""Return the name of the picture, sound, video or similar format, or "".

    >>> media_at(b"\x89PNG\r\n"), media_at(b"<html>")
    ('PNG', '')
    """
    if head.startswith(_MEDIA_STARTS):
        return next(what for magic, what in _MEDIA if head.startswith(magic))
    if head[:1] == b"\0" and head[4:8] == b"ftyp":
        return "MP4"
    return "RIFF" if head[:4] == b"RIFF" and head[8:12] in _RIFF_TYPES else ""
