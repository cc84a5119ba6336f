"""Content codings: decoded in one or more pieces, and never without a limit."""

from __future__ import annotations

import gzip
import zlib

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.unpack.content_encoding import BodyDecoder
from rdfcrawl.rdf.unpack.decoding import PIECE_BYTES
from tests.support.cpu_time import takes_at_most


def bare_deflate(octets: bytes) -> bytes:
    """Compress as many servers do for "deflate", without the zlib wrapper."""
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(octets) + stream.flush()


def two_gzip_members(octets: bytes) -> bytes:
    """Compress in two members (RFC 1952 2.2)."""
    half = len(octets) // 2
    return gzip.compress(octets[:half]) + gzip.compress(octets[half:])


def two_zstd_frames(octets: bytes) -> bytes:
    """Compress in two frames (RFC 8878 3)."""
    half = len(octets) // 2
    return zstd.compress(octets[:half]) + zstd.compress(octets[half:])


CODINGS = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-GZip", gzip.compress),
    "gzip-members": ("gzip", two_gzip_members),
    "deflate": ("deflate", zlib.compress),
    "bare-deflate": ("deflate", bare_deflate),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstd.compress),
    "zstd-frames": ("zstd", two_zstd_frames),
    "twice": ("gzip, br", lambda octets: brotli.compress(gzip.compress(octets))),
    "identity": ("identity", bytes),
}


def decode(
    name: str, wire: bytes, step: int = 1 << 16, max_ratio: float = 200
) -> bytes:
    """Decode `wire`, fed in pieces of `step` bytes."""
    decoder = BodyDecoder(name, max_ratio=max_ratio)
    pieces: list[bytes] = []
    for start in range(0, len(wire), step):
        pieces.extend(decoder.pieces(wire[start : start + step]))
    decoder.finish()
    assert all(len(piece) <= max(PIECE_BYTES, step) for piece in pieces)
    return b"".join(pieces)


@pytest.mark.parametrize("coding", CODINGS)
@given(octets=st.binary(max_size=2000), step=st.integers(1, 300))
def test_coding_is_undone(coding: str, octets: bytes, step: int) -> None:
    """If a body is coded, then it comes out the same, however it is cut up."""
    name, encode = CODINGS[coding]
    assert decode(name, encode(octets), step) == octets


@pytest.mark.parametrize("coding", CODINGS)
def test_large_body_comes_in_bounded_pieces(coding: str) -> None:
    """If a body is larger than a piece, then none of its pieces is."""
    name, encode = CODINGS[coding]
    octets = bytes(i * i % 251 for i in range(3 * PIECE_BYTES + 17))
    assert decode(name, encode(octets), max_ratio=1e9) == octets


@pytest.mark.parametrize("coding", [name for name in CODINGS if name != "identity"])
def test_cut_stream_is_named_and_kept(coding: str) -> None:
    """If a coded body is cut off, then the decodable part was yielded before."""
    name, encode = CODINGS[coding]
    octets = bytes(i * i % 251 for i in range(200_000))
    wire = encode(octets)[:-12]
    decoder = BodyDecoder(name, max_ratio=1e9)
    got = b"".join(decoder.pieces(wire))
    assert octets.startswith(got)
    with pytest.raises(SourceFault) as caught:
        decoder.finish()
    assert caught.value.fault.reason is Reason.TRUNCATED_BODY


BOMBS = {
    **{name: CODINGS[name] for name in ("gzip", "deflate", "zstd")},
    "br": ("br", lambda octets: brotli.compress(octets, quality=3)),
    "twice": ("gzip, gzip", lambda octets: gzip.compress(gzip.compress(octets))),
}


