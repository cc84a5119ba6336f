"""From the text of pages to clusters and their representatives."""

from __future__ import annotations

import random

from rdfcrawl.analysis.duplicates.clusters import (
    CanonicalCandidate,
    ContentPrint,
    choose_canonical,
    find_clusters,
)
from rdfcrawl.rdf.fingerprints import read_sketch
from tests.support.fingerprints import fingerprint_text

LISTED = "https://a.example/news?page=1&sort=up"


def content(url: str, text: str) -> ContentPrint:
    """Return the print of a page with a text."""
    found = fingerprint_text(text)
    return ContentPrint(
        url=url, text_hash=found.text_hash, sketch=read_sketch(found.sketch)
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
