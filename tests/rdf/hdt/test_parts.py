"""The parts of HDT: checksums, packed integers, bitmaps, front coding."""

from __future__ import annotations

import io

import google_crc32c
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.sorting import SpillFolder, StringRun
from rdfcrawl.rdf.hdt.crc import Crc32c
from rdfcrawl.rdf.hdt.cursor import (
    FORMATS,
    ControlInformation,
    FileCursor,
    HdtPart,
    decode_vbyte,
    encode_vbyte,
    read_control,
)
from rdfcrawl.rdf.hdt.dictionary import (
    BlockCache,
    BrokenBlock,
    decode_block,
    decode_few,
    encode_blocks,
    iter_long_block,
)
from rdfcrawl.rdf.hdt.sequences import (
    IntegerPacker,
    KeyRun,
    LogArray,
    WindowedBitmap,
    merge_keys,
    merge_strings,
)
from rdfcrawl.rdf.hdt.triples import KeyCodec

STRINGS = st.lists(
    st.binary(max_size=40).map(lambda text: text.replace(b"\0", b"")), unique=True
).map(sorted)


@pytest.mark.parametrize("n_bytes", [0, 1, 127, 128, 129, 255, 256, 257, 70_000])
def test_crc32c_is_that_of_google(n_bytes: int) -> None:
    """If bytes of any length are summed, then google-crc32c agrees."""
    message = np.random.default_rng(n_bytes).bytes(n_bytes)
    crc = Crc32c()
    crc.update(message)
    assert crc.value == google_crc32c.value(message)


def test_crc32c_of_many_bytes_is_that_of_google() -> None:
    """If bytes are more than all lanes take, then google-crc32c agrees."""
    message = np.random.default_rng(1).bytes(3 * 2**20 + 12_345)
    crc = Crc32c()
    crc.update(message)
    assert crc.value == google_crc32c.value(message)


@given(st.lists(st.binary(max_size=600)))
@settings(max_examples=50)
def test_crc32c_does_not_depend_on_pieces(parts: list[bytes]) -> None:
    """If bytes come in pieces, then their checksum is that of all of them."""
    crc = Crc32c()
    for part in parts:
        crc.update(part)
    assert crc.value == google_crc32c.value(b"".join(parts))


@given(st.integers(0, 2**64 - 1))
def test_vbyte_gives_the_integer_back(value: int) -> None:
    """If an integer is encoded, then it is decoded again."""
    encoded = encode_vbyte(value)
    assert decode_vbyte(encoded + b"rest", 0) == (value, len(encoded))


@pytest.mark.parametrize("encoded", [b"", b"\x01", b"\0" * 10 + b"\x80", b"\x7f" * 20])
def test_vbyte_without_end_is_an_error(encoded: bytes) -> None:
    """If an integer has no last byte, or is too long, then that is an error."""
    with pytest.raises(ValueError, match="without an end"):
        decode_vbyte(encoded, 0)


def test_vbyte_above_64_bits_is_an_error() -> None:
    """If an integer has more than 64 bits, then that is an error."""
    with pytest.raises(ValueError, match="without an end"):
        decode_vbyte(encode_vbyte(2**64), 0)


@given(st.data(), st.integers(1, 64))
@settings(max_examples=50)
def test_log_array_gives_any_window_back(data: st.DataObject, width: int) -> None:
    """If integers are packed in any width, then each window of them is unpacked."""
    values = data.draw(st.lists(st.integers(0, 2**width - 1), min_size=1))
    begin = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(begin, len(values)))
    out = io.BytesIO()
    with SpillFolder(None) as spills:
        packer = IntegerPacker(width, spills)
        packer.add(np.array(values[:3], np.uint64))
        packer.add(np.array(values[3:], np.uint64))
        packer.write_log_array(out)
    array = LogArray.read(FileCursor(out.getvalue()), "array")
    assert array.n_entries == len(values)
    assert array.window(begin, end).tolist() == values[begin:end]


