"""From the text of pages to clusters and their representatives."""

from __future__ import annotations

import random

import pytest

from rdfcrawl.analysis.duplicates.clusters import (
    CanonicalCandidate,
    ContentPrint,
    choose_canonical,
    find_clusters,
    resemblance,
)
from rdfcrawl.rdf.fingerprints import fingerprint_text, read_sketch

LISTED = "https://a.example/news?page=1&sort=up"


def content(url: str, text: str) -> ContentPrint:
    """Return the print of a page with a text."""
    found = fingerprint_text(text)
    return ContentPrint(
        url=url, text_hash=found.text_hash, minima=read_sketch(found.sketch)
    )


def words(n: int, seed: int = 0) -> list[str]:
    """Return words of a text without repetitions."""
    dice = random.Random(seed)
    return [f"w{dice.randrange(10**6)}" for _ in range(n)]


def test_pages_equal_but_for_a_counter_are_one_cluster() -> None:
    """If pages differ by a counter at the end, then the listed one represents them."""
    text = " ".join(words(150))
    prints = [
        content("https://a.example/news", f"{text} read 17 times"),
        content(LISTED, f"{text} read 18 times"),
        content("https://a.example/other", " ".join(words(150, seed=1))),
    ]
    (cluster,) = find_clusters(prints)
    assert cluster == ("https://a.example/news", LISTED)
    members = [CanonicalCandidate(url=x, is_listed=x == LISTED) for x in cluster]
    assert choose_canonical(members) == LISTED


@pytest.mark.parametrize("n_words", [190, 199, 262, 391, 519, 775, 1030, 5000])
def test_sketches_of_any_length_are_comparable(n_words: int) -> None:
    """If a few words are put into a long text, then the resemblance hardly falls.

    Whatever the length at which only a sample of the shingles is hashed.
    """
    found = []
    for seed in range(10):
        one = words(n_words, seed)
        other = [*one[: n_words // 2], "some", "more", *one[n_words // 2 :]]
        prints = (content("u", " ".join(text)) for text in (one, other))
        found.append(resemblance(*(each.minima for each in prints)))
    n_common, n_all = n_words - 14, n_words + 2  # shingles, of 8 words
    assert sum(found) / len(found) == pytest.approx(n_common / n_all, abs=0.05)
