"""Fingerprints equal those that a plain implementation makes, and compare documents."""

from __future__ import annotations

import base64
import hashlib
import random
import zlib
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.analysis.duplicates.clusters import (
    ContentPrint,
    find_clusters,
    find_related,
)
from rdfcrawl.rdf.fingerprints import (
    Fingerprint,
    content_hash,
    content_hash_of,
    read_sketch,
    words_of,
)
from tests.support.examples import examples
from tests.support.fingerprints import fingerprint_statements, fingerprint_text

if TYPE_CHECKING:
    from collections.abc import Callable

GRAPH = "http://example.org/d"
NUMBERS = st.lists(st.integers(0, 10**9), max_size=400, unique=True)


def digest(text: bytes) -> str:
    """Return 128 bits of SHA-256, taken in two pieces."""
    found = hashlib.sha256(text[:7])
    found.update(text[7:])
    return found.hexdigest()[:32]


def plain_sketch(sums: list[int]) -> str:
    """Return the sketch as `docs/reference/provenance.md` describes it."""
    hashes = sorted({each * 2654435761 % 2**32 for each in sums})
    if len(hashes) > 22:
        parts: dict[int, str] = {}
        for each in hashes:
            bits = f"{each % 4093:012b}"
            parts.setdefault(int(bits[6:], 2), digit(bits[:6]))
        return "".join(parts.get(n, ".") for n in range(64))
    n_bytes = next(n for n in (4, 3, 2) if n * len(hashes) <= 45)
    listed = b""
    for each in hashes:
        bits = f"{each:032b}"
        if n_bytes < 4:
            bits = f"{each % 4093:012b}{bits[:20]}"
        listed += int(bits, 2).to_bytes(4, "big")[:n_bytes]
    return "." * (4 - n_bytes) + base64.b64encode(listed).decode()


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
    """Return the resemblance of two documents by their sketches."""
    return read_sketch(one.sketch).resemblance(read_sketch(other.sketch))


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=5000))
def test_content_hash_is_of_all_bytes(body: bytes) -> None:
    """If a body is in memory or in a file, then the hash covers all bytes."""
    assert content_hash(body) == content_hash_of(BytesIO(body)) == digest(body)


@settings(max_examples=examples(200), deadline=None)
@given(NUMBERS, st.randoms())
def test_statements_are_a_set(numbers: list[int], dice: random.Random) -> None:
    """If lines come in another order or twice, then the fingerprint is the same."""
    lines = [statement(n) for n in numbers]
    found = fingerprint_statements(b"".join(lines), GRAPH)
    normal = {b'<> <urn:x:p> "%d" .' % n for n in numbers}
    assert found.text_hash == digest(b"".join(b"\n" + x for x in sorted(normal)))
    assert found.sketch == plain_sketch([zlib.crc32(line) for line in normal])
    shuffled = lines * 2
    dice.shuffle(shuffled)
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


def test_equal_pages_need_not_look_alike() -> None:
    """If two texts differ in case and white space alone, then they are equal."""
    assert fingerprint_text("Two  WORDS\n") == fingerprint_text(" two words")
    assert fingerprint_text("two wordS!") != fingerprint_text("two words")
    assert fingerprint_text(" ").sketch == ""


def test_words_are_those_of_the_text_in_lower_case() -> None:
    """If a text has letters or spaces of any script, then its words do not differ."""
    text = "".join(f"Σa{chr(n)}É {chr(n)}" for n in range(0x20, 0x3100))
    assert words_of(text) == [x.encode() for x in text.lower().split()]
    for n in range(0x20, 0x2100):  # as the only one
        one = f"a B{chr(n)}C"
        assert words_of(one) == [x.encode() for x in one.lower().split()]


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


@pytest.mark.parametrize(
    "text",
    [
        *("", "AAAA", "*" * 172, "A" * 63, "A" * 65, "A" * 63 + "*", "A" * 63 + "é"),
        *("." * 64, "A" * 20 + "====", "." + "AAAA" * 9, "." * 3 + "AAAA", "AAAAAAA="),
        *("..AAAA", "A" * 64 + "AA" * 4, "A" * 172, "..." + "A" * 60, "." * 80),
    ],
)
def test_what_is_no_sketch_is_refused(text: str) -> None:
    """If a text is not 64 parts and no list of hashes, then it is refused."""
    with pytest.raises(ValueError, match="not 64 parts"):
        read_sketch(text)