@given(st.lists(st.booleans(), max_size=200), st.integers(0, 200))
@settings(max_examples=50)
def test_bitmap_gives_its_bits_back(bits: list[bool], begin: int) -> None:
    """If bits are packed, then each window of them, and their count, is found."""
    bits.append(True)
    out = io.BytesIO()
    with SpillFolder(None) as spills:
        packer = IntegerPacker(1, spills)
        packer.add(np.array(bits, np.uint64))
        packer.write_bitmap(out)
    bitmap = WindowedBitmap.read(FileCursor(out.getvalue()), "bits")
    begin = min(begin, len(bits))
    assert bitmap.n_ones == sum(bits)
    assert bitmap.window(begin, len(bits)).tolist() == bits[begin:]


def test_bitmap_without_bits_may_have_a_byte() -> None:
    """If a bitmap of no bits has one byte, as hdt-cpp writes, then it is read."""
    preamble = b"\x01\x80"
    content = b"\0"
    crc = google_crc32c.value(content).to_bytes(4, "little")
    out = io.BytesIO()
    with SpillFolder(None) as spills:
        IntegerPacker(1, spills).write_bitmap(out)
    assert out.getvalue().startswith(preamble)
    cursor = FileCursor(out.getvalue()[:3] + content + crc)
    assert WindowedBitmap.read(cursor, "bits").n_bits == 0
    assert not cursor.peek(1)


@given(STRINGS, st.integers(1, 20))
def test_front_coding_gives_the_strings_back(strings: list[bytes], size: int) -> None:
    """If sorted strings are front-coded, then each way to decode gives them back."""
    content, lengths = encode_blocks(strings, size)
    ends = np.cumsum(lengths).tolist()
    decoded: list[bytes] = []
    for begin, end in zip([0, *ends], ends, strict=False):
        block = content[begin:end]
        n_strings = min(size, len(strings) - len(decoded))
        whole = decode_block(block, n_strings)
        assert list(iter_long_block(memoryview(block), n_strings, 100)) == whole
        assert decode_few(block, n_strings, list(range(n_strings))) == whole
        decoded += whole
    assert decoded == strings


@pytest.mark.parametrize("n_shared", [0, 127, 128, 2**14 - 1, 2**14, 20_000])
def test_front_coding_takes_long_prefixes(n_shared: int) -> None:
    """If strings share a long prefix, then its length takes several bytes."""
    strings = [b"a" * n_shared, b"a" * n_shared + b"b", b"a" * n_shared + b"c"]
    content, _ = encode_blocks(strings, 16)
    assert decode_block(content, 3) == strings


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"abc",
        b"abc\0",
        b"abc\0\x84d\0",
        b"abc\0\x81d\0more",
        b"abc\0\x81d\0more\0",
        b"abc\0" + b"\x01" * 12 + b"\x80d\0",
        b"abc\0\0d\0",
    ],
)
def test_broken_block_is_refused(block: bytes) -> None:
    """If a block holds other than two strings, then it is refused."""
    with pytest.raises(BrokenBlock):
        decode_block(block, 2)
    assert decode_few(block, 2, [1]) is None or block.count(b"\0") == 2


def test_too_long_string_leaves_those_behind_it() -> None:
    """If one string of a block is too long, then the others are had all the same."""
    strings = [b"a", b"a" * 50, b"ab"]
    content, _ = encode_blocks(strings, 16)
    assert list(iter_long_block(memoryview(content), 3, 10)) == [b"a", None, b"ab"]


@given(st.lists(STRINGS, max_size=6), st.sampled_from([1, 2**20]))
@settings(max_examples=50)
def test_merged_strings_are_those_of_all_runs(
    runs: list[list[bytes]], memory_bytes: int
) -> None:
    """If runs are merged, then each run's strings have the returned positions."""
    runs = [[text or b"-" for text in run] for run in runs]
    runs = [sorted(set(run)) for run in runs]
    with SpillFolder(None) as spills:
        spill = spills.new()
        places: list[list[int]] = [[] for _ in runs]
        merged: list[bytes] = []
        open_runs = [StringRun(spill, run) for run in runs]
        for strings, all_places in merge_strings(open_runs, memory_bytes):
            for known, new in zip(places, all_places, strict=True):
                known.extend((new + len(merged)).tolist())
            merged += strings
    assert merged == sorted({text for run in runs for text in run})
    assert [[merged[at] for at in known] for known in places] == runs


