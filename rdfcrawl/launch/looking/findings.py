"""The findings of a look at a site, from the logs of its crawl."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from rdfcrawl.analysis.description.figures import (
    DatasetFigures,
    iter_hosts,
)
from rdfcrawl.analysis.description.scan import FigureScan
from rdfcrawl.analysis.description.table import FigureTable
from rdfcrawl.analysis.verifications import SourceKind, SourceName
from rdfcrawl.core.namespaces import DCAT, RC
from rdfcrawl.launch.verifying.fetches import (
    SiteFetch,
    SiteFetches,
    SiteScope,
    gather_fetches,
)
from rdfcrawl.sources.dcat_portals import is_catalog_url
from rdfcrawl.stores.log.crawl_log import CrawlLog, iter_latest_documents
from rdfcrawl.uri import host_of

_SHOWN: Final = 10  # classes and properties
_OF_LISTS: Final = ("robots", "sitemap")
_DATASET: Final = f"<{DCAT}Dataset>".encode()
_find_listed: Final = re.compile(
    f"> <{re.escape(RC)}lists> <([^>\n]*)>".encode()
).findall
# Spider and arguments; the least intrusive source first.
_COMMANDS: Final = {
    SourceKind.DATASET: ("linkeddata", "seeds={site}", "scope=host", "harvest=all"),
    SourceKind.RESOURCESYNC: ("resourcesync", "sources={url}"),
    SourceKind.CATALOG: (
        *("linkeddata", "seeds={url}"),
        *("harvest=dcat,sparql", "follow=none,dataset"),
    ),
    SourceKind.PORTAL: ("ckan", "portals={url}"),
    SourceKind.REPOSITORY: ("oaipmh", "repositories={url}"),
    SourceKind.SITEMAP: ("sitemap", "sites={site}"),
    SourceKind.COLLECTION: ("linkeddata", "seeds={url}", "scope=host"),
    SourceKind.ENDPOINT: ("sparql", "endpoints={url}"),
    SourceKind.LINKED: (
        *("linkeddata", "seeds={site}"),
        *("scope=host", "follow=abox,hyperlink"),
    ),
}
_RANKS: Final = list(_COMMANDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteDoor:
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
class ReadPage:
    """A page that was read.

    Attributes:
        url: of the page.
        result: HTTP status, with the target of a redirect or the first fault.
        statements: number of statements in it.
    """

    url: str
    result: str
    statements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLook:
    """The findings of a look at a site.

    Attributes:
        url: of the site.
        requests: that it took.
        delay_secs: time between two requests.
        robots: HTTP status of robots.txt, or why it has none.
        has_responded: any request had a response.
        reservations: documents by directive of their publisher.
        doors: to its data, the least intrusive first.
        classes: instances in the samples, by IRI of the class.
        properties: statements in the samples, by IRI of the property.
        formats: documents by format, and statements of pages by extractor.
        samples: pages that were read.
        n_unread: pages of the site that these link to, and that were not read.
    """

    url: str
    requests: int
    delay_secs: float
    robots: str
    has_responded: bool
    reservations: Mapping[str, int]
    doors: Sequence[SiteDoor]
    classes: Mapping[str, int]
    properties: Mapping[str, int]
    formats: Mapping[str, int]
    samples: Sequence[ReadPage]
    n_unread: int

    @property
    def command_for_links(self) -> str:
        """The command that crawls the pages that links of the site lead to."""
        return _command(SourceName(SourceKind.LINKED, host_of(self.url)), self.url)

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
    reservations: Mapping[str, int],
    guesses: AbstractSet[str],
) -> SiteLook:
    """Return the findings of a look.

    Args:
        root: folder of its crawl.
        url: of the site.
        n_requests: number of requests.
        delay_secs: time between two requests to the host.
        formats: documents by format, and statements of pages by extractor.
        reservations: documents by directive of their publisher.
        guesses: URLs of sources that nothing on the site names.
    """
    scope = SiteScope(host_of(url))
    fetches = SiteFetches(scope, gather_fetches(root, [scope])[0])
    lists = {each.url for each in fetches.fetches if each.payload in _OF_LISTS}
    read = _read_statements(root, scope.hosts, lists)
    pages = [
        each
        for each in fetches.fetches
        if each.is_page and (0 < each.http_status < 400 or not each.parent)
    ]
    return SiteLook(
        url=url,
        requests=n_requests,
        delay_secs=delay_secs,
        robots=_robots(fetches.fetches),
        has_responded=any(each.http_status for each in fetches.fetches),
        reservations=reservations,
        doors=sorted(
            _doors(fetches, url, read, delay_secs, guesses),
            key=lambda each: _RANKS.index(each.kind),
        ),
        classes={x.about[1:-1]: x.number.number for x in read.figures.classes.items},
        properties={x.about[1:-1]: x.number for x in read.figures.properties.items},
        formats=formats,
        samples=[
            ReadPage(url=x.url, result=_result(x), statements=x.n_statements)
            for x in pages
        ],
        n_unread=len({x.url for x in fetches.fetches if x.is_unread_link} - guesses),
    )


def _robots(fetches: Sequence[SiteFetch]) -> str:
    """Return the result of robots.txt; without one, the site could not be read."""
    read = [each for each in fetches if each.payload == "robots"]
    return next(map(_result, read or fetches), "not requested")


def _result(fetch: SiteFetch) -> str:
    """Return the HTTP status, with the target of a redirect or the first fault."""
    reason = next(iter(fetch.reasons), "")
    if not fetch.http_status:
        return reason or "not requested"
    if target := fetch.location:
        return f"{fetch.http_status}, to {target}"
    is_explained = not reason or fetch.http_status >= 400
    return f"{fetch.http_status}" if is_explained else f"{fetch.http_status}, {reason}"


def _is_evidence(fetch: SiteFetch, guesses: AbstractSet[str]) -> bool:
    """Return whether a fetch shows that its source is there.

    Some sites respond with a page to any request.
    """
    if fetch.payload == "search":
        return False
    if fetch.is_unsampled:
        return fetch.url not in guesses
    return fetch.is_read and (fetch.n_statements > 0 or fetch.payload == "sparql")


def _url(source: SourceName, site: str) -> str:
    """Return the URL of a source, or that of its site if it only has a name."""
    return source.name if "://" in source.name else site


def _command(source: SourceName, site: str) -> str:
    """Return the command that crawls a source, for a shell."""
    spider, *arguments = _COMMANDS[source.kind]
    url = _url(source, site)
    filled = (each.format(site=site, url=url) for each in arguments)
    return " -a ".join([f"crawl {spider}", *map(shlex.quote, filled)])


class _Statements(NamedTuple):
    """Figures of the statements of a look.

    Attributes:
        n_listed: numbers of pages in sitemaps, by URL.
        catalogs: URLs of catalogs in DCAT.
        figures: of all documents but sitemaps.
    """

    n_listed: dict[str, int]
    catalogs: set[str]
    figures: DatasetFigures


def _read_statements(
    root: Path, hosts: Collection[str], lists: Collection[str]
) -> _Statements:
    """Return the figures of the statements.

    Args:
        root: folder of the crawl.
        hosts: of the site.
        lists: URLs of robots.txt and sitemaps.
    """
    n_listed: dict[str, int] = {}
    catalogs: set[str] = set()
    others = {each.encode() for each in lists}
    with FigureTable() as table:
        scan = FigureScan(table)
        for document in iter_latest_documents(CrawlLog(root)):
            if document.graph not in lists:
                scan.add(document)
                if is_catalog_url(document.graph) and any(
                    _DATASET in piece for piece in document.pieces()
                ):
                    catalogs.add(document.graph)
                continue
            listed = chain.from_iterable(map(_find_listed, document.pieces()))
            n_listed[document.graph] = sum(each not in others for each in listed)
        scan.flush()
        found = [
            each
            for each in iter_hosts(table, _SHOWN)
            if host_of(f"http://{each.host}/") in hosts
        ]
    figures = found[0] if found else DatasetFigures(host="", size=_SHOWN)
    return _Statements(n_listed, catalogs, figures)


def _doors(
    fetches: SiteFetches,
    url: str,
    read: _Statements,
    delay_secs: float,
    guesses: AbstractSet[str],
) -> Iterator[SiteDoor]:
    """Yield the doors of a site, in any order."""
    of_sources: dict[SourceName, list[SiteFetch]] = {}
    for each in fetches.fetches:
        if each.url in read.catalogs:
            of_sources[SourceName(SourceKind.CATALOG, each.url)] = [each]
        elif (name := fetches.source(each)) is not None:
            if each.is_page and not each.task and each.parent in guesses:
                # A link of the front page, whose URL is that of a guessed portal, too.
                name = SourceName(SourceKind.LINKED, host_of(each.url))
            is_listed = name.kind is SourceKind.DATASET and each.parent in read.catalogs
            if not is_listed:  # its catalog is the door
                of_sources.setdefault(name, []).append(each)
    for source, some in of_sources.items():
        n_pages: int | None = None
        if source.kind is SourceKind.SITEMAP:
            n_pages = _n_pages(some, read.n_listed)
            is_open = bool(n_pages)
        elif source.kind is SourceKind.LINKED:
            is_open = any(each.n_statements for each in some)
        else:
            is_open = any(_is_evidence(each, guesses) for each in some)
        if is_open:
            yield SiteDoor(
                kind=source.kind,
                url=_url(source, url),
                pages=n_pages,
                secs=None if n_pages is None else n_pages * delay_secs,
                command=_command(source, url),
            )


def _n_pages(some: Sequence[SiteFetch], n_listed: Mapping[str, int]) -> int:
    """Return the number of pages in sitemaps; those left out have as many as others."""
    read = [n_listed[each.url] for each in some if each.url in n_listed]
    n_left_out = sum(x.is_unsampled and x.payload == "sitemap" for x in some)
    lists = [n for n in read if n]
    mean = sum(lists) / len(lists) if lists else 0
    return sum(lists) + round(mean * n_left_out)
