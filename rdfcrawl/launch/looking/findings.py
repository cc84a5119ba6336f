"""The findings of a look at a site, from the logs of its crawl."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rdfcrawl.analysis.description.figures import (
    DatasetFigures,
    iter_hosts,
)
from rdfcrawl.analysis.description.scan import FigureScan
from rdfcrawl.analysis.description.table import FigureTable
from rdfcrawl.analysis.verifications import SourceKind, SourceName
from rdfcrawl.core.namespaces import RC
from rdfcrawl.launch.verifying.fetches import (
    SiteFetch,
    SiteFetches,
    SiteScope,
    gather_fetches,
)
from rdfcrawl.stores.log.crawl_log import CrawlLog, iter_latest_documents
from rdfcrawl.uri import host_of

_SHOWN: Final = 10  # classes and properties
_OF_LISTS: Final = ("robots", "sitemap")
_LISTS: Final = f"> <{RC}lists> <".encode()
# The least intrusive first; and how a crawl begins there.
_COMMANDS: Final = {
    SourceKind.DATASET: "crawl sitemap -a sites={site}",
    SourceKind.RESOURCESYNC: "crawl resourcesync -a sources={url}",
    SourceKind.PORTAL: "crawl ckan -a portals={url}",
    SourceKind.REPOSITORY: "crawl oaipmh -a repositories={url}",
    SourceKind.SITEMAP: "crawl sitemap -a sites={site}",
    SourceKind.COLLECTION: "crawl linkeddata -a seeds={url} -a scope=host",
    SourceKind.ENDPOINT: "crawl sparql -a endpoints={url}",
    SourceKind.LINKED: "crawl linkeddata -a seeds={site}"
    " -a scope=host -a follow=abox,hyperlink",
}
_RANKS: Final = list(_COMMANDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A way to the data of a site.

    Attributes:
        kind: of source.
        url: of the source; of linked pages, that of the site.
        pages: that it lists, estimated if lists were left out; None: unknown.
        secs: that these take with the delay of the host; None: unknown.
        command: that crawls it.
    """

    kind: SourceKind
    url: str
    pages: int | None
    secs: float | None
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A page that was read.

    Attributes:
        url: of the page.
        result: HTTP status and `sq:status`, or the first fault.
        statements: number of statements in it.
    """

    url: str
    result: str
    statements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLook:
    """What a look at a site has found.

    Attributes:
        url: of the site.
        requests: that it took.
        delay_secs: time between two requests.
        robots: HTTP status of robots.txt, or why it has none.
        doors: to its data, the least intrusive first.
        classes: instances in the samples, by IRI of the class.
        properties: statements in the samples, by IRI of the property.
        formats: documents by format, and statements of pages by extractor.
        samples: pages that were read.
    """

    url: str
    requests: int
    delay_secs: float
    robots: str
    doors: Sequence[Door]
    classes: Mapping[str, int]
    properties: Mapping[str, int]
    formats: Mapping[str, int]
    samples: Sequence[Sample]

    def as_json(self) -> dict[str, Any]:
        """Return the findings as JSON values."""
        return asdict(self)


def read_look(
    root: Path,
    url: str,
    *,
    n_requests: int,
    delay_secs: float,
    formats: Mapping[str, int],
) -> SiteLook:
    """Return the findings of a look.

    Args:
        root: folder of its crawl.
        url: of the site.
        n_requests: number of requests.
        delay_secs: time between two requests to the host.
        formats: documents by format, and statements of pages by extractor.
    """
    scope = SiteScope(host_of(url))
    fetches = SiteFetches(scope, gather_fetches(root, [scope])[0])
    lists = {each.url for each in fetches.fetches if each.payload in _OF_LISTS}
    n_listed, figures = _read_statements(root, scope.hosts, lists)
    pages = [
        each
        for each in fetches.fetches
        if each.is_page and (0 < each.http_status < 400 or not each.parent)
    ]
    return SiteLook(
        url=url,
        requests=n_requests,
        delay_secs=delay_secs,
        robots=next(map(_result, _of_payload(fetches, "robots")), "not requested"),
        doors=sorted(
            _doors(fetches, url, n_listed, delay_secs),
            key=lambda each: _RANKS.index(each.kind),
        ),
        classes={x.about[1:-1]: x.number.number for x in figures.classes.items},
        properties={x.about[1:-1]: x.number for x in figures.properties.items},
        formats=formats,
        samples=[
            Sample(url=x.url, result=_result(x), statements=x.n_statements)
            for x in pages
        ],
    )


def _of_payload(fetches: SiteFetches, *payloads: str) -> list[SiteFetch]:
    return [each for each in fetches.fetches if each.payload in payloads]


def _result(fetch: SiteFetch) -> str:
    return str(fetch.http_status) if fetch.http_status else fetch.reasons[0]


def _read_statements(
    root: Path, hosts: Collection[str], lists: Collection[str]
) -> tuple[dict[str, int], DatasetFigures]:
    """Return the numbers of pages in sitemaps, and the figures of the other documents.

    Args:
        root: folder of the crawl.
        hosts: of the site.
        lists: URLs of robots.txt and sitemaps.
    """
    n_listed: dict[str, int] = {}
    others = [b"<%s>" % each.encode() for each in lists]
    with FigureTable() as table:
        scan = FigureScan(table)
        for document in iter_latest_documents(CrawlLog(root)):
            if document.graph not in lists:
                scan.add(document)
                continue
            for piece in document.pieces():
                n = piece.count(_LISTS) - sum(
                    piece.count(_LISTS + each) for each in others
                )
                n_listed[document.graph] = n_listed.get(document.graph, 0) + n
        scan.flush()
        found = [
            each
            for each in iter_hosts(table, _SHOWN)
            if host_of(f"http://{each.host}/") in hosts
        ]
    return n_listed, found[0] if found else DatasetFigures(host="", size=_SHOWN)


def _doors(
    fetches: SiteFetches, url: str, n_listed: Mapping[str, int], delay_secs: float
) -> Iterator[Door]:
    """Yield the doors of a site, in any order."""
    of_sources: dict[SourceName, list[SiteFetch]] = {}
    for each in fetches.fetches:
        if (name := fetches.source(each)) is not None:
            of_sources.setdefault(name, []).append(each)
    for source, some in of_sources.items():
        n_pages: int | None = None
        if source.kind is SourceKind.SITEMAP:
            n_pages = _n_pages(some, n_listed)
            is_open = bool(n_pages)
        elif source.kind is SourceKind.LINKED:
            is_open = any(each.n_statements for each in some)
        else:
            is_open = any(each.is_read or each.is_unsampled for each in some)
        if is_open:
            yield Door(
                kind=source.kind,
                url=source.name if "://" in source.name else url,
                pages=n_pages,
                secs=None if n_pages is None else n_pages * delay_secs,
                command=_COMMANDS[source.kind].format(site=url, url=source.name),
            )


def _n_pages(some: Sequence[SiteFetch], n_listed: Mapping[str, int]) -> int:
    """Return the number of pages in sitemaps; those left out have as many as others."""
    read = [n_listed[each.url] for each in some if each.url in n_listed]
    n_left_out = sum(x.is_unsampled and x.payload == "sitemap" for x in some)
    lists = [n for n in read if n]
    mean = sum(lists) / len(lists) if lists else 0
    return sum(lists) + round(mean * n_left_out)