@pytest.mark.parametrize("coding", BOMBS)
def test_bomb_is_stopped_early(coding: str) -> None:
    """If a body swells beyond the ratio, then it ends after little memory and time."""
    name, encode = BOMBS[coding]
    wire = encode(bytes(20_000_000))
    decoder = BodyDecoder(name, max_ratio=200)
    n_bytes = 0
    with takes_at_most(10), pytest.raises(SourceFault) as caught:  # noqa: PT012  the loop is the claim
        for start in range(0, len(wire), 1 << 16):
            for piece in decoder.pieces(wire[start : start + (1 << 16)]):
                n_bytes += len(piece)
    assert caught.value.fault.reason is Reason.TOO_LARGE
    assert n_bytes <= max(1 << 20, 200 * (1 << 16)) + PIECE_BYTES


@pytest.mark.parametrize("name", ["gzip", "br", "zstd", "deflate"])
@pytest.mark.parametrize("wire", [b"\x1f\x8bnot", b"\x00" * 99])
def test_garbage_is_a_named_fault(name: str, wire: bytes) -> None:
    """If a body is not coded as declared, then the fault is named."""
    with pytest.raises(SourceFault) as caught:
        decode(name, wire)
    assert caught.value.fault.reason in {
        Reason.BAD_CONTENT_ENCODING,
        Reason.TRUNCATED_BODY,
    }


@pytest.mark.parametrize("name", ["gzip", "br", "zstd", "deflate", "compress", "sdch"])
@pytest.mark.parametrize("step", [1, 7, 100])
@pytest.mark.parametrize(
    "text", ["<a> <b> <c> .", "<urn:x:s> <urn:x:p> 'caf\xe9' .\n" * 40]
)
def test_text_that_is_not_coded_is_taken_as_it_is(
    name: str, step: int, text: str
) -> None:
    """If a body is text in spite of its coding, then it is read as text."""
    assert decode(name, text.encode(), step) == text.encode()


@pytest.mark.parametrize("magic", [b"PK\x03\x04", b"BZh9", b"$HDT\x01", b"\xfd7zXZ\0"])
def test_file_that_is_not_coded_is_taken_as_it_is(magic: bytes) -> None:
    """If a body is a packed file in spite of its coding, then it is read as that."""
    wire = magic + bytes(range(200))
    assert decode("gzip", wire) == wire


@pytest.mark.parametrize("name", ["UTF-8", "none", "binary", "rot13", "", "identity"])
def test_unknown_coding_is_none(name: str) -> None:
    """If the name of a coding is none that changes a body, then nothing is decoded."""
    assert decode(name, b"\x1f\x8bnot") == b"\x1f\x8bnot"


@pytest.mark.parametrize(
    "name", ["gzip;q=1", '"gzip"', "utf-8, gzip", "deflate", "zstd", "br"]
)
def test_coding_is_recognized_by_its_begin(name: str) -> None:
    """If a coding is named oddly, then the bytes say which it is."""
    assert decode(name, gzip.compress(b"a" * 99)) == b"a" * 99


def test_deflate_in_place_of_gzip_is_decoded() -> None:
    """If a body is zlib in spite of its coding gzip, then it is decoded."""
    assert decode("gzip", zlib.compress(b"a" * 99)) == b"a" * 99


@pytest.mark.parametrize(
    ("name", "wire"), [("compress", b"\x1f\x9d\x90a"), ("gzip," * 6, b"abc")]
)
def test_coding_that_cannot_be_undone_is_refused(name: str, wire: bytes) -> None:
    """If a coding is not supported, or there are too many, then the fault is named."""
    with pytest.raises(SourceFault) as caught:
        decode(name, wire)
    assert caught.value.fault.reason is Reason.BAD_CONTENT_ENCODING


def test_padding_after_the_last_member_is_ignored() -> None:
    """If zeros follow a gzip stream, as some tools write them, they are no fault."""
    assert decode("gzip", gzip.compress(b"abc") + b"\0" * 512) == b"abc"


def test_empty_body_is_empty() -> None:
    """If a coded body has no bytes at all, then it is empty and not cut off."""
    assert decode("gzip", b"") == b""
