"""How a compliant client gets at a dataset: the least intrusive way that works.

Pure policy: it says which ways there are and in which order they are tried, and who
is believed. Whoever asks servers tells it what has failed by going on to the next.

Source: the first revision of the extension (see `semantic`), 2.1 and 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from math import log as logarithm
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import Reason
from rdfcrawl.sitemaps.addresses import may_list
from rdfcrawl.uri import BadUri, host_of, requestable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from rdfcrawl.faultlog import FaultLog
    from rdfcrawl.sitemaps.semantic import Dataset, Location, Prefix


DEFAULT_GRAPH: Final = "default"  # no IRI, so no graph is called so


class AccessMethod(StrEnum):
    """A way to the data of a dataset."""

    DUMP = "dump"
    FRAGMENTS = "fragments"
    SPARQL = "sparql"
    PREFIX = "prefix"


@dataclass(frozen=True, slots=True)
class DatasetAccess:
    """One way to a dataset.

    Attributes:
        way: what it is.
        parts: all of them are needed; of each, the first mirror that answers. The
            mirrors of SPARQL hold the same, those of `PREFIX` and `URI` are URLs to
            begin with.
        graphs: of `SPARQL`, those that hold the dataset: names, `DEFAULT_GRAPH`, `*`
            for all. If there are none, nobody has said which.
    """

    way: AccessMethod
    parts: tuple[tuple[str, ...], ...]
    graphs: tuple[str, ...] = ()

    def place_of(self, url: str) -> str:
        """Return what stands for one of its URLs among the places of data."""
        return place_of(url, self.graphs)

    @property
    def urls(self) -> tuple[str, ...]:
        """All places of it, mirrors among them."""
        return tuple(url for mirrors in self.parts for url in mirrors)


def place_of(url: str, graphs: Collection[str] = ()) -> str:
    """Return what stands for a file, or for graphs of an endpoint."""
    return " ".join((url, *graphs))


@dataclass(frozen=True, slots=True)
class Claim:
    """What a sitemap says about another host.

    Attributes:
        kind: `dump`, `fragment`, `endpoint` or `prefix`.
        url: that it is about.
    """

    kind: str
    url: str


def ways_to_dataset(dataset: Dataset, *, seed: str) -> tuple[DatasetAccess, ...]:
    """Return the ways to the whole of a dataset, the one to try first at first.

    That is a dump; all fragments; an endpoint; the crawl of the URIs below its
    prefixes, which begins with the prefixes and samples themselves.

    Args:
        dataset: what is not to be believed is taken out (`believed`).
        seed: what the choice among mirrors depends on; another one for each crawl
            and dataset, equal ones give equal orders.
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
        # The second revision, 3: without a graph name it is the default graph.
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
    """Return which way to a dataset to take, as an index; `len(ways)` if there is none.

    One that is taken stays, as long as each of its parts has a place to be had from.
    The crawl of its URIs comes last: nobody can tell whether it gave everything.

    Args:
        ways: the better ones first; those that were learned later at the end.
        taken: the one that is taken; None before any is.
        usable: places of data (`place_of`) that have not failed.

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


def order_mirrors(mirrors: Iterable[Location], seed: str) -> tuple[str, ...]:
    """Return the URLs of mirrors in the order they are tried.

    Each comes first with a chance of its priority divided by the sum of all, and so
    on among the others; those of priority 0 come last.

    Args:
        mirrors: of the same data.
        seed: equal seeds give equal orders.
    """
    return tuple(mirror.url for mirror in sorted(mirrors, key=lambda x: _draw(x, seed)))


def _draw(mirror: Location, seed: str) -> tuple[bool, float]:
    """Draw a waiting time: exponential with the priority as its rate."""
    digest = blake2b(f"{seed}\n{mirror.url}".encode(), digest_size=8).digest()
    chance = (int.from_bytes(digest, "big") + 1) / 2**64
    return mirror.priority == 0, -logarithm(chance) / max(mirror.priority, 1)


def is_covered(uri: str, prefixes: Iterable[Prefix]) -> bool:
    """Tell whether a URI is below one of the prefixes.

    Once a dataset is had as a whole in another way, these are not crawled.
    """
    url = _document(uri)
    return bool(url) and any(prefix.covers(url) for prefix in prefixes)


def claims_about_others(
    dataset: Dataset, sitemap_url: str, robots_hosts: Collection[str]
) -> tuple[Claim, ...]:
    """Return what a dataset says about hosts that its sitemap does not speak for.

    Args:
        dataset: of the sitemap.
        sitemap_url: after redirects.
        robots_hosts: hosts whose robots.txt names the sitemap: it is their own.
    """
    return tuple(
        claim
        for claim in _claims(dataset)
        if not may_list(claim.url, sitemap_url, robots_hosts)
    )


def is_confirmed(
    claim: Claim, dataset: Dataset, sitemap_url: str, own: Iterable[Dataset]
) -> bool:
    """Tell whether a host says of itself what another one says of it.

    It does if one of its datasets makes the same claim and is the same one: their
    URIs are equal; or, where one of them has none, it shares a place or a prefix on
    the host of the sitemap with the other.

    Args:
        claim: of `dataset` about the host.
        dataset: of the sitemap of another host.
        sitemap_url: where that is.
        own: datasets of the host's own sitemaps.
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
    dataset: Dataset, unconfirmed: Collection[Claim], log: FaultLog
) -> Dataset:
    """Return a dataset without the claims that nobody confirms.

    A dataset of several parts of which one is not believed is not had by them: they
    are no way to it (`parts_left`), rather than that a part is taken for the whole.

    Args:
        dataset: as its sitemap declares it.
        unconfirmed: of `claims_about_others`, those that are not confirmed.
        log: takes `UNCONFIRMED_CLAIM` for each.
    """
    for claim in unconfirmed:
        detail = f"{claim.kind} {claim.url}: its own site does not say so"
        log.note(Reason.UNCONFIRMED_CLAIM, detail)
    refused = set(unconfirmed)

    def kept(kind: str, places: tuple[Location, ...]) -> tuple[Location, ...]:
        return tuple(x for x in places if Claim(kind, x.url) not in refused)

    dumps, fragments = kept("dump", dataset.dumps), kept("fragment", dataset.fragments)
    parts_left: tuple[Location, ...] = ()
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
        prefixes=tuple(
            x for x in dataset.prefixes if Claim("prefix", x.url) not in refused
        ),
    )


def _claims(dataset: Dataset) -> tuple[Claim, ...]:
    return (
        *(Claim("dump", place.url) for place in dataset.dumps),
        *(Claim("fragment", place.url) for place in dataset.fragments),
        *(Claim("endpoint", place.url) for place in dataset.endpoints),
        *(Claim("prefix", prefix.url) for prefix in dataset.prefixes),
    )


def _each(places: Iterable[Location]) -> tuple[tuple[str, ...], ...]:
    return tuple((place.url,) for place in places)


def _document(uri: str) -> str:
    try:
        return requestable(uri)
    except BadUri:
        return ""
