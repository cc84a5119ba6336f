"""Fingerprints equal those that a plain implementation makes, and compare documents."""

from __future__ import annotations

import base64
import hashlib
import zlib
from io import BytesIO
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.analysis.duplicates.clusters import (
    ContentPrint,
    find_clusters,
    find_related,
    resemblance,
)
from rdfcrawl.rdf.fingerprints import (
    Fingerprint,
    content_hash,
    content_hash_of,
    fingerprint_statements,
    fingerprint_text,
    read_sketch,
)
from tests.support.examples import examples

GRAPH = "http://example.org/d"
NUMBERS = st.lists(st.integers(0, 10**9), max_size=400, unique=True)


def digest(text: bytes) -> str:
    """Return 128 bits of SHA-256, taken in two pieces."""
    found = hashlib.sha256(text[:7])
    found.update(text[7:])
    return found.hexdigest()[:32]


def plain_sketch(sums: list[int]) -> str:
    """Return the sketch as `docs/reference/provenance.md` describes it."""
    distinct = sorted(set(sums))
    if len(distinct) <= 11:
        listed = b"".join(each.to_bytes(4, "little") for each in distinct)
        return base64.b64encode(listed).decode()
    return plain_parts(sums)


def plain_parts(sums: list[int]) -> str:
    """Return the sketch of a longer document."""
    minima: dict[int, int] = {}
    for each in sorted(set(sums))[:128]:
        number = each * 2654435761 % 2**32
        part = number // 2**26
        minima[part] = min(number, minima.get(part, number))
    bits = {part: f"{minima[part]:032b}" for part in sorted(minima)}
    sketch = "".join(digit(bits[n][16:22]) if n in bits else "." for n in range(64))
    if len(minima) <= 20:
        for minimum in bits.values():
            sketch += digit("00" + minimum[6:10]) + digit(minimum[10:16])
    return sketch


def digit(bits: str) -> str:
    """Return the digit of Base64 for six bits."""
    return base64.b64encode(bytes([int(bits, 2) << 2]))[:1].decode()


def plain_sums(words: list[bytes]) -> list[int]:
    """Return the sums of all runs of eight words, one after another."""
    if len(words) <= 8:
        return [zlib.crc32(b" ".join(words))] if words else []
    sums = []
    for n in range(len(words) - 7):
        found = 0
        for word in words[n : n + 8]:
            found = (found * 2654435761 + zlib.crc32(word)) % 2**32
        sums.append(found)
    return sums


def statement(n: int, graph: str = GRAPH) -> bytes:
    """Return a line of N-Quads in the graph of a document."""
    return b'<%b> <urn:x:p> "%d" <%b> .\n' % (graph.encode(), n, graph.encode())


def similarity(one: Fingerprint, other: Fingerprint) -> float:
    """Return the share of equal minima."""
    pairs = zip(read_sketch(one.sketch), read_sketch(other.sketch), strict=True)
    return sum(x == y for x, y in pairs) / 64


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=5000))
def test_content_hash_is_of_all_bytes(body: bytes) -> None:
    """If a body is in memory or in a file, then the hash covers all bytes."""
    assert content_hash(body) == content_hash_of(BytesIO(body)) == digest(body)


@settings(max_examples=examples(200), deadline=None)
@given(NUMBERS, st.randoms())
def test_statements_are_a_set(numbers: list[int], random: object) -> None:
    """If lines come in another order or twice, then the fingerprint is the same."""
    lines = [statement(n) for n in numbers]
    found = fingerprint_statements(b"".join(lines), GRAPH)
    normal = {b'<urn:x:p> "%d" .' % n for n in numbers}
    assert found.text_hash == digest(b"".join(b"\n" + x for x in sorted(normal)))
    assert found.sketch == plain_sketch([zlib.crc32(line) for line in normal])
    shuffled = lines * 2
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fingerprint_statements(b"".join(shuffled), GRAPH) == found


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.text("abcé \n\x1c\u3000", min_size=1), max_size=600))
def test_texts_are_cut_into_shingles(pieces: list[str]) -> None:
    """If a page has words, then all runs of eight of them are in its sketch."""
    text = " ".join(pieces)
    found = fingerprint_text(text)
    words = [word.encode() for word in text.lower().split()]
    assert found.text_hash == digest(b" ".join(words))
    assert found.sketch == plain_sketch(plain_sums(words))


@settings(max_examples=examples(100), deadline=None)
@given(st.sets(st.integers(0, 10**9), min_size=1, max_size=11))
def test_short_documents_are_compared_as_all_others(numbers: set[int]) -> None:
    """If a sketch lists sums, then its minima are those of a sketch of parts."""
    found = fingerprint_statements(b"".join(map(statement, numbers)), GRAPH)
    normal = [b'<urn:x:p> "%d" .' % n for n in numbers]
    parts = plain_parts([zlib.crc32(line) for line in normal])
    assert len(found.sketch) < len(parts)
    assert read_sketch(found.sketch) == read_sketch(parts)


