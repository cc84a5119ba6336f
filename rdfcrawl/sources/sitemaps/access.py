"""Choose how to access a dataset: the least intrusive working method.

Pure policy: the available methods, their order, and the credible statements. The caller
sends the requests, and calls again after a failure.

Source: the first revision of the extension (see `semantic`), 2.1 and 2.2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import log as logarithm
from typing import TypeVar

from rdfcrawl.core.errors import Decision, FaultLog, Reason
from rdfcrawl.sources.access import DEFAULT_GRAPH, AccessMethod, DatasetAccess
from rdfcrawl.sources.sitemaps.entry import may_list
from rdfcrawl.sources.sitemaps.semantic import (
    DataLocation,
    SitemapDataset,
    UriPrefix,
)
from rdfcrawl.uri import BadUri, host_of, requestable

_Place = TypeVar("_Place", "DataLocation", "UriPrefix")


@dataclass(frozen=True, slots=True)
class CrossHostStatement:
    """A statement of a sitemap about a URL on another host.

    `kind` is `dump`, `fragment`, `endpoint` or `prefix`.
    """

    kind: str
    url: str


def ways_to_dataset(dataset: SitemapDataset, *, seed: str) -> tuple[DatasetAccess, ...]:
    """Return the ways to a complete dataset, in the order to try them.

    They are a dump; all fragments; an endpoint; the crawl of the URIs below its
    prefixes, which starts with the prefixes and samples. The dataset must not have
    unconfirmed claims (see `believed`). The order of mirrors depends on `seed`, which
    differs between crawls and datasets.
    """
    ways = []
    if dataset.dumps:
        dumps = order_mirrors(dataset.dumps, seed)
        parts = (dumps,) if dataset.are_mirrors else _each(dataset.dumps)
        ways.append(DatasetAccess(AccessMethod.DUMP, parts))
    if dataset.fragments:
        ways.append(DatasetAccess(AccessMethod.FRAGMENTS, _each(dataset.fragments)))
    if dataset.endpoints:
        mirrors = order_mirrors(dataset.endpoints, seed)
        # The second revision, 3: the default graph if no graph is named.
        graphs = dataset.graphs or (DEFAULT_GRAPH,)
        ways.append(DatasetAccess(AccessMethod.SPARQL, (mirrors,), graphs))
    if dataset.prefixes:
        begins = [prefix.url for prefix in dataset.prefixes]
        begins += [uri for uri in dataset.samples if is_covered(uri, dataset.prefixes)]
        urls = dict.fromkeys(url for uri in begins if (url := _document(uri)))
        ways.append(DatasetAccess(AccessMethod.PREFIX, tuple((url,) for url in urls)))
    return tuple(ways)


def choose_way(
    ways: Sequence[DatasetAccess], taken: int | None, usable: Collection[str]
) -> int:
    """Return the index of the best way to a dataset, or `len(ways)`.

    The current way (`taken`; None at first) is kept as long as each of its parts has a
    `usable` place (`place_of`). The crawl of its URIs comes last, because its
    completeness is unknown.

    Source: the first revision, 2.2.
    """

    def is_usable(way: DatasetAccess) -> bool:
        is_crawl = way.way is AccessMethod.PREFIX
        return is_crawl or all(
            any(way.place_of(url) in usable for url in mirrors) for mirrors in way.parts
        )

    if taken is not None and taken < len(ways) and is_usable(ways[taken]):
        return taken
    order = sorted(range(len(ways)), key=lambda n: ways[n].way is AccessMethod.PREFIX)
    return next((n for n in order if is_usable(ways[n])), len(ways))


def order_mirrors(mirrors: Iterable[DataLocation], seed: str) -> tuple[str, ...]:
    """Return the URLs of mirrors in the order to try them, determined by `seed`.

    The chance of each to come first is its priority divided by the sum of all, and so
    on for the rest; mirrors with priority 0 come last.
    """
    return tuple(mirror.url for mirror in sorted(mirrors, key=lambda x: _draw(x, seed)))


def _draw(mirror: DataLocation, seed: str) -> tuple[bool, float]:
    """Draw a waiting time: exponential with the priority as its rate."""
    digest = blake2b(f"{seed}\n{mirror.url}".encode(), digest_size=8).digest()
    chance = (int.from_bytes(digest, "big") + 1) / 2**64
    return mirror.priority == 0, -logarithm(chance) / max(mirror.priority, 1)


def is_covered(uri: str, prefixes: Iterable[UriPrefix]) -> bool:
    """Return whether a URI is below one of the prefixes.

    Such URIs are not crawled after their dataset was fetched completely.
    """
    url = _document(uri)
    return bool(url) and any(prefix.covers(url) for prefix in prefixes)


def claims_about_others(
    dataset: SitemapDataset, sitemap_url: str, robots_hosts: Collection[str]
) -> tuple[CrossHostStatement, ...]:
    """Return the claims of a dataset about hosts other than its sitemap's.

    Hosts with the sitemap in their robots.txt (`robots_hosts`) count as its own.
    `sitemap_url` is the URL after redirects.
    """
    return tuple(
        claim
        for claim in _claims(dataset)
        if not may_list(claim.url, sitemap_url, robots_hosts)
    )


def is_confirmed(
    claim: CrossHostStatement,
    dataset: SitemapDataset,
    sitemap_url: str,
    own: Iterable[SitemapDataset],
) -> bool:
    """Return whether the sitemaps of a host confirm a claim of another's sitemap.

    A dataset of `own` confirms the claim if it makes the same claim and is the same
    dataset: their URIs are equal; or, if one of them has none, both share a place or a
    prefix on the host of `sitemap_url`, the sitemap with the claim.
    """
    host = host_of(sitemap_url)
    at_home = {x for x in _claims(dataset) if host_of(x.url) == host}
    for other in own:
        claims = set(_claims(other))
        if claim not in claims:
            continue
        if dataset.uri and other.uri:
            if dataset.uri == other.uri:
                return True
        elif not at_home.isdisjoint(claims):
            return True
    return False


def believed(
    dataset: SitemapDataset, unconfirmed: Collection[CrossHostStatement], log: FaultLog
) -> SitemapDataset:
    """Return a dataset without unconfirmed claims; log `UNCONFIRMED_CLAIM`.

    If one of several parts is unconfirmed, the others are not a way to the dataset
    (`parts_left`): a part must not pass for the complete dataset.
    """
    for claim in unconfirmed:
        detail = f"{claim.kind} {claim.url}: not confirmed by its own site"
        log.note(Reason.UNCONFIRMED_CLAIM, detail)
        if claim.kind != "prefix":  # a prefix is not requested itself
            log.refuse(Decision.CROSS_SITE, claim.url)
    refused = set(unconfirmed)

    def kept(kind: str, places: tuple[_Place, ...]) -> tuple[_Place, ...]:
        return tuple(
            x for x in places if CrossHostStatement(kind, x.url) not in refused
        )

    dumps, fragments = kept("dump", dataset.dumps), kept("fragment", dataset.fragments)
    parts_left: tuple[DataLocation, ...] = ()
    if not dataset.are_mirrors and len(dumps) < len(dataset.dumps):
        dumps, parts_left = (), dumps
    if len(fragments) < len(dataset.fragments):
        fragments, parts_left = (), parts_left + fragments
    return replace(
        dataset,
        dumps=dumps,
        fragments=fragments,
        parts_left=parts_left,
        endpoints=kept("endpoint", dataset.endpoints),
        prefixes=kept("prefix", dataset.prefixes),
    )


def _claims(dataset: SitemapDataset) -> tuple[CrossHostStatement, ...]:
    places: dict[str, tuple[DataLocation | UriPrefix, ...]] = {
        "dump": dataset.dumps,
        "fragment": dataset.fragments,
        "endpoint": dataset.endpoints,
        "prefix": dataset.prefixes,
    }
    return tuple(CrossHostStatement(x, y.url) for x in places for y in places[x])


def _each(places: Iterable[DataLocation]) -> tuple[tuple[str, ...], ...]:
    return tuple((place.url,) for place in places)


def _document(uri: str) -> str:
    try:
        return requestable(uri)
    except BadUri:
        return ""
