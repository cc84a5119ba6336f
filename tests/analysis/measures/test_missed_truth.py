"""The classes of table 2 on sites that change, beside what is true of their pages.

All documents of a day are read, as if no sitemap listed any.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from rdfcrawl.analysis.measures.domain_clusters import (
    MissedClass,
    PageContent,
    classify_missed,
    with_clusters,
)
from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch
from rdfcrawl.dataweb.evolution.draws import DAY_SECS
from rdfcrawl.dataweb.evolution.parameters import VanishedAs
from rdfcrawl.rdf.fingerprints import read_sketch
from rdfcrawl.rdf.html.visible_text import (
    count_linked_words,
    is_error_page,
    shown_markup,
    visible_text,
)
from tests.support.evolving_sites import ask, site, truth_of
from tests.support.fingerprints import fingerprint_statements, fingerprint_text

if TYPE_CHECKING:
    from rdfcrawl.dataweb.evolution.truth import UrlTruth, WebTruth
    from rdfcrawl.dataweb.messages import NodeResponse

DAY = 12.0
SEEDS = range(1, 9)
ERROR, CONTENTS = MissedClass.ERROR, MissedClass.CONTENTS
SUBSET, CONTENT = MissedClass.SUBSET, MissedClass.CONTENT


def facts_of(
    url: str, response: NodeResponse, *, has_phrases: bool
) -> tuple[UriFacts, PageContent]:
    """Return the facts of a document that was read, and its content."""
    n_words = n_linked = n_statements = 0
    is_error = False
    if b"text/html" in response.head:
        lower = response.body.lower()
        text = visible_text(lower)
        found = fingerprint_text(text)
        n_statements = int(b"property=" in lower)
        n_words, n_linked = len(text.split()), count_linked_words(shown_markup(lower))
        is_error = has_phrases and is_error_page(lower, text)
    else:
        found = fingerprint_statements(response.body, url, has_graphs=False)
        n_statements = found.n_shingles
    fetch = UriFetch(
        started_ms=1,
        text_hash=found.text_hash,
        content_hash=found.text_hash,
        n_statements=n_statements,
    )
    facts = UriFacts(
        domain="d",
        url=url,
        fetches=(fetch,),
        n_words=n_words,
        n_linked_words=n_linked,
        is_error_page=is_error,
    )
    sketch = read_sketch(found.sketch)
    return facts, PageContent(sketch=sketch, n_shingles=found.n_shingles)


def true_class(url: UrlTruth, truth: WebTruth) -> MissedClass:
    """Return the class of a URL; a near duplicate says twice as much as its page."""
    at = DAY * DAY_SECS
    if url.revision(at) is None:
        return ERROR
    if url.role == "list":
        named = {
            target
            for target, links in truth.links.items()
            for link in links
            if link.source == url.url and link.span.holds(at)
        }
        return CONTENTS if len(named) >= 20 else CONTENT
    longer = [x for x in truth.urls.values() if x.is_near and x.cluster == url.url]
    return SUBSET if url.role == "page" and longer else CONTENT


@lru_cache
def judged(
    seed: int, *, has_phrases: bool = True
) -> list[tuple[MissedClass, UriFacts]]:
    """Return the true class of each URL of a site, and its facts.

    The site answers with 200 for pages that have vanished.
    """
    node = site(
        seed=seed,
        n_pages=60,
        vanishing=0.05,
        vanished_as=(VanishedAs.SOFT,),
        duplicates=0.4,
        near=1.0,
        added=1.0,
        has_canonical=False,
        dropped=0.0,
    )
    truth = truth_of(node, days=DAY)
    facts, contents = [], {}
    for url in truth.urls:
        response = ask(node, url.removeprefix(node.origin), DAY)
        assert response.status == 200
        found, contents[url] = facts_of(url, response, has_phrases=has_phrases)
        facts.append(found)
    return [
        (true_class(truth.urls[each.url], truth), each)
        for each in with_clusters(facts, contents)
    ]


def counts(*, has_phrases: bool = True) -> Counter[tuple[MissedClass, MissedClass]]:
    """Return the numbers of URLs by their true class and by that which is found."""
    return Counter(
        (true, classify_missed(facts))
        for seed in SEEDS
        for true, facts in judged(seed, has_phrases=has_phrases)
        if true is ERROR or facts.is_representative
    )


def precision_and_recall(
    found: Counter[tuple[MissedClass, MissedClass]], name: MissedClass
) -> tuple[float, float]:
    """Return both for a class."""
    n_found = sum(n for (_, other), n in found.items() if other is name)
    n_true = sum(n for (true, _), n in found.items() if true is name)
    assert n_true > 15
    return found[name, name] / n_found, found[name, name] / n_true


def test_error_pages_are_told_by_what_they_say() -> None:
    """If vanished pages are answered with 200, then all are found, and no others."""
    assert precision_and_recall(counts(), ERROR) == (1, 1)


def test_error_pages_are_told_by_their_number() -> None:
    """If the pages are unreadable, then all classes are found as well."""
    assert precision_and_recall(counts(has_phrases=False), ERROR) == (1, 1)


def test_lists_of_links_are_tables_of_contents() -> None:
    """If a page is a list of twenty links or more, then it is found, and no others."""
    assert precision_and_recall(counts(), CONTENTS) == (1, 1)


def test_parts_of_other_pages() -> None:
    """If a page is half of another one, then it is mostly found, and hardly others."""
    precision, recall = precision_and_recall(counts(), SUBSET)
    assert precision >= 0.95
    assert recall >= 0.85
