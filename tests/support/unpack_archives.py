"""Packed files of all kinds, and the documents read from them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import zipfile
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import brotli  # type: ignore[import-untyped]
import lz4.frame
from backports import zstd

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.unpack.documents import iter_documents
from rdfcrawl.rdf.unpack.limits import UnpackLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rdfcrawl.core.errors import Fault, Reason
    from rdfcrawl.rdf.unpack.scratch import ScratchSpace

URL = "http://example.org/dump"
Members = dict[str, bytes]

_COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=1),
    "zstd": lambda data: zstd.compress(data, options=_WITH_CHECKSUM),
    "brotli": lambda data: bytes(brotli.compress(data, quality=5)),
    "lz4": lambda data: bytes(lz4.frame.compress(data, content_checksum=True)),
}
# Most tests compress the same document.
CODECS: dict[str, Callable[[bytes], bytes]] = {
    name: lru_cache(maxsize=4)(compress) for name, compress in _COMPRESSORS.items()
}
_WITH_CHECKSUM: dict[int, int] = {zstd.CompressionParameter.checksum_flag: 1}
EXTENSIONS = {
    "gzip": "gz", "bzip2": "bz2", "xz": "xz", "zstd": "zst", "brotli": "br",
    "lz4": "lz4", "zip": "zip", "tar": "tar", "7z": "7z",
}  # fmt: skip


class _Pipe(io.BytesIO):
    """Has neither `tell` nor `seek`."""

    def tell(self) -> int:
        raise OSError

    def seek(self, *_: object) -> int:
        raise OSError


def zipped(
    members: Members, method: int = zipfile.ZIP_DEFLATED, *, is_streamed: bool = False
) -> bytes:
    """Return a zip; streamed, sizes come after the data."""
    out = _Pipe() if is_streamed else io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(members: Members, tar_format: int = tarfile.PAX_FORMAT) -> bytes:
    """Return a tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tar_format) as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def seven_zipped(
    members: Members, filters: list[dict[str, Any]] | None = None, **options: Any
) -> bytes:
    """Return a solid 7z archive; filters are named as in `SEVEN_ZIP_FILTERS`."""
    import py7zr  # slow: only for the writer
    from py7zr import properties

    out = io.BytesIO()
    if filters is None and "password" not in options:
        filters = SEVEN_ZIP_FILTERS["bcj and lzma2"]
    if filters is not None:
        options["filters"] = [
            each | {"id": getattr(properties, f"FILTER_{each['id']}")}
            for each in filters
        ]
    with py7zr.SevenZipFile(out, "w", **options) as archive:
        for name, data in members.items():
            archive.writestr(data, name)
    return out.getvalue()


ARCHIVES: dict[str, Callable[[Members], bytes]] = {
    "zip": zipped,
    "tar": tarred,
    "7z": seven_zipped,
}
ZIP_METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflate": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}
SEVEN_ZIP_FILTERS: dict[str, list[dict[str, Any]]] = {
    "bcj and lzma2": [{"id": "X86"}, {"id": "LZMA2", "preset": 1}],
    "lzma2": [{"id": "LZMA2", "preset": 1}],
    "lzma": [{"id": "LZMA", "preset": 1}],
    "bcj and lzma": [{"id": "X86"}, {"id": "LZMA", "preset": 1}],
    "arm and bzip2": [{"id": "ARM"}, {"id": "BZIP2"}],
    "bzip2": [{"id": "BZIP2"}],
    "deflate": [{"id": "DEFLATE"}],
    "deflate64": [{"id": "DEFLATE64"}],
    "zstd": [{"id": "ZSTD", "level": 3}],
    "copy": [{"id": "COPY"}],
}


def statements(n: int, seed: int = 0) -> bytes:
    """Return N-Triples that compress as those of real data do."""
    rng = random.Random(seed)
    return b"".join(
        b'<http://example.org/%d> <http://example.org/p%d> "%x" .\n'
        % (i, rng.randrange(9), rng.getrandbits(64))
        for i in range(n)
    )


NT = statements(6_000)
TTL = b"@prefix e: <http://example.org/> .\ne:a e:b e:c .\n"
MEMBERS = {"z/b.nt": NT, "a.ttl": TTL, "c.nt": NT[: len(NT) // 2], "empty.nt": b""}
ARCHIVE_KINDS = (
    *(f"zip {name}" for name in ZIP_METHODS),
    *("zip streamed", "zip with a program before"),
    *("tar ustar", "tar gnu", "tar pax"),
    *(f"7z {name}" for name in SEVEN_ZIP_FILTERS),
)


@cache
def packed_members(kind: str) -> bytes:
    """Return `MEMBERS` in an archive of one of the `ARCHIVE_KINDS`."""
    packing, _, how = kind.partition(" ")
    match packing:
        case "tar":
            return tarred(MEMBERS, getattr(tarfile, f"{how.upper()}_FORMAT"))
        case "7z":
            return seven_zipped(MEMBERS, SEVEN_ZIP_FILTERS[how])
    if how == "streamed":
        return zipped(MEMBERS, is_streamed=True)
    if how == "with a program before":
        return b"#!/bin/sh\n" * 9 + zipped(MEMBERS)
    return zipped(MEMBERS, ZIP_METHODS[how])


@dataclass(frozen=True)
class Unpacked:
    """A document that was read."""

    name: str
    data: bytes
    format: str
    packings: tuple[str, ...]


def unpack(
    packed: bytes | Path,
    *,
    url: str = URL,
    media_type: str = "",
    scratch: ScratchSpace | None = None,
    read: Iterable[int] = (),
    **limits: Any,
) -> tuple[list[Unpacked], list[Fault]]:
    """Return the documents in a packed file, and the faults.

    All are read, or those with the ordinals `read`.
    """
    source = ByteSource.of(packed)
    decision = sniffing.decide(media_type, url, source.head())
    assert decision.packing is not None
    log = FaultLog()
    found = []
    wanted = set(read)
    for i, each in enumerate(
        iter_documents(
            source,
            decision.packing,
            url=url,
            media_type=media_type,
            limits=UnpackLimits(**limits),
            scratch=scratch,
            log=log,
            is_read=lambda *_: False,
        )
    ):
        data = b""
        if not wanted or i in wanted:
            with each.source.open() as stream:
                data = stream.read()
        name = each.decision.format.name if each.decision.format else ""
        found.append(Unpacked(each.name, data, name, each.packings))
    return found, log.all()


def reasons(faults: list[Fault]) -> set[Reason]:
    """Return the faults."""
    return {fault.reason for fault in faults}
