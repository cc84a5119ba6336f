"""Packed things with bytes changed, cut and doubled: read or refused by name."""

from __future__ import annotations

import random
import tarfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.unpack.seven_zip_header import HeaderReader
from tests.support.examples import examples
from tests.support.unpack_archives import (
    CODECS,
    SEVEN_ZIP_FILTERS,
    ZIP_METHODS,
    reasons,
    seven_zipped,
    statements,
    tarred,
    unpack,
    zipped,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NT = statements(300)
MEMBERS = {"a.nt": NT, "README": b"x" * 100, "d/b.ttl": NT[:5000], "c.nt": NT * 2}
SEEDS: dict[str, Callable[[], bytes]] = {
    **{name: lambda pack=pack: pack(NT) for name, pack in CODECS.items()},  # type: ignore[misc]
    **{
        f"zip {name}": lambda method=method: zipped(MEMBERS, method)  # type: ignore[misc]
        for name, method in ZIP_METHODS.items()
    },
    "zip streamed": lambda: zipped(MEMBERS, is_streamed=True),
    "tar gnu": lambda: tarred(MEMBERS, tarfile.GNU_FORMAT),
    "tar pax": lambda: tarred(MEMBERS, tarfile.PAX_FORMAT),
    **{
        f"7z {name}": lambda filters=filters: seven_zipped(MEMBERS, filters)  # type: ignore[misc]
        for name, filters in SEVEN_ZIP_FILTERS.items()
    },
}
N_ROUNDS = 150
NAMED = {
    *(Reason.BAD_ARCHIVE, Reason.CHECKSUM, Reason.TOO_LARGE, Reason.ENCRYPTED),
    *(Reason.TOO_MANY_MEMBERS, Reason.TOO_DEEP, Reason.EMPTY),
    *(Reason.UNKNOWN_FORMAT, Reason.UNSUPPORTED_FORMAT),
}


def mutate(seed: bytes, rng: random.Random) -> bytes:
    """Return the bytes with some changed, mostly where headers are."""
    data = bytearray(seed)
    for _ in range(rng.choice((1, 1, 2, 5, 30))):
        begin, end = rng.choice(((0, 64), (0, len(data)), (len(data) - 300, len(data))))
        at = rng.randrange(max(0, begin), min(max(end, 1), len(data)))
        match rng.randrange(6):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at] = rng.choice((0, 255, rng.randrange(256)))
            case 2:
                del data[at : at + rng.randrange(1, 20)]
            case 3:
                data[at:at] = rng.randbytes(rng.randrange(1, 9))
            case 4:
                other = rng.randrange(len(data))
                data[at : at + 8] = data[other : other + 8]
            case _:
                data[at : at + 4] = b"\xff\xff\xff\xff"
        if len(data) < 20:
            break
    return bytes(data)


@pytest.mark.parametrize("kind", SEEDS)
def test_damage_is_named(kind: str) -> None:
    """If bytes of a packed document change, then nothing is raised."""
    seed = SEEDS[kind]()
    url = "http://example.org/x.br" if kind == "brotli" else "http://example.org/x"
    rng = random.Random(kind)
    for _ in range(N_ROUNDS):
        packed = mutate(seed, rng)
        if sniffing.decide("", url, packed[:4096]).packing is None:
            continue
        found, faults = unpack(packed, url=url, n_bytes=10**7)
        assert reasons(faults) <= NAMED
        assert sum(len(each.data) for each in found) <= 10**7


@settings(max_examples=examples(300), deadline=None)
@given(data=st.binary(max_size=300), kind=st.sampled_from([b"\1", b"\x17", b"\1\4\6"]))
def test_any_header_of_7z_is_read_or_refused(data: bytes, kind: bytes) -> None:
    """If the header of a 7z archive is anything, then it is read or refused."""
    reader = HeaderReader(kind + data)
    first = reader.number()
    try:
        if first == 1:
            _, files = reader.archive()
            assert len(list(files.iter_names())) == files.n
        else:
            reader.streams()
    except SourceFault as fault:
        assert fault.fault.reason in NAMED  # noqa: PT017


@settings(max_examples=examples(200), deadline=None)
@given(data=st.binary(max_size=2000))
def test_anything_behind_a_magic_is_read_or_refused(data: bytes) -> None:
    """If only the first bytes are those of a packing, then nothing is raised."""
    for magic in (
        b"\x1f\x8b",
        b"PK\3\4",
        b"PK\5\6",
        b"\xfd7zXZ\0",
        b"7z\xbc\xaf\x27\x1c",
    ):
        _, faults = unpack(magic + data)
        assert reasons(faults) <= NAMED