def text_of(shingles: list[int]) -> Fingerprint:
    """Return the fingerprint of a text with a shingle that ends with each number."""
    return fingerprint_text(" ".join(["and"] * 7 + [f"w{n}" for n in shingles]))


def runs_of(numbers: list[int]) -> set[object]:
    """Return the shingles of that text."""
    words = [-1] * 7 + numbers
    return {tuple(words[n : n + 8]) for n in range(len(numbers))}


def statements_of(numbers: list[int]) -> Fingerprint:
    """Return the fingerprint of a document with a statement for each number."""
    return fingerprint_statements(b"".join(map(statement, numbers)), GRAPH)


def pair(n: int, share: float, dice: random.Random) -> tuple[list[int], list[int]]:
    """Return two lists of numbers, one longer or changed at its end."""
    one = dice.sample(range(10**9), n) if dice.random() < 0.5 else [*range(n)]
    first = dice.randrange(10**9)
    if dice.random() < 0.5:
        return one, one + [first + k for k in range(round(n / share) - n)]
    n_new = max(round(n * (1 - share) / (1 + share)), 1)
    return one, one[:-n_new] + [first + k for k in range(n_new)]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("fingerprint", "shingles"),
    [(text_of, runs_of), (statements_of, set)],
    ids=["text", "statements"],
)
def test_resemblance_is_unbiased(
    fingerprint: Callable[[list[int]], Fingerprint],
    shingles: Callable[[list[int]], set[object]],
) -> None:
    """If documents share a part, the estimate is this part, within the stated error.

    It is exact if both are short. Otherwise its mean has no bias, and the square of its
    error is not more than stated, for documents of any length.
    """
    dice, squares = random.Random(11), []
    n_pairs = {4: 20, 9: 40, 20: 60, 22: 80, 24: 80, 50: 60, 128: 60, 400: 60}
    for n, n_of in (n_pairs | {1000: 30, 5000: 12, 20_000: 6}).items():
        errors = []
        for k in range(n_of):
            one, other = pair(n, (0.96, 0.9, 0.8, 0.5)[k % 4], dice)
            sets = shingles(one), shingles(other)
            exact = len(sets[0] & sets[1]) / len(sets[0] | sets[1])
            found = similarity(fingerprint(one), fingerprint(other))
            if max(map(len, sets)) <= 15:
                assert found == exact
                continue
            both = exact + (1 - exact) / 64
            errors.append((found - exact) / (8 / 63 * (both * (1 - both)) ** 0.5))
        squares += [each**2 for each in errors]
        assert abs(sum(errors)) <= 4 * len(errors) ** 0.5, n
    assert sum(squares) / len(squares) <= 1


def test_sketches_are_no_longer_than_64_characters() -> None:
    """If documents have any number of statements, sketches are short, and compared.

    Those of 22 statements list them, and those of 23 do not.
    """
    found = [statements_of(list(range(n))) for n in range(1, 40)]
    lengths = [len(each.sketch) for each in found]
    assert max(lengths[:22]) < 64
    assert set(lengths[22:]) == {64}
    assert similarity(found[20], found[21]) == 21 / 22
    sketches = [read_sketch(each.sketch) for each in found[21:23]]
    prints = [
        ContentPrint(url=url, sketch=each)
        for url, each in zip("ab", sketches, strict=True)
    ]
    assert list(find_clusters(prints)) == [("a", "b")]
    assert [sorted(some) for _, some in find_related(prints, {"a"})] == [["a", "b"]]


@pytest.mark.parametrize("n", [1, 2, 7, 11, 16])
def test_short_documents_of_one_template_are_no_duplicates(n: int) -> None:
    """If documents have a few statements and differ in one, then none is a duplicate.

    Their resemblance is below 0.9, and that is no estimate.
    """
    common = list(range(n - 1))
    found = [statements_of([*common, 1000 + k]) for k in range(120)]
    prints = [
        ContentPrint(url=f"{k}", sketch=read_sketch(each.sketch))
        for k, each in enumerate(found)
    ]
    assert list(find_clusters(prints)) == []