def test_equal_pages_need_not_look_alike() -> None:
    """If two texts differ in case and white space alone, then they are equal."""
    assert fingerprint_text("Two  WORDS\n") == fingerprint_text(" two words")
    assert fingerprint_text("two wordS!") != fingerprint_text("two words")
    assert fingerprint_text(" ").sketch == ""


def test_documents_that_describe_themselves_alike_are_equal() -> None:
    """If statements differ in URL and blank nodes alone, then they are equal."""
    about = (
        '<{0}> <urn:x:p> _:b{1}e0 <{0}> .\n_:b{1}e0 <urn:x:p> "_:a" <{0}> .\n'
        "<{0}#me> <urn:x:p> <http://example.org/d/more> <{0}> .\n"
        '<{0}> <urn:x:p> "<x>" <http://example.org/other> .\n'
    )
    one = fingerprint_statements(about.format(GRAPH, "1").encode(), GRAPH)
    copy = "http://mirror.example/d"
    assert fingerprint_statements(about.format(copy, "2").encode(), copy) == one
    longer = about.format(GRAPH, "1").replace("d/more", "d#more").encode()
    assert fingerprint_statements(longer, GRAPH) != one  # it is no other document
    other = about.format(GRAPH, "1").replace("_:a", "_:b").encode()
    assert fingerprint_statements(other, GRAPH) != one
    assert fingerprint_statements(b"", GRAPH).sketch == ""


@pytest.mark.parametrize("n", [5, 40, 200, 300, 5000])
def test_sketch_estimates_resemblance(n: int) -> None:
    """If documents share a part of their statements, then their sketches show it."""
    one = fingerprint_statements(b"".join(map(statement, range(n))), GRAPH)
    assert similarity(one, one) == 1
    near = fingerprint_statements(b"".join(map(statement, range(n // 50, n))), GRAPH)
    assert similarity(one, near) >= 0.85
    far = fingerprint_statements(b"".join(map(statement, range(n, 2 * n))), GRAPH)
    assert similarity(one, far) <= 0.3


def test_half_of_a_document_is_half_as_similar() -> None:
    """If a third of all statements is shared, then so are about a third of minima."""
    texts = [b"".join(map(statement, range(100 * n, 100 * n + 200))) for n in range(41)]
    found = [fingerprint_statements(text, GRAPH) for text in texts]
    pairs = list(pairwise(found))
    mean = sum(similarity(*pair) for pair in pairs) / len(pairs)
    assert 0.30 <= mean <= 0.37


@pytest.mark.parametrize(
    "text",
    [
        *("", "AAAA", "*" * 172, "A" * 63, "A" * 65, "A" * 63 + "*", "A" * 63 + "é"),
        *("." * 64, "A" + "." * 63, "A" + "." * 63 + "AA.", "A" + "." * 63 + "A."),
        *("." * 59 + "A" * 5 + "AA" * 4, "." * 43 + "A" * 21 + "AA" * 21, "A" * 172),
    ],
)
def test_what_is_no_sketch_is_refused(text: str) -> None:
    """If a text is not 64 parts and what sparse ones need, then it is refused."""
    with pytest.raises(ValueError, match="not 64 parts"):
        read_sketch(text)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_short_documents_keep_whole_minima(n: int) -> None:
    """If documents have few statements and differ in one, then hardly any are equal.

    Of 300 documents, 11 pairs would agree by the number of a part and 6 bits.
    """
    common = b"".join(map(statement, range(n - 1)))
    found = [
        fingerprint_statements(common + statement(1000 + k), GRAPH) for k in range(300)
    ]
    minima = [read_sketch(each.sketch) for each in found]
    most = max(len(set(each)) for each in minima)
    shown = [each for each in minima if len(set(each)) == most]  # it is a minimum
    assert len(shown) > 250
    assert len(set(shown)) >= len(shown) - 2


def test_whole_minima_are_compared_with_low_bits() -> None:
    """If one of two documents is long enough for low bits alone, these are compared."""
    sketches = [
        fingerprint_statements(b"".join(map(statement, range(n))), GRAPH).sketch
        for n in range(15, 30)
    ]
    lengths = [len(each) for each in sketches]
    n = next(n for n, each in enumerate(lengths) if each == 64)
    assert lengths[n - 1] == 64 + 2 * 20
    short, long = read_sketch(sketches[n - 1]), read_sketch(sketches[n])
    assert max(short) > max(long)
    assert resemblance(short, long) >= 0.9
    prints = [ContentPrint(url="a", minima=short), ContentPrint(url="b", minima=long)]
    assert list(find_clusters(prints)) == [("a", "b")]
    assert [sorted(some) for _, some in find_related(prints, {"a"})] == [["a", "b"]]
