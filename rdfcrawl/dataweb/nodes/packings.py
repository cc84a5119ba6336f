"""Compressions and archives of dumps."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import brotli  # type: ignore[import-untyped]
import lz4.frame

from rdfcrawl.dataweb.config import DumpProfile

if sys.version_info >= (3, 14):  # pragma: no cover
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable

_ENTRY_NAME = "ldcbench.dump"  # ORCA's entries have no extension of RDF


@dataclass(frozen=True, slots=True)
class DumpPacking:
    """How a dump is compressed: extension, media type, function."""

    extension: str
    media_type: str
    pack: Callable[[bytes], bytes]


def _zip(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        # A fixed date: the same web has the same bytes.
        archive.writestr(zipfile.ZipInfo(_ENTRY_NAME), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _tar(content: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo(_ENTRY_NAME)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def _seven_zip(content: bytes) -> bytes:
    import py7zr  # noqa: PLC0415 (slow, and most webs have none)

    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w") as archive:
        archive.writestr(content, _ENTRY_NAME)
    return out.getvalue()


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _tar_gz(content: bytes) -> bytes:
    return _gzip(_tar(content))


def _zstd(content: bytes) -> bytes:
    return bytes(zstd.compress(content))


_GZIP = DumpPacking(".gz", "application/gzip", _gzip)
_BZIP2 = DumpPacking(".bz2", "application/x-bzip2", bz2.compress)
_TAR = DumpPacking(".tar", "application/x-tar", _tar)
_TAR_GZ = DumpPacking(
    ".tar.gz", "application/x-targzip", _tar_gz
)  # sic, as ORCA has it
_ZIP = DumpPacking(".zip", "application/zip", _zip)

PACKINGS = {
    DumpProfile.ORCA_2020: (_GZIP, _BZIP2, _ZIP),
    DumpProfile.ORCA_2021: (_TAR, _TAR_GZ, _ZIP),
    DumpProfile.EXTENDED: (
        *(_GZIP, _BZIP2, _ZIP, _TAR, _TAR_GZ),
        DumpPacking(".xz", "application/x-xz", lzma.compress),
        DumpPacking(".zst", "application/zstd", _zstd),
        DumpPacking(".br", "application/octet-stream", brotli.compress),
        DumpPacking(".lz4", "application/octet-stream", lz4.frame.compress),
        DumpPacking(".7z", "application/x-7z-compressed", _seven_zip),
        DumpPacking(".tar.bz2", "application/x-tar", lambda x: bz2.compress(_tar(x))),
        DumpPacking(".tar.xz", "application/x-tar", lambda x: lzma.compress(_tar(x))),
        DumpPacking(".zip.gz", "application/gzip", lambda x: _gzip(_zip(x))),
    ),
}
"""Packings of each profile."""