def test_string_longer_than_a_piece_is_merged() -> None:
    """If one string is longer than a piece, then it is read completely."""
    with SpillFolder(None) as spills:
        runs = [StringRun(spills.new(), [b"a", b"b" * 100_000, b"c"]) for _ in "ab"]
        merged = [text for strings, _ in merge_strings(runs, 1) for text in strings]
    assert merged == [b"a", b"b" * 100_000, b"c"]


def test_cache_drops_what_was_not_used_for_longest() -> None:
    """If blocks take more than the cache may, the one used longest ago is dropped."""
    cache = BlockCache()
    block = [b"x" * 200_000]
    for number in range(300):
        cache.put(("s", number), block)
        assert cache.get(("s", 0)) is block
    assert cache.get(("s", 1)) is None
    assert cache.get(("s", 299)) is block
    cache.put(("s", 300), [b"x" * 300_000])
    assert cache.get(("s", 300)) is None


@pytest.mark.parametrize("bits", [(20, 4, 20), (30, 10, 30), (40, 24, 40)])
def test_keys_sort_as_statements_do(bits: tuple[int, int, int]) -> None:
    """If keys are sorted and merged, in one word or two, then so are statements."""
    random = np.random.default_rng(0)
    codec = KeyCodec({role: 2**n - 1 for role, n in zip("spo", bits, strict=True)})
    columns = [
        np.append(random.integers(1, 2**n - 1, 3000), 2**n - 1).astype(np.int64)
        for n in bits
    ]
    statements = sorted(zip(*[column.tolist() for column in columns], strict=True))
    with SpillFolder(None) as spills:
        spill = spills.new()
        runs = [
            KeyRun(spill, np.sort(codec.join([column[at::3] for column in columns])))
            for at in range(3)
        ]
        keys = np.concatenate(list(merge_keys(runs, 1)))
    assert codec.is_wide is (sum(bits) > 64)
    split = [column.tolist() for column in codec.split(keys)]
    assert list(zip(*split, strict=True)) == statements


def test_control_gives_its_properties_back() -> None:
    """If control information is encoded, then it is read again."""
    name, properties = FORMATS[HdtPart.TRIPLES], {"order": "1", "numTriples": "5"}
    control = ControlInformation(HdtPart.TRIPLES, name, properties)
    cursor = FileCursor(control.encode())
    assert read_control(cursor, HdtPart.TRIPLES) == control


def test_control_of_another_part_is_refused() -> None:
    """If the header stands where the triples should, then that is no HDT file."""
    control = ControlInformation(HdtPart.HEADER, "ntriples", {})
    with pytest.raises(SourceFault, match="opens part 2") as caught:
        read_control(FileCursor(control.encode()), HdtPart.TRIPLES)
    assert caught.value.fault.reason is Reason.SYNTAX


def test_endless_control_is_refused() -> None:
    """If control information does not end, then only its begin is looked at."""
    with pytest.raises(SourceFault, match="no end"):
        read_control(FileCursor(b"$HDT\x01" + b"a" * 200_000), HdtPart.GLOBAL)


def test_other_format_is_named() -> None:
    """If a dictionary is in another format, then the fault names it."""
    other = "<http://purl.org/HDT/hdt#dictionaryMult>"
    control = ControlInformation(HdtPart.DICTIONARY, other)
    with pytest.raises(SourceFault, match="dictionaryMult") as caught:
        read_control(FileCursor(control.encode()), HdtPart.DICTIONARY)
    assert caught.value.fault.reason is Reason.UNSUPPORTED_FORMAT
