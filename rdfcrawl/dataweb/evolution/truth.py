"""History of evolving sites, exact to the second: lines of JSON, and their reader.

Times are seconds since the web began; where there is none, it is null. Lines have a
`type`: `web` comes first; `site`, `url`, `listing` and `link` follow, site by site.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rdfcrawl.dataweb.evolution.draws import DAY_SECS, NEVER
from rdfcrawl.dataweb.evolution.histories import FRONT_PATH, TimeSpan, hub_path
from rdfcrawl.dataweb.evolution.parameters import SitemapLayout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rdfcrawl.dataweb.evolution.histories import PagePath
    from rdfcrawl.dataweb.evolution.node import EvolvingNode

HISTORY_NAME = "history.jsonl"

Line = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlTruth:
    """History of one URL up to the horizon.

    Attributes:
        url: of it.
        role: `front`, `list`, `page` or `duplicate`.
        born, gone: when it comes and vanishes; `NEVER` if it does not.
        gone_status: of responses after it has vanished.
        rate: mean number of changes in a day; None if it has no rate.
        changes: times at which its document becomes another.
        cluster: URL that stands for all whose documents are equal or nearly so.
        is_near: the document differs from that one by a number.
        failing: start of each hour with status 503.
    """

    url: str
    role: str
    born: float
    gone: float = NEVER
    gone_status: int | None = None
    rate: float | None = None
    changes: Sequence[float] = ()
    cluster: str = ""
    is_near: bool = False
    failing: Sequence[float] = ()

    def revision(self, at: float) -> int | None:
        """Return how often it has changed up to a time; None if it is not there."""
        if not self.born <= at < self.gone:
            return None
        return bisect_right(self.changes, at)

    def next_change(self, at: float) -> float:
        """Return the time at which the document of a time next changes, or `NEVER`."""
        place = bisect_right(self.changes, at)
        change = self.changes[place] if place < len(self.changes) else NEVER
        return min(change, self.gone)

    def to_line(self) -> Line:
        """Return its line."""
        return {
            "type": "url",
            "url": self.url,
            "role": self.role,
            "born": self.born,
            "gone": _or_null(self.gone),
            "gone_status": self.gone_status,
            "rate": self.rate,
            "changes": list(self.changes),
            "cluster": self.cluster,
            "is_near": self.is_near,
            "failing": list(self.failing),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTruth:
    """A URL in the document of another.

    Attributes:
        source, target: URLs.
        span: while it is there.
    """

    source: str
    target: str
    span: TimeSpan


@dataclass(slots=True, kw_only=True)
class WebTruth:
    """All that happens to evolving sites before the horizon.

    Attributes:
        begin: date at time 0, in ISO 8601.
        horizon: time up to which all is known.
        sites: parameters of each, by its origin.
        urls: by URL.
        listings: while a sitemap of the URL's site lists it, by URL.
        links: by target.
    """

    begin: str
    horizon: float
    sites: dict[str, Line] = field(default_factory=dict)
    urls: dict[str, UrlTruth] = field(default_factory=dict)
    listings: dict[str, TimeSpan] = field(default_factory=dict)
    links: dict[str, list[LinkTruth]] = field(default_factory=lambda: defaultdict(list))

    def clusters(self, at: float) -> dict[str, set[str]]:
        """Return the URLs that exist at a time, with their representatives."""
        found: dict[str, set[str]] = defaultdict(set)
        for url, truth in self.urls.items():
            if truth.revision(at) is not None:
                found[truth.cluster].add(url)
        return dict(found)

    def first_listed(self, url: str) -> float:
        """Return when a sitemap first lists a URL, or `NEVER`."""
        return self.listings.get(url, TimeSpan()).start

    def first_linked(self, url: str) -> float:
        """Return when a document first links to a URL, or `NEVER`."""
        return min((one.span.start for one in self.links.get(url, ())), default=NEVER)


def write_history(
    path: Path, nodes: Iterable[EvolvingNode], *, begin: str, horizon: float
) -> None:
    """Write the history of nodes up to a time; nothing if there are none."""
    kept = list(nodes)
    if not kept:
        return
    with path.open("w", encoding="utf-8") as out:
        for line in iter_history(kept, begin=begin, horizon=horizon):
            out.write(json.dumps(line) + "\n")


def iter_history(
    nodes: Iterable[EvolvingNode], *, begin: str, horizon: float
) -> Iterator[Line]:
    """Yield the lines of the history of nodes up to a time."""
    yield {"type": "web", "begin": begin, "horizon": horizon}
    for node in nodes:
        yield _site_line(node)
        for truth in _urls(node, horizon):
            yield truth.to_line()
        for path in node.history.paths(horizon):
            if path.listed.start <= horizon:
                yield {
                    "type": "listing",
                    "url": node.origin + path.path,
                    **_span_members(_listed(node, path)),
                }
        for link in _links(node, horizon):
            yield {
                "type": "link",
                "source": link.source,
                "target": link.target,
                **_span_members(link.span),
            }


def read_history(path: Path) -> WebTruth:
    """Read the output of `write_history`.

    Raises:
        ValueError: not lines of its form.
    """
    with path.open(encoding="utf-8") as lines:
        return gather_history(map(json.loads, lines))


def gather_history(lines: Iterable[Line]) -> WebTruth:
    """Return the truth in lines.

    Raises:
        ValueError: not lines of its form.
    """
    rest = iter(lines)
    first = next(rest, {})
    if first.get("type") != "web":
        raise ValueError("the first line is not that of a web")
    truth = WebTruth(begin=first["begin"], horizon=first["horizon"])
    for line in rest:
        match line.pop("type", None):
            case "site":
                truth.sites[line["origin"]] = line
            case "url":
                gone = line.pop("gone")
                url = UrlTruth(gone=NEVER if gone is None else gone, **line)
                truth.urls[url.url] = url
            case "listing":
                truth.listings[line["url"]] = _read_span(line)
            case "link":
                source, target = line["source"], line["target"]
                link = LinkTruth(source=source, target=target, span=_read_span(line))
                truth.links[target].append(link)
            case other:
                raise ValueError(f"no line is of type {other!r}")
    return truth


def _site_line(node: EvolvingNode) -> Line:
    options = node.options
    return {
        "type": "site",
        "origin": node.origin,
        "mirror_of": options.mirror_of or None,
        "lastmod": options.lastmod,
        "delay": options.delay_days * DAY_SECS,
        "is_day_precise": options.is_day_precise,
        "layout": options.layout,
        "index_lastmod": options.index_lastmod if options.has_index else None,
        "validators": options.validator,
        "sitemaps": node.sitemap_urls(0.0),
    }


def _urls(node: EvolvingNode, horizon: float) -> Iterator[UrlTruth]:
    """Yield the histories of the URLs of a site that exist before the horizon."""
    history = node.history
    front = node.origin + FRONT_PATH
    yield _of_links(front, "front", history.front_changes(horizon))
    for hub in history.hubs(horizon):
        url = node.origin + hub_path(hub)
        yield _of_links(url, "list", history.hub_changes(hub, horizon))
    for path in history.paths(horizon):
        page = path.page
        yield UrlTruth(
            url=node.origin + path.path,
            role="duplicate" if path.duplicate else "page",
            born=page.born,
            gone=page.gone if page.gone <= horizon else NEVER,
            gone_status=int(page.vanished_as) if page.gone <= horizon else None,
            rate=page.rate,
            changes=page.changes(horizon),
            cluster=node.documents.canonical_url(page),
            is_near=path.duplicate == "near",
            failing=page.failing_hours(horizon),
        )


def _of_links(url: str, role: str, times: list[float]) -> UrlTruth:
    """Return the truth of a page of links, which comes at the first of the times."""
    return UrlTruth(url=url, role=role, born=times[0], changes=times[1:], cluster=url)


def _links(node: EvolvingNode, horizon: float) -> Iterator[LinkTruth]:
    """Yield the links in the documents of a site."""
    history, origin = node.history, node.origin
    for other in node.plan.links:
        yield LinkTruth(source=origin + FRONT_PATH, target=other, span=TimeSpan(0.0))
    for hub in history.hubs(horizon):
        url = origin + hub_path(hub)
        since = TimeSpan(history.hub_changes(hub, horizon)[0])
        yield LinkTruth(source=origin + FRONT_PATH, target=url, span=since)
        for path in history.hub_paths(hub, horizon):
            target = origin + path.path
            yield LinkTruth(source=url, target=target, span=path.linked)
    for path in history.paths(horizon):
        yield from _links_of(node, path)


def _links_of(node: EvolvingNode, path: PagePath) -> Iterator[LinkTruth]:
    """Yield the links from one page to others; those of RDF name the canonical site."""
    page = path.page
    for other in node.history.related(page):
        own = node.origin + other.path
        target = own if page.is_html else node.documents.canonical_url(other)
        span = TimeSpan(page.born, page.gone)
        yield LinkTruth(source=node.origin + path.path, target=target, span=span)


def _listed(node: EvolvingNode, path: PagePath) -> TimeSpan:
    """Return when sitemaps list a URL; a log never forgets."""
    is_log = node.options.layout is SitemapLayout.LOG
    return TimeSpan(path.listed.start) if is_log else path.listed


def _span_members(span: TimeSpan) -> Line:
    return {"from": span.start, "to": _or_null(span.end)}


def _read_span(line: Line) -> TimeSpan:
    return TimeSpan(line["from"], NEVER if line["to"] is None else line["to"])


def _or_null(time: float) -> float | None:
    return None if time == NEVER else time
