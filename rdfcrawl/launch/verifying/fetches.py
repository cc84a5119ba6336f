"""The fetches of a site's documents, from the provenance of a crawl."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Self

from rdfcrawl.analysis.verifications import SourceKind, SourceName
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import Kind
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.stores.log.crawl_log import iter_activities
from rdfcrawl.stores.provenance.records import Activity, written_url
from rdfcrawl.uri import host_of
from rdfcrawl.uri.hosts import origin_of

_PAYLOAD: Final = re.compile(r"payload=([a-z]+)\(")
_HARVESTER: Final = re.compile(r"payload=custom\(harvester=([^,)]+)")
_DATASET: Final = re.compile(r"(?:dump|sample|described)\(dataset=(.*), (?:way|uri)=")
_PLACE_OF_DUMP: Final = re.compile(r"dump\(dataset=.*, way=[0-9]+, part=[0-9]+")
_COLLECTION: Final = re.compile(r"page\(run=[0-9]+, number=([0-9]+), root=(.*)\)")
# Steps that concern the host itself, wherever a link to it was found.
_OF_HOST: Final = re.compile(
    r"payload=(?:robots|consent)\(|payload=search\(step=(?:site|robots)|is_confirming"
)
_IS_RESOURCE: Final = re.compile(r"source\(.*payload=sync\(do=(?:get|patch)").match
# An endpoint with the graphs of a dataset, whose description leads to it.
_IS_SCOPED: Final = re.compile(r"source\((?!.*is_named=True).*graphs=\[").match
_KINDS: Final = {
    "robots": SourceKind.SITEMAP,
    "sitemap": SourceKind.SITEMAP,
    "consent": SourceKind.SITEMAP,
    "ckan": SourceKind.PORTAL,
    "sparql": SourceKind.ENDPOINT,
    "search": SourceKind.RESOURCESYNC,
    "sync": SourceKind.RESOURCESYNC,
    "custom": SourceKind.REPOSITORY,
}
_ROOT_KINDS: Final = {
    SourceKind.SITEMAP: Kind.SITEMAP,
    SourceKind.PORTAL: Kind.CKAN,
    SourceKind.ENDPOINT: Kind.SPARQL,
    SourceKind.RESOURCESYNC: Kind.RESOURCESYNC,
}


class SourceRoot(NamedTuple):
    """The first request of a source.

    Attributes:
        kind: of the record, or the name of a harvester.
        url: of the source.
        is_named: the operator has named the source.
    """

    kind: Kind | str
    url: str
    is_named: bool


@dataclass(frozen=True, slots=True)
class SiteFetch:
    """One activity of a crawl.

    Attributes:
        activity: its record.
        crawled: the URI of the record.
        hops: URLs that were requested one after another, if there were redirects.
    """

    activity: Activity
    crawled: str
    hops: tuple[str, ...] = ()

    @classmethod
    def of(cls, activity: Activity) -> Self:
        """Return the fetch of an activity."""
        hops = activity.requested
        return cls(
            activity, activity.uri, tuple(map(written_url, hops)) if hops else ()
        )

    @property
    def url(self) -> str:
        """The first URI that was requested; redirects may lead to other hosts."""
        return self.hops[0] if self.crawled in self.hops else self.crawled

    @property
    def n_requests(self) -> int:
        """Number of requests with a response."""
        if not self.http_status:
            return 0
        if self.crawled not in self.hops:
            return 1
        return len(self.hops) - self.hops.index(self.crawled)

    @property
    def graph(self) -> str:
        """The document that it generated; empty if there is none."""
        activity = self.activity
        return graph_iri(activity.document_url) if activity.has_document else ""

    @property
    def parent(self) -> str:
        """The document that named the URI."""
        return written_url(self.activity.parent) if self.activity.parent else ""

    @property
    def task(self) -> str:
        """The text of the task."""
        return self.activity.task

    @property
    def status(self) -> str:
        """The result; see `docs/reference/provenance.md`."""
        return self.activity.status

    @property
    def http_status(self) -> int:
        """The status of the response; 0 if there was none."""
        return self.activity.http_status

    @property
    def n_statements(self) -> int:
        """Number of statements that were stored."""
        return self.activity.n_statements

    @property
    def started_ms(self) -> int:
        """When it began, Unix time."""
        return self.activity.started_ms

    @property
    def reasons(self) -> list[str]:
        """Reasons of its faults."""
        return [each.reason for each in self.activity.faults]

    @property
    def validators(self) -> tuple[str, str]:
        """`ETag` and `Last-Modified` of the response."""
        return self.activity.etag, self.activity.last_modified

    @property
    def location(self) -> str:
        """Target of a redirect that was not followed; empty if there is none."""
        target = self.activity.location
        return written_url(target) if target else ""

    @property
    def is_listed(self) -> bool:
        """Whether a sitemap lists it."""
        return self.activity.rank >= 0

    @property
    def is_of_source(self) -> bool:
        """Whether it is a step of a source, and not the fetch of a page or a dump."""
        return self.task.startswith("source(")

    @property
    def is_page(self) -> bool:
        """Whether it is the fetch of one document."""
        return not self.is_of_source or _IS_RESOURCE(self.task) is not None

    @property
    def is_read(self) -> bool:
        """Whether a response was read to its end, or is the same as before."""
        return self.status in ("SUCCESSFUL", "UNCHANGED") and self.http_status < 400

    @property
    def is_unsampled(self) -> bool:
        """Whether the sample of a verification has left it out."""
        return Reason.NOT_WANTED in self.reasons and not self.http_status

    @property
    def is_unread_link(self) -> bool:
        """Whether it is a page that no task names, and that the sample has left out."""
        return (
            self.is_page and self.is_unsampled and bool(self.parent) and not self.task
        )

    @property
    def collection(self) -> tuple[str, int] | None:
        """URL of the first page of its collection, and its number; None: no page."""
        found = _COLLECTION.match(self.task)
        return (found[2], int(found[1])) if found else None

    @property
    def place_of_dump(self) -> str:
        """Its dataset, and its index there, which mirrors share; empty: no dump."""
        found = _PLACE_OF_DUMP.match(self.task)
        return found[0] if found else ""

    @property
    def payload(self) -> str:
        """The tag of the step of a source; empty for its first one."""
        found = _PAYLOAD.search(self.task)
        return found[1] if found else ""


class SiteScope:
    """What belongs to a site: its hosts, and its sources on other hosts.

    Its documents lead to these: sitemaps that its robots.txt names, dumps, endpoints
    and files that it describes, the resources of its lists.

    Args:
        host: of the site; it is the same with and without `www.`.

    Attributes:
        hosts: of the site.
        led: URLs on other hosts, as far as known.
    """

    def __init__(self, host: str) -> None:
        bare = host.removeprefix("www.")
        self.hosts = frozenset({bare, f"www.{bare}"})
        self.led: set[str] = set()

    def owns(self, url: str) -> bool:
        """Return whether a URL belongs to the site."""
        return host_of(url) in self.hosts or url in self.led

    def concerns(self, fetch: SiteFetch) -> bool:
        """Return whether a fetch is of the site, or of a URL that it leads to."""
        if not any(map(self.owns, (fetch.crawled, fetch.parent, fetch.url))):
            return False
        if self._is_led(fetch):
            self.led.add(fetch.crawled)
        return True

    def _is_led(self, fetch: SiteFetch) -> bool:
        """Return whether a document of the site leads to a source on another host."""
        if host_of(fetch.crawled) in self.hosts or not self.owns(fetch.parent):
            return False
        if fetch.is_of_source:
            return not _OF_HOST.search(fetch.task)
        return bool(_DATASET.match(fetch.task)) or fetch.collection is not None


def gather_fetches(root: Path, scopes: Sequence[SiteScope]) -> list[list[SiteFetch]]:
    """Return the fetches of each site, in order of time; widen the scopes.

    Args:
        root: folder of the crawl.
        scopes: of the sites.
    """
    while True:
        n_led = [len(each.led) for each in scopes]
        found: list[list[SiteFetch]] = [[] for _ in scopes]
        for fetch in map(SiteFetch.of, iter_activities(root / "provenance")):
            for scope, some in zip(scopes, found, strict=True):
                if scope.concerns(fetch):
                    some.append(fetch)
        if n_led == [len(each.led) for each in scopes]:
            return [sorted(some, key=lambda each: each.started_ms) for some in found]


class SiteFetches:
    """All fetches of the documents of one site, and their sources.

    Args:
        scope: of the site.
        fetches: in order of time.

    Attributes:
        scope: of the site.
        fetches: in order of time.
        collections: URLs of the first pages of collections.
    """

    def __init__(self, scope: SiteScope, fetches: Sequence[SiteFetch]) -> None:
        self.scope, self.fetches = scope, fetches
        self._endpoints = {x.url for x in self.fetches if x.payload == "sparql"}
        self._portals = {x.url for x in self.fetches if x.payload == "ckan"}
        self.collections = {x.collection[0] for x in self.fetches if x.collection}
        self._of_step: dict[str, SourceName] = {}  # by URL and by graph
        for each in self.fetches:
            if each.is_of_source:
                named = self._named(each)
                self._of_step[each.url] = named
                if each.graph:
                    self._of_step[each.graph] = named
        self.sources: dict[str, SourceName] = {}
        # The task of a refresh replaces that of the source; other sources own more.
        for each in sorted(self.fetches, key=_weakness):
            if each.is_page:
                self.sources.setdefault(each.url, self._source_of_page(each))

    def source(self, fetch: SiteFetch) -> SourceName | None:
        """Return the source of a fetch; None if it is of another site."""
        if not fetch.is_page:
            if (
                _OF_HOST.search(fetch.task)
                and host_of(fetch.crawled) not in self.scope.hosts
            ):
                return None
            return self._of_step[fetch.url] if self.scope.owns(fetch.url) else None
        named = self.sources[fetch.url]
        if named.kind is SourceKind.LINKED and named.name not in self.scope.hosts:
            return None
        return named

    def _named(self, fetch: SiteFetch) -> SourceName:
        kind = _KINDS.get(fetch.payload)
        if kind is None and fetch.url in self._endpoints:
            kind = SourceKind.ENDPOINT
        elif kind is None and fetch.url in self._portals:
            kind = SourceKind.PORTAL
        elif kind is None:
            kind = SourceKind.SITEMAP
        above = self._of_step.get(fetch.parent)
        if above is not None and above.kind is kind and fetch.parent != fetch.url:
            return above
        if kind is SourceKind.RESOURCESYNC:
            return SourceName(kind, host_of(fetch.url))
        if kind is SourceKind.REPOSITORY:
            return SourceName(kind, fetch.url.partition("?")[0])
        if kind is SourceKind.SITEMAP:
            return SourceName(kind, origin_of(fetch.url) + "/")
        return SourceName(kind, fetch.url)

    def _source_of_page(self, fetch: SiteFetch) -> SourceName:
        if fetch.is_of_source:
            return self._of_step[fetch.url]
        if found := _DATASET.match(fetch.task):
            return SourceName(SourceKind.DATASET, found[1])
        if fetch.collection is not None:
            return SourceName(SourceKind.COLLECTION, fetch.collection[0])
        if fetch.url in self.collections:
            return SourceName(SourceKind.COLLECTION, fetch.url)
        above = self._of_step.get(fetch.parent)
        kind = SourceKind.SITEMAP if fetch.is_listed else SourceKind.PORTAL
        if above is not None and above.kind is kind and self.scope.owns(fetch.parent):
            return above
        return SourceName(SourceKind.LINKED, host_of(fetch.url))

    def roots(self) -> Iterator[SourceRoot]:
        """Yield the first request of each source."""
        found: dict[tuple[Kind | str, str], bool] = {}
        for each in self.fetches:
            if each.is_page or self.source(each) is None:
                continue
            kind: Kind | str | None = _ROOT_KINDS.get(self._of_step[each.url].kind)
            if harvester := _HARVESTER.search(each.task):
                kind = harvester[1]
            is_first = each.payload in ("", "robots", "search") or not each.parent
            if kind and is_first and not (each.parent and _IS_SCOPED(each.task)):
                is_named = "is_named=True" in each.task
                found[kind, each.url] = found.get((kind, each.url), False) or is_named
        for (kind, url), is_named in found.items():
            yield SourceRoot(kind, url, is_named)


def _weakness(fetch: SiteFetch) -> tuple[bool, bool]:
    """Return the order in which the fetches of one URL name its source."""
    is_linked = not (fetch.task or fetch.is_listed)
    return fetch.task.startswith("refreshed"), is_linked
