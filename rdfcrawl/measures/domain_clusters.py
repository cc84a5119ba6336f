"""Add to the facts of a domain which of its URLs are duplicates, and of what.

Clusters are those of `duplicates.clusters`, representatives those of
`duplicates.canonical`; only URLs of one domain are compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rdfcrawl.duplicates.canonical import CanonicalCandidate, choose_canonical
from rdfcrawl.duplicates.clusters import ContentPrint, find_clusters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rdfcrawl.measures.uri_facts import UriFacts


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

    Args:
        facts: of all URLs of the domain; they are held in memory.
        contents: by URL; without them, only pages of equal text are duplicates.
    """
    known = contents or {}
    of_url = {each.url: each for each in facts if each.is_crawled}
    prints = (
        ContentPrint(
            url=url,
            text_hash=_text_hash(each),
            minima=known.get(url, _UNKNOWN).minima,
            redirects_to=tuple(
                x for x in known.get(url, _UNKNOWN).redirects_to if x in of_url
            ),
        )
        for url, each in of_url.items()
    )
    representatives: dict[str, str] = {}
    for cluster in find_clusters(prints):
        chosen = _choose([of_url[url] for url in cluster], known)
        representatives |= dict.fromkeys(cluster, chosen)
    for each in facts:
        yield replace(each, cluster=representatives.get(each.url, ""))


def _text_hash(facts: UriFacts) -> str:
    """Return the hash of what was read last, before any 304; empty after a failure."""
    for fetch in reversed(facts.fetches):
        if fetch.status != "UNCHANGED":
            return fetch.text_hash if fetch.status in ("SUCCESSFUL", "PARTIAL") else ""
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
