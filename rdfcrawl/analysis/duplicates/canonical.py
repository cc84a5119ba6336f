"""Canonical URLs: the representatives of clusters of duplicates (section 6.2).

The paper suggests the shortest URL, that of the highest PageRank, and "the URL listed
in a Sitemap file", which gives control to webmasters; the order of the rules is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNSTATED_PRIORITY: Final = 0.5  # sitemaps.org protocol 0.9, "priority"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalCandidate:
    """One member of a cluster.

    Attributes:
        is_listed: a sitemap lists it.
        priority: the greatest stated in sitemaps; None if none is stated.
        is_declared: the page of a member names it by `rel=canonical`.
        is_redirect_target: a member redirects to it.
        pagerank: 0 if it is no node of the graph.
    """

    url: str
    is_listed: bool = False
    priority: float | None = None
    is_declared: bool = False
    is_redirect_target: bool = False
    pagerank: float = 0.0


def choose_canonical(members: Iterable[CanonicalCandidate]) -> str:
    """Return the URL of a cluster's representative.

    The first rule that distinguishes members decides: listed in a sitemap, and with
    the greater priority; named by `rel=canonical`; target of a redirect; greater
    PageRank; shorter; first in byte order.

    Raises:
        ValueError: there are no members.
    """
    return min(members, key=_rank).url


def _rank(
    member: CanonicalCandidate,
) -> tuple[bool, float, bool, bool, float, int, bytes]:
    stated = _UNSTATED_PRIORITY if member.priority is None else member.priority
    return (
        not member.is_listed,
        -stated if member.is_listed else 0.0,
        not member.is_declared,
        not member.is_redirect_target,
        -member.pagerank,
        len(member.url),
        member.url.encode(),
    )
