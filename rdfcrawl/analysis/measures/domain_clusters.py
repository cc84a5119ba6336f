"""Add the clusters of duplicates to the facts of a domain.

Clusters and their representatives are those of `analysis.duplicates.clusters`;
only URLs of one domain are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from rdfcrawl.analysis.duplicates.clusters import (
    CanonicalCandidate,
    ContentPrint,
    choose_canonical,
    find_clusters,
    find_containers,
    find_related,
)
from rdfcrawl.analysis.measures.coverage import has_statements, sample_missed
from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch, last_read
from rdfcrawl.rdf.fingerprints import SHINGLE_WORDS, Sketch, content_hash

LEAST_LINK_SHARE: Final = 0.5  # of words within links, in a table of contents
LEAST_CONTAINMENT: Final = 0.9
MAX_COPIES: Final = 4
"""Maximum number of copies in the facts of one page."""
LEAST_EQUAL: Final = 5
"""URLs of a host with the same few words; fewer may be a coincidence."""
_FEW_SHINGLES: Final = 50 - SHINGLE_WORDS  # pages of fewer than 50 words


class MissedClass(StrEnum):
    """A class of URLs that sitemaps miss (table 2)."""

    ERROR = "errors"
    REDIRECT = "redirects"
    PARAMETER = "duplicate content, extra CGI parameter"
    DUPLICATE = "duplicate content, unmatched URLs"
    CONTENTS = "table of contents"
    IMAGES = "image dominated page"
    SUBSET = "subset of another page"
    CONTENT = "missing content"


def classify_missed(page: UriFacts) -> MissedClass:
    """Return the first class of table 2 whose rule a page matches."""
    has_twin = any(differ_in_query(page.url, other) for other in page.copies)
    has_contents = page.n_linked_words > LEAST_LINK_SHARE * page.n_words
    rules = (
        (MissedClass.ERROR, page.has_failed or page.is_error_page),
        (MissedClass.REDIRECT, page.is_redirect),
        (MissedClass.PARAMETER, has_twin),
        (MissedClass.DUPLICATE, bool(page.copies)),
        (MissedClass.CONTENTS, has_contents),
        (MissedClass.IMAGES, page.n_images > 0),
        (MissedClass.SUBSET, page.containment >= LEAST_CONTAINMENT),
        (MissedClass.CONTENT, True),
    )
    return next(each for each, fits in rules if fits)


def differ_in_query(url: str, other: str) -> bool:
    """Return whether two URLs differ only in their queries.

    >>> differ_in_query("http://a/x?p=1&q=2", "http://a/x?p=1")
    True
    """
    return url != other and url.partition("?")[0] == other.partition("?")[0]


_NO_TEXT: Final = content_hash(b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContent:
    """Content of a page that its facts do not include.

    Attributes:
        sketch: of its shingles; None if there is none.
        n_shingles: number of its distinct shingles; 0: unknown.
        redirects_to: targets of its redirects, in normal form.
        canonical: URL of its `rel=canonical`, in normal form.
    """

    sketch: Sketch | None = None
    n_shingles: int = 0
    redirects_to: tuple[str, ...] = ()
    canonical: str = ""


_UNKNOWN = PageContent()


def with_clusters(
    facts: Sequence[UriFacts], contents: Mapping[str, PageContent] | None = None
) -> Iterator[UriFacts]:
    """Yield the facts of one domain, each with the representative of its cluster.

    Missed content that is no redirect, or a sample of it, gets `copies` in other
    clusters: its canonical URL, and pages that are slightly less similar than
    near-duplicates and would represent both. Without copies it gets a `containment`:
    the greatest share of it that a longer page contains.

    Error pages are those with `is_error_page`, and pages of fewer than 50 words,
    without statements and images, whose text `LEAST_EQUAL` URLs of a host share.

    Args:
        facts: of all URLs of the domain; they are held in memory.
        contents: by URL; without them, only pages of equal text are duplicates.
    """
    known = contents or {}
    of_url = {each.url: each for each in facts if each.is_crawled}
    prints = [_print(each, known, of_url) for each in of_url.values()]
    representatives: dict[str, tuple[str, str]] = {}
    for cluster in find_clusters(prints):
        chosen = _choose([of_url[url] for url in cluster], known)
        end = of_url[chosen].redirects_to
        original = end if end in cluster else chosen
        representatives |= dict.fromkeys(cluster, (chosen, original))
    texts = [_few_words(each, known) for each in facts]
    same = Counter(texts)
    clustered = [
        _clustered(
            each,
            *representatives.get(each.url, ("", "")),
            is_error_page=each.is_error_page
            or (text is not None and same[text] >= LEAST_EQUAL),
        )
        for each, text in zip(facts, texts, strict=True)
    ]
    copies = _Copies(clustered, prints, known)
    for each in clustered:
        found, share = copies.of(each), copies.containment(each)
        is_plain = not found and not share
        yield each if is_plain else replace(each, copies=found, containment=share)


def _clustered(
    facts: UriFacts, cluster: str, original: str, *, is_error_page: bool
) -> UriFacts:
    found = cluster, original, is_error_page
    if found == (facts.cluster, facts.original, facts.is_error_page):
        return facts  # of most pages, and a copy takes long
    cluster, original, is_error_page = found
    return replace(
        facts, cluster=cluster, original=original, is_error_page=is_error_page
    )


def _few_words(
    facts: UriFacts, known: Mapping[str, PageContent]
) -> tuple[str, str] | None:
    """Return host and text of a page that has only a few words; None for others."""
    read = last_read(facts.fetches)
    if read is None or has_statements(facts) or facts.n_images or facts.is_redirect:
        return None
    n_shingles = known.get(facts.url, _UNKNOWN).n_shingles
    is_short = 0 < n_shingles <= _FEW_SHINGLES
    return (urlsplit(facts.url).netloc, read.text_hash) if is_short else None


def _print(
    facts: UriFacts, known: Mapping[str, PageContent], crawled: Collection[str]
) -> ContentPrint:
    content = known.get(facts.url, _UNKNOWN)
    return ContentPrint(
        url=facts.url,
        text_hash=_text_hash(facts),
        sketch=content.sketch,
        redirects_to=tuple(x for x in content.redirects_to if x in crawled),
        n_shingles=content.n_shingles,
    )


class _Copies:
    """Find copies of missed content outside its clusters."""

    def __init__(
        self,
        facts: Sequence[UriFacts],
        prints: Sequence[ContentPrint],
        known: Mapping[str, PageContent],
    ) -> None:
        self._known = known
        self._read = {each.url: each for each in facts if _text_hash(each)}
        sample = sample_missed(facts)
        missed = {each.url: each for each in sample if not each.is_redirect}
        self._found = {url: set[str]() for url in missed}
        for url, page in missed.items():
            canonical = known.get(url, _UNKNOWN).canonical
            if self._is_elsewhere(page, canonical):
                self._found[url].add(canonical)
        for url, related in find_related(prints, missed.keys()):
            copied = (x for x in related if self._is_copied(missed[url], x))
            self._found[url].update(copied)
        self._shares: dict[str, float] = {}
        alone = {url for url, found in self._found.items() if not found}
        for url, longer, share in find_containers(prints, alone):
            if self._is_elsewhere(missed[url], longer):
                self._shares[url] = max(share, self._shares.get(url, 0.0))

    def of(self, page: UriFacts) -> tuple[str, ...]:
        """Return at most `MAX_COPIES`; those that differ only in their query first."""
        found = self._found.get(page.url, ())
        order = sorted(found, key=lambda x: (not differ_in_query(page.url, x), x))
        return tuple(order[:MAX_COPIES])

    def containment(self, page: UriFacts) -> float:
        """Return the greatest share of a page that a longer one contains."""
        return self._shares.get(page.url, 0.0)

    def _is_copied(self, page: UriFacts, url: str) -> bool:
        """Return whether another URL would represent the content of a page."""
        if not self._is_elsewhere(page, url):
            return False
        return _choose([page, self._read[url]], self._known) == url

    def _is_elsewhere(self, page: UriFacts, url: str) -> bool:
        """Return whether a URL was read, and is in another cluster than a page."""
        other = self._read.get(url)
        if other is None or other.is_redirect:
            return False
        return (other.cluster or url) != (page.cluster or page.url)


def _text_hash(facts: UriFacts) -> str:
    """Return the text hash of the last fetch; empty if it failed."""
    read = last_read(facts.fetches)
    return "" if read is None else text_hash_of(read)


def text_hash_of(fetch: UriFetch) -> str:
    """Return the hash by which the content of a fetch is compared.

    Pages without visible text, such as images or scripts, are compared by their bytes.
    """
    return fetch.content_hash if fetch.text_hash == _NO_TEXT else fetch.text_hash


def _choose(members: Sequence[UriFacts], known: Mapping[str, PageContent]) -> str:
    contents = [known.get(each.url, _UNKNOWN) for each in members]
    declared = {each.canonical for each in contents}
    targets = {url for each in contents for url in each.redirects_to}
    return choose_canonical(
        CanonicalCandidate(
            url=each.url,
            is_listed=each.is_listed,
            priority=max(
                (x.priority for x in each.listings if x.priority is not None),
                default=None,
            ),
            is_declared=each.url in declared,
            is_redirect_target=each.url in targets,
            pagerank=each.pagerank or 0.0,
        )
        for each in members
    )
