"""Add to the facts of a domain which of its URLs are duplicates, and of what.

Clusters are those of `duplicates.clusters`, representatives those of
`duplicates.canonical`; only URLs of one domain are compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.duplicates.canonical import CanonicalCandidate, choose_canonical
from rdfcrawl.duplicates.clusters import ContentPrint, find_clusters, find_related
from rdfcrawl.duplicates.fingerprints import content_hash
from rdfcrawl.measures.census import sample_missed
from rdfcrawl.measures.missed import differ_in_query

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from rdfcrawl.measures.uri_facts import UriFacts

MAX_COPIES: Final = 4
"""Of one page, that its facts name."""

_NO_TEXT: Final = content_hash(b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContent:
    """What is known of the content of a page beside its facts.

    Attributes:
        minima: of its sketch, 64 numbers; empty if there is none.
        redirects_to: URLs that it redirected to, in normal form.
        canonical: URL that the page names by `rel=canonical`, in normal form.
    """

    minima: Sequence[int] = ()
    redirects_to: tuple[str, ...] = ()
    canonical: str = ""


_UNKNOWN = PageContent()


def with_clusters(
    facts: Sequence[UriFacts], contents: Mapping[str, PageContent] | None = None
) -> Iterator[UriFacts]:
    """Yield the facts of one domain, each with the URL that represents its cluster.

    Missed content that is no redirect, or a sample of it, has `copies`, all of other
    clusters: what its page names as canonical, and what resembles it less than
    near-duplicates do, if that would represent both.

    Args:
        facts: of all URLs of the domain; they are held in memory.
        contents: by URL; without them, only pages of equal text are duplicates.
    """
    known = contents or {}
    of_url = {each.url: each for each in facts if each.is_crawled}
    prints = [_print(each, known, of_url) for each in of_url.values()]
    representatives: dict[str, str] = {}
    for cluster in find_clusters(prints):
        chosen = _choose([of_url[url] for url in cluster], known)
        representatives |= dict.fromkeys(cluster, chosen)
    clustered = [
        replace(each, cluster=representatives.get(each.url, "")) for each in facts
    ]
    copies = _Copies(clustered, prints, known)
    for each in clustered:
        found = copies.of(each)
        yield replace(each, copies=found) if found else each


def _print(
    facts: UriFacts, known: Mapping[str, PageContent], crawled: Collection[str]
) -> ContentPrint:
    content = known.get(facts.url, _UNKNOWN)
    return ContentPrint(
        url=facts.url,
        text_hash=_text_hash(facts),
        minima=content.minima,
        redirects_to=tuple(x for x in content.redirects_to if x in crawled),
    )


class _Copies:
    """Finds copies of missed content beyond its clusters."""

    def __init__(
        self,
        facts: Sequence[UriFacts],
        prints: Iterable[ContentPrint],
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

    def of(self, page: UriFacts) -> tuple[str, ...]:
        """Return at most `MAX_COPIES`, first those that differ in their query."""
        found = self._found.get(page.url, ())
        order = sorted(found, key=lambda x: (not differ_in_query(page.url, x), x))
        return tuple(order[:MAX_COPIES])

    def _is_copied(self, page: UriFacts, url: str) -> bool:
        """Return whether the content of a page is rather that of another URL."""
        if not self._is_elsewhere(page, url):
            return False
        return _choose([page, self._read[url]], self._known) == url

    def _is_elsewhere(self, page: UriFacts, url: str) -> bool:
        """Return whether a URL was read, and is in no cluster with a page."""
        other = self._read.get(url)
        if other is None or other.is_redirect:
            return False
        return (other.cluster or url) != (page.cluster or page.url)


def _text_hash(facts: UriFacts) -> str:
    """Return the hash of what was read last, before any 304; empty after a failure.

    Pages without visible text, as of images or of scripts, are told by their bytes.
    """
    for fetch in reversed(facts.fetches):
        if fetch.status != "UNCHANGED":
            has_text = fetch.text_hash != _NO_TEXT
            shown = fetch.text_hash if has_text else fetch.content_hash
            return shown if fetch.status in ("SUCCESSFUL", "PARTIAL") else ""
    return ""


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
