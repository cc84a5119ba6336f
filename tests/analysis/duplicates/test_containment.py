"""Parts of documents are found by sketches and sizes."""

from __future__ import annotations

import random

import pytest

from rdfcrawl.analysis.duplicates.clusters import (
    MAX_TIMES,
    ContentPrint,
    containment,
    find_containers,
)
from rdfcrawl.rdf.fingerprints import read_sketch
from tests.support.fingerprints import fingerprint_text


def print_of(url: str, words: list[str]) -> ContentPrint:
    """Return the print of a text."""
    found = fingerprint_text(" ".join(words))
    sketch = read_sketch(found.sketch)
    return ContentPrint(
        url=url, text_hash=url, sketch=sketch, n_shingles=found.n_shingles
    )


def pairs(n: int, times: float, part: float) -> list[ContentPrint]:
    """Return prints of 40 texts, and of longer ones with a part of each."""
    rng, found = random.Random(n), []
    for number in range(40):
        words = [f"w{rng.random()}" for _ in range(round(n * (times + 1)) + 14)]
        short, others = words[: n + 7], words[n + 7 :]
        kept = round(n * part)
        longer = short[: kept + 7] + others[: round(n * times) - kept]
        found += [print_of(f"short{number}", short), print_of(f"long{number}", longer)]
    return found


def n_found(prints: list[ContentPrint], least: float = 0.9) -> int:
    """Return how many of the short texts are found in the longer one of theirs."""
    wanted = {each.url for each in prints if each.url.startswith("short")}
    found = {
        url: share
        for url, longer, share in find_containers(prints, wanted)
        if longer == url.replace("short", "long") and share >= least
    }
    return len(found)


def test_containment_of_known_sets() -> None:
    """If sets are counted by hand, then the containment is that of the sets."""
    assert containment(1 / 2, 20, 40) == 1  # 20 of 20, and of 40
    assert containment(0.2, 20, 40) == 0.5  # 10 of 20; 50 in all
    assert containment(0, 20, 40) == 0
    assert containment(64 / 576, 128, 512) == 0.5  # 64 of 128; 576 in all


@pytest.mark.parametrize("n", [30, 100, 400])
def test_parts_are_found(n: int) -> None:
    """If texts are parts of texts twice as long, most are found; if halves are, none.

    With a sketch of 64 parts, 0.9 is 0.9 with a standard error of some 0.1.
    """
    assert n_found(pairs(n, 2, 1)) >= 20
    assert n_found(pairs(n, 2, 0.5)) == 0
    assert n_found(pairs(n, 2, 0), 0.2) == 0


def test_what_is_not_compared() -> None:
    """If a text is much longer, as long, a copy, or of unknown size, it is no match."""
    assert n_found(pairs(30, MAX_TIMES + 1, 1), 0) == 0
    assert n_found(pairs(30, 1, 0.5), 0) == 0
    assert n_found(pairs(100, 1.1, 1), 0) == 0
    one, other = pairs(30, 2, 1)[:2]
    assert n_found([one, other], 0) == 1
    unknown = ContentPrint(url=other.url, sketch=other.sketch)
    assert n_found([one, unknown], 0) == 0
    assert list(find_containers([one, other], set())) == []
