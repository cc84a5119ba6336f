"""A node whose pages are found by its sitemaps alone."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NOT_FOUND, NodeResponse
from rdfcrawl.dataweb.nodes.base import LABEL, to_ntriples
from rdfcrawl.dataweb.nodes.site import (
    DAY,
    EPOCH,
    FRONT_PAGE,
    HTML,
    TEXT,
    TURTLE,
    XML,
    ChangingSite,
    SiteOptions,
    pack,
    respond,
    w3c_date,
)
from rdfcrawl.dataweb.nodes.sitemap_formats import (
    ListedUrl,
    SitemapSyntax,
    UrlsetDamage,
    write_damaged,
    write_index,
    write_sitemap,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import NodePlan, Statement

_PAGE = re.compile(r"/page/(0|[1-9][0-9]{0,8})(\?lang=en&v=1)?\Z")
# Each form of a W3C datetime, coarse to fine.
_PRECISIONS: tuple[Callable[[datetime], str], ...] = (
    lambda when: f"{when:%Y}",
    lambda when: f"{when:%Y-%m}",
    lambda when: f"{when:%Y-%m-%d}",
    lambda when: f"{when:%Y-%m-%dT%H:%MZ}",
    lambda when: f"{when:%Y-%m-%dT%H:%M:%S+00:00}",
    lambda when: f"{when:%Y-%m-%dT%H:%M:%S.5Z}",
)
_MEDIA_TYPES = {
    SitemapSyntax.TEXT: TEXT,
    SitemapSyntax.RSS1: "application/rdf+xml",
    SitemapSyntax.RSS2: "application/rss+xml",
    SitemapSyntax.ATOM: "application/atom+xml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapOptions(SiteOptions["SitemapNode"]):
    """Options of a site with sitemaps.

    Attributes:
        n_pages: split among the sitemaps in turn, so that each page is in one only.
        formats: one sitemap of each.
        packed: `no`, `yes` (`.gz`), or `both`: a plain one and a packed one of each.
        damages: one more sitemap, a urlset, of each.
        found_by: `robots` (one `Sitemap:` line each) or `default`: `/sitemap.xml` is
            an index of all, which nothing names.
        robots_sitemaps: URLs of further `Sitemap:` lines, as of other hosts.
        foreign: URLs of pages of other hosts: one more sitemap has just these.
        disallowed: pages 0, 1, ... that robots.txt disallows (their number).
        delay_secs: `Crawl-delay`; 0 states none.
        has_lastmod: entries and indexes say when pages changed.
    """

    kind: ClassVar[NodeKind] = NodeKind.SITEMAP
    n_pages: int = 60
    formats: tuple[SitemapSyntax, ...] = tuple(SitemapSyntax)
    packed: Literal["no", "yes", "both"] = "both"
    damages: tuple[UrlsetDamage, ...] = ()
    found_by: Literal["robots", "default"] = "robots"
    robots_sitemaps: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    disallowed: int = 0
    delay_secs: float = 0.0
    has_lastmod: bool = True

    def build(self, plan: NodePlan) -> SitemapNode:
        """Make the node."""
        return SitemapNode(plan, self)


@dataclass(frozen=True, slots=True)
class _Sitemap:
    """One sitemap: path, format and pages."""

    path: str
    format: SitemapSyntax
    pages: range
    is_packed: bool = False
    damage: UrlsetDamage | None = None
    is_foreign: bool = False


class SitemapNode(ChangingSite):
    """Pages are small documents in Turtle; nothing but a sitemap links to them.

    Page K is at `/page/K`, or at `/page/K?lang=en&v=1`: every seventh, and those of the
    sitemaps whose damage is in how `&` is written.
    """

    def __init__(self, plan: NodePlan, options: SitemapOptions) -> None:
        super().__init__(plan)
        self.options = options
        self.now: datetime = EPOCH
        self._changed: dict[int, tuple[int, datetime]] = {}  # revision, when
        self._sitemaps = _plan_sitemaps(options)
        self._by_path: dict[str, _Sitemap] = {}
        for one in self._sitemaps:
            self._register(one)
        self._bodies: dict[str, bytes] = {}
        self._with_query = frozenset(
            page
            for one in self._sitemaps
            if one.damage in (UrlsetDamage.RAW_AMPERSAND, UrlsetDamage.CDATA)
            for page in one.pages
        )
        self._disallowed = frozenset(map(self._path_of, range(options.disallowed)))

    # -- for tests -----------------------------------------------------------------

    @property
    def sitemap_urls(self) -> tuple[str, ...]:
        """URLs of the sitemaps that are found first: an index, not its parts."""
        if self.options.found_by == "default":
            return (f"{self.origin}/sitemap.xml",)
        return tuple(self.origin + one.path for one in self._sitemaps)

    def page_url(self, page: int) -> str:
        """Return the URL of a page."""
        return self.origin + self._path_of(page)

    def urls_of(self, what: SitemapSyntax | UrlsetDamage) -> list[str]:
        """Return the pages that only the sitemaps of one format or damage have."""
        findable = set(self._iter_findable())
        return [
            self.page_url(page)
            for one in self._sitemaps
            if what in (one.damage, None if one.damage else one.format)
            for page in one.pages
            if page in findable
        ]

    def urls(self) -> list[str]:
        """Return all pages that a crawler should find."""
        return [self.page_url(page) for page in self._iter_findable()]

    def revise(self, changed: int = 5, *, seed: int = 1) -> frozenset[str]:
        """Let a day pass, on which some pages change; give their URLs.

        Their ETag, `Last-Modified` and `lastmod` change, and the `lastmod` of each
        index above them; all other files answer 304 to conditional requests.
        """
        with self._lock:
            self.now += DAY
            pages = list(self._iter_findable())
            rng = random.Random(f"{seed}/{self.now}")
            chosen = rng.sample(pages, min(changed, len(pages)))
            for page in chosen:
                revision, _ = self._changed.get(page, (0, EPOCH))
                self._changed[page] = (revision + 1, self.now)
            self._bodies.clear()
            return frozenset(map(self.page_url, chosen))

    def change(self, **arguments: Any) -> object:
        """Do `revise`."""
        return sorted(self.revise(**arguments))

    def iter_truth(self) -> Iterator[Statement]:
        """Yield the triples of all present pages that sitemaps have."""
        for page in self._iter_findable():
            yield from self._statements(page)

    # -- for clients ---------------------------------------------------------------

    @property
    def robots(self) -> str:
        """`Sitemap:` lines, of this host and of others."""
        lines = ["User-agent: *"]
        lines += [f"Disallow: {path}" for path in sorted(self._disallowed)]
        if self.options.delay_secs:
            lines.append(f"Crawl-delay: {self.options.delay_secs:g}")
        if self.options.found_by == "robots":
            lines += [f"Sitemap: {url}" for url in self.sitemap_urls]
        lines += [f"sitemap: {url}" for url in self.options.robots_sitemaps]
        return "\n".join(lines) + "\n"

    @property
    def disallowed(self) -> frozenset[str]:
        """Paths of pages that robots.txt disallows."""
        return self._disallowed

    @property
    def delay_secs(self) -> float:
        """`Crawl-delay` of robots.txt."""
        return self.options.delay_secs

    def respond_other(self, request: NodeRequest) -> NodeResponse:
        """Serve pages and sitemaps."""
        match = _PAGE.match(request.target)
        if match and int(match[1]) < self.options.n_pages:
            page = int(match[1])
            if request.target != self._path_of(page):
                return NOT_FOUND
            revision, when = self._changed.get(page, (0, EPOCH))
            body = to_ntriples(self._statements(page))
            tag = f"{page}-{revision}"
            return respond(request, body, content_type=TURTLE, modified=when, etag=tag)
        if request.target == "/":
            return respond(request, FRONT_PAGE, content_type=HTML)
        return self._respond_list(request)

    def _respond_list(self, request: NodeRequest) -> NodeResponse:
        path = request.target
        if path == "/sitemap.xml" and self.options.found_by == "default":
            whole = range(self.options.n_pages)
            items = [
                (self.origin + one.path, self._last_change(one.pages))
                for one in self._sitemaps
            ]
            changed = self._last_change(whole)
            return respond(
                request, write_index(items), content_type=XML, modified=changed
            )
        sitemap = self._by_path.get(path)
        return self._respond_sitemap(request, sitemap) if sitemap else NOT_FOUND

    def _respond_sitemap(self, request: NodeRequest, sitemap: _Sitemap) -> NodeResponse:
        body = self._bodies.get(sitemap.path)
        if body is None:
            body = self._write(sitemap)
            self._bodies[sitemap.path] = body
        content_type = _MEDIA_TYPES.get(sitemap.format, XML)
        if sitemap.damage is UrlsetDamage.WRONG_TYPE:
            content_type = HTML
        if sitemap.is_packed:
            content_type = "application/gzip"
        return respond(
            request,
            body,
            content_type=content_type,
            modified=self._last_change(sitemap.pages),
        )

    # -- how they are made -----------------------------------------------------------

    def _path_of(self, page: int) -> str:
        has_query = page % 7 == 6 or page in self._with_query
        return f"/page/{page}" + ("?lang=en&v=1" if has_query else "")

    def _iter_findable(self) -> Iterator[int]:
        lost = {
            one.pages[-1]
            for one in self._sitemaps
            if one.damage is UrlsetDamage.TRUNCATED and one.pages
        }
        listed = (page for one in self._sitemaps for page in one.pages)
        return (
            page
            for page in sorted(listed)
            if page not in lost and page >= self.options.disallowed
        )

    def _statements(self, page: int) -> Iterator[Statement]:
        subject = f"<{self.page_url(page)}>"
        revision, _ = self._changed.get(page, (0, EPOCH))
        yield subject, LABEL, f'"Page {page}, revision {revision}"@en'
        predicate = f"<{self.origin}/property-0>"
        yield subject, predicate, f"<{self.page_url(page)}#it>"
        for position, link in enumerate(self.plan.links):
            if position % self.options.n_pages == page:
                yield subject, predicate, f"<{link}>"

    def _last_change(self, pages: range) -> datetime:
        changes = (when for page, (_, when) in self._changed.items() if page in pages)
        return max(changes, default=EPOCH)

    def _entries(self, sitemap: _Sitemap) -> Iterator[ListedUrl]:
        for page in sitemap.pages:
            lastmod = ""
            if self.options.has_lastmod:
                _, when = self._changed.get(page, (0, None))
                form = _PRECISIONS[page % len(_PRECISIONS)]
                lastmod = w3c_date(when) if when else form(EPOCH)
            yield ListedUrl(self.page_url(page), lastmod, f"{page % 11 / 10:.1f}")
        if sitemap.is_foreign:
            yield from map(ListedUrl, self.options.foreign)

    def _write(self, sitemap: _Sitemap) -> bytes:
        if sitemap.format in (SitemapSyntax.INDEX, SitemapSyntax.NESTED):
            parts = _split(sitemap)
            body = write_index(
                (self.origin + one.path, self._last_change(one.pages)) for one in parts
            )
        elif sitemap.damage is not None:
            body = write_damaged(self._entries(sitemap), sitemap.damage)
        else:
            body = write_sitemap(
                self._entries(sitemap),
                sitemap.format,
                changed=self._last_change(sitemap.pages),
            )
        return pack(body) if sitemap.is_packed else body

    def _register(self, sitemap: _Sitemap) -> None:
        self._by_path[sitemap.path] = sitemap
        if sitemap.format in (SitemapSyntax.INDEX, SitemapSyntax.NESTED):
            for part in _split(sitemap):
                self._register(part)


def _split(index: _Sitemap) -> tuple[_Sitemap, _Sitemap]:
    """Return the two sitemaps of an index."""
    is_nested = index.format is SitemapSyntax.NESTED
    part_format = SitemapSyntax.INDEX if is_nested else SitemapSyntax.URLSET
    suffix = ".xml.gz" if index.is_packed else ".xml"
    stem = index.path.removesuffix(suffix)
    first, second = (
        _Sitemap(f"{stem}-{half}{suffix}", part_format, pages, index.is_packed)
        for half, pages in enumerate((index.pages[::2], index.pages[1::2]))
    )
    return first, second


def _plan_sitemaps(options: SitemapOptions) -> tuple[_Sitemap, ...]:
    packings = {"no": (False,), "yes": (True,), "both": (False, True)}[options.packed]
    kinds = [(one, packed, None) for one in options.formats for packed in packings]
    wanted: list[tuple[SitemapSyntax, bool, UrlsetDamage | None]] = [*kinds]
    wanted += [(SitemapSyntax.URLSET, False, damage) for damage in options.damages]
    planned = []
    for position, (one, is_packed, damage) in enumerate(wanted):
        extension = ".txt" if one is SitemapSyntax.TEXT else ".xml"
        name = f"damaged-{damage}" if damage else f"{one}"
        path = f"/sitemaps/{name}{extension}" + (".gz" if is_packed else "")
        pages = range(position, options.n_pages, len(wanted))
        planned.append(_Sitemap(path, one, pages, is_packed, damage))
    if options.foreign:
        planned.append(
            _Sitemap(
                "/sitemaps/foreign.xml", SitemapSyntax.URLSET, range(0), is_foreign=True
            )
        )
    return tuple(planned)
