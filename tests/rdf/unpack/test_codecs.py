"""Compressed streams: complete, consecutive, truncated, broken, and bombs."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from functools import partial
from typing import TYPE_CHECKING

import pytest
from backports import zstd

from rdfcrawl.core.errors import Reason
from tests.support.unpack_archives import (
    CODECS,
    EXTENSIONS,
    reasons,
    statements,
    unpack,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NT = statements(20_000)
MIB = 2**20


def url_of(codec: str) -> str:
    """Return the URL of N-Triples in a codec."""
    return f"http://example.org/dump.nt.{EXTENSIONS[codec]}"


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("n", [1, 300, 20_000])
def test_compressed_document_is_read(codec: str, n: int) -> None:
    """If a document is compressed, then it is decoded the same, at any size."""
    data = statements(n)
    found, faults = unpack(CODECS[codec](data), url=url_of(codec))
    assert [(each.data, each.format, each.packings, each.name) for each in found] == [
        (data, "N-Triples", (codec,), "")
    ]
    assert not faults


@pytest.mark.parametrize("codec", [name for name in CODECS if name != "brotli"])
def test_streams_in_a_row_are_one_document(codec: str) -> None:
    """If compressed streams follow one another, then they are read as one."""
    compress = CODECS[codec]
    packed = b"".join(compress(NT[i : i + 500_000]) for i in range(0, len(NT), 500_000))
    found, faults = unpack(packed, url=url_of(codec))
    assert found[0].data == NT
    assert not faults


def test_many_small_gzip_members_are_one_document() -> None:
    """If a file has a member for each line, as block gzips have, then all are read."""
    lines = NT.splitlines(keepends=True)[:3000]
    found, faults = unpack(b"".join(map(gzip.compress, lines)))
    assert found[0].data == b"".join(lines)
    assert not faults


def test_skippable_zstd_frames_are_skipped() -> None:
    """If zstd frames that hold no data come between, then they are left out."""
    skip = struct.pack("<II", 0x184D2A5A, 5) + b"seek!"
    packed = skip + zstd.compress(NT[:100]) + skip + zstd.compress(NT[100:]) + skip
    found, faults = unpack(packed)
    assert found[0].data == NT
    assert not faults


@pytest.mark.parametrize("codec", ["gzip", "bzip2", "xz"])
def test_padding_is_no_fault(codec: str) -> None:
    """If zeros follow the last stream, then nothing is wrong."""
    found, faults = unpack(CODECS[codec](NT) + bytes(512), url=url_of(codec))
    assert found[0].data == NT
    assert not faults


@pytest.mark.parametrize("codec", CODECS)
def test_garbage_at_the_end_is_noted(codec: str) -> None:
    """If other bytes follow the last stream, then all before is read, and noted."""
    found, faults = unpack(CODECS[codec](NT) + b"garbage" * 9, url=url_of(codec))
    if codec == "brotli":  # the library keeps back the last piece then
        assert NT.startswith(found[0].data)
    else:
        assert found[0].data == NT
    assert reasons(faults) == {Reason.BAD_ARCHIVE}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("share", [0.3, 0.9, 0.9999])
def test_what_came_before_the_cut_is_kept(codec: str, share: float) -> None:
    """If a stream is cut off, then the part before is read, and the cut is named."""
    # The blocks of bzip2 are 900 kB, but for this level.
    packed = bz2.compress(NT, 1) if codec == "bzip2" else CODECS[codec](NT)
    found, faults = unpack(packed[: int(len(packed) * share)], url=url_of(codec))
    assert NT.startswith(found[0].data)
    assert len(found[0].data) > len(NT) * (share - 0.29)
    assert reasons(faults) == {Reason.BAD_ARCHIVE}
    assert "cut off" in faults[0].detail


@pytest.mark.parametrize("codec", CODECS)
def test_what_came_before_the_damage_is_kept(codec: str) -> None:
    """If a stream is damaged within, then that is named, and the begin is read."""
    packed = bytearray(CODECS[codec](NT))
    middle = len(packed) // 2
    packed[middle : middle + 50] = bytes(50)
    found, faults = unpack(bytes(packed), url=url_of(codec))
    assert found[0].data[:1000] in (NT[:1000], b"")
    assert reasons(faults) <= {Reason.BAD_ARCHIVE, Reason.CHECKSUM, Reason.TOO_LARGE}
    assert faults


@pytest.mark.parametrize("codec", ["gzip", "zstd", "lz4"])
def test_wrong_checksum_is_named(codec: str) -> None:
    """If only the checksum at the end is wrong, then all is read and it is named."""
    packed = bytearray(CODECS[codec](NT))
    packed[-8 if codec == "gzip" else -1] ^= 1
    found, faults = unpack(bytes(packed), url=url_of(codec))
    assert found[0].data == NT
    assert reasons(faults) == {Reason.CHECKSUM}


@pytest.mark.parametrize("codec", ["gzip", "xz", "brotli"])
def test_short_streams_are_read_up_to_the_damage(codec: str) -> None:
    """If a stream that is decoded in one call is damaged late, its begin is kept."""
    data = statements(2000)
    packed = bytearray(CODECS[codec](data))
    late = len(packed) * 9 // 10
    packed[late : late + 20] = b"\xff" * 20
    found, faults = unpack(bytes(packed), url=url_of(codec))
    n_sound = len(data) * 4 // 5
    assert found[0].data[:n_sound] == data[:n_sound]
    assert faults


def test_long_stream_with_a_wrong_checksum_loses_a_step_at_most() -> None:
    """If a long stream ends with a wrong checksum, then nearly all of it is read."""
    data = statements(120_000)
    packed = bytearray(gzip.compress(data, 1))
    packed[-8] ^= 1
    found, faults = unpack(bytes(packed), url=url_of("gzip"))
    assert data.startswith(found[0].data)
    assert len(data) - len(found[0].data) <= 32 * 1024
    assert reasons(faults) == {Reason.CHECKSUM}


@pytest.mark.parametrize("codec", CODECS)
def test_bomb_ends_at_the_ratio(codec: str) -> None:
    """If a stream swells beyond the ratio, then it ends there and is named."""
    packed = CODECS[codec](bytes(16 * MIB))
    found, faults = unpack(packed, url=url_of(codec), ratio=100)
    assert len(found[0].data) <= max(MIB, 100 * min(len(packed), 2**16)) + MIB
    assert reasons(faults) == {Reason.TOO_LARGE}
    assert "ratio" in faults[0].detail


@pytest.mark.parametrize("codec", CODECS)
def test_document_ends_at_the_limit_of_bytes(codec: str) -> None:
    """If a document unpacks to more than the limit, then it is cut there."""
    found, faults = unpack(CODECS[codec](NT), url=url_of(codec), n_bytes=600_000)
    assert NT.startswith(found[0].data)
    assert 600_000 - 2**18 <= len(found[0].data) <= 600_000
    assert reasons(faults) == {Reason.TOO_LARGE}


def test_short_documents_may_compress_as_they_like() -> None:
    """If a document is short, then no ratio counts."""
    line = b"<http://example.org/a> <http://example.org/b> <http://example.org/c> .\n"
    found, faults = unpack(gzip.compress(line * 10_000), ratio=2)
    assert found[0].data == line * 10_000
    assert not faults


LONG_WINDOW: dict[int, int] = {
    zstd.CompressionParameter.window_log: 27,
    zstd.CompressionParameter.content_size_flag: 0,
}
DICTIONARY = {"id": lzma.FILTER_LZMA2, "dict_size": 2**26}


@pytest.mark.parametrize(
    ("pack", "n_bytes"),
    [
        (partial(lzma.compress, preset=9), 100_000),
        (partial(zstd.compress, options=LONG_WINDOW), len(NT)),  # no shorter window
        (partial(lzma.compress, filters=[DICTIONARY]), 100_000),
    ],
    ids=["xz -9", "zstd --long=27", "xz of 64 MiB"],
)
def test_decoders_with_large_memory_are_refused(
    pack: Callable[[bytes], bytes], n_bytes: int
) -> None:
    """If decoding asks for more memory than allowed, then it is not begun."""
    data = NT[:n_bytes]
    packed = pack(data)
    found, faults = unpack(packed, url="http://e/x.nt")
    assert found[0].data == data
    assert not faults
    found, faults = unpack(packed, url="http://e/x.nt", codec_memory_bytes=2**20)
    assert found[0].data == b""
    assert reasons(faults) == {Reason.TOO_LARGE}


@pytest.mark.parametrize("codec", [name for name in CODECS if name != "brotli"])
def test_nothing_compressed_is_an_empty_document(codec: str) -> None:
    """If nothing was compressed, then the document is empty."""
    found, faults = unpack(CODECS[codec](b""), url="http://e/x.ttl")
    assert [(each.data, each.format) for each in found] == [(b"", "Turtle")]
    assert not faults
