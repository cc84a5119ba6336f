"""A site that changes in time: pages, lists of links, sitemaps, at known rates."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, Final

from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.evolution.clock import WebClock
from rdfcrawl.dataweb.evolution.documents import NO_PAGE, PageWriter, write_links
from rdfcrawl.dataweb.evolution.histories import FRONT_PATH, SiteHistory, hub_path
from rdfcrawl.dataweb.evolution.listings import INDEX_PATH, SitemapListings
from rdfcrawl.dataweb.evolution.parameters import (
    EvolutionParameters,
    ValidatorBehaviour,
    VanishedAs,
)
from rdfcrawl.dataweb.messages import GONE, NOT_FOUND, NodeResponse, text_response
from rdfcrawl.dataweb.nodes.base import SEE_ALSO
from rdfcrawl.dataweb.nodes.site import (
    EPOCH,
    HTML,
    TURTLE,
    XML,
    ChangingSite,
    SiteOptions,
    respond,
    w3c_date,
)
from rdfcrawl.dataweb.nodes.sitemap_formats import (
    ListedUrl,
    SitemapSyntax,
    write_index,
    write_sitemap,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rdfcrawl.dataweb.evolution.histories import PageHistory, PagePath
    from rdfcrawl.dataweb.evolution.listings import SitemapFile
    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import NodePlan, Statement

_NUMBER: Final = re.compile(r"/(list|page|data)/(0|[1-9][0-9]{0,8})(\?.*)?\Z")
_SITEMAP: Final = re.compile(r"/sitemap-(0|[1-9][0-9]{0,8})\.xml\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolvingOptions(EvolutionParameters, SiteOptions["EvolvingNode"]):
    """Options of a site that changes; see also `EvolutionParameters`.

    Attributes:
        clock: of the web.
        begin: date at time 0 of the clock.
    """

    kind: ClassVar[NodeKind] = NodeKind.EVOLVING
    clock: WebClock = field(default_factory=WebClock, compare=False)
    begin: datetime = EPOCH

    def build(self, plan: NodePlan) -> EvolvingNode:
        """Make the node."""
        return EvolvingNode(plan, self)


class EvolvingNode(ChangingSite):
    """A site whose responses depend only on its options and the clock.

    The front page has the links to other nodes, and to lists of links, `/list/N`. Page
    N is at `/page/N` in HTML, or at `/data/N` in Turtle. robots.txt names the sitemaps.

    Attributes:
        options: of the site.
        history: of its pages.
        listings: its sitemaps.
        documents: writer of its pages.
    """

    def __init__(self, plan: NodePlan, options: EvolvingOptions) -> None:
        super().__init__(plan)
        self.options = options
        self.history = SiteHistory(options)
        self.listings = SitemapListings(self.history)
        self.documents = PageWriter(
            options.mirror_of or plan.origin,
            has_canonical=options.has_canonical,
            added=options.added,
        )

    @property
    def now(self) -> float:
        """The time of the web, in seconds since it began."""
        return self.options.clock.now()

    def date(self, at: float) -> datetime:
        """Return the date of a time, rounded down to seconds."""
        return self.options.begin + timedelta(seconds=int(at))

    def sitemap_urls(self, at: float) -> list[str]:
        """Return the sitemaps that robots.txt names at a time."""
        if self.options.has_index:
            return [self.origin + INDEX_PATH]
        return [self.origin + one.path for one in self.listings.files(at)]

    # -- for clients ---------------------------------------------------------------

    @property
    def robots(self) -> str:
        """`Sitemap:` lines."""
        lines = [f"Sitemap: {url}\n" for url in self.sitemap_urls(self.now)]
        return "".join(("User-agent: *\nDisallow:\n", *lines))

    def iter_truth(self) -> Iterator[Statement]:
        """Yield the quads that can be found now: of listed or linked pages."""
        now = self.now
        for link in self.plan.links:
            yield self._front_subject, SEE_ALSO, f"<{link}>"
        for page in self.history.pages(now):
            spans = (span for one in page.paths for span in (one.listed, one.linked))
            if page.is_there(now) and any(span.holds(now) for span in spans):
                related = self.history.related(page)
                revision = page.revision(now)
                yield from self.documents.statements(page, revision, related)

    def respond_other(self, request: NodeRequest) -> NodeResponse:
        """Serve pages, lists of links and sitemaps in their present state."""
        return self.respond_at(request, self.now)

    def respond_at(self, request: NodeRequest, at: float) -> NodeResponse:
        """Respond to a request at a time of the web."""
        target = request.target
        if target == FRONT_PATH:
            return self._respond_front(request, at)
        if target == INDEX_PATH and self.options.has_index:
            return self._respond_index(request, at)
        if match := _SITEMAP.match(target):
            number = int(match[1])
            files = [one for one in self.listings.files(at) if one.number == number]
            return self._respond_sitemap(request, files[0], at) if files else NOT_FOUND
        if match := _NUMBER.match(target):
            if target == hub_path(int(match[2])):
                return self._respond_hub(request, int(match[2]), at)
            return self._respond_page(request, int(match[2]), at)
        return self._no_page()

    def _respond_front(self, request: NodeRequest, at: float) -> NodeResponse:
        urls = [hub_path(hub) for hub in self.history.hubs(at)]
        body = write_links(
            "A site",
            urls,
            subject=self._front_subject[1:-1],
            objects=self.plan.links,
        )
        changed = self.history.front_changes(at)[-1]
        return self._respond(request, body, HTML, changed, at)

    def _respond_hub(self, request: NodeRequest, hub: int, at: float) -> NodeResponse:
        paths = self.history.hub_paths(hub, at)
        if not paths:
            return self._no_page()
        urls = [one.path for one in paths if one.linked.holds(at)]
        body = write_links(f"List {hub}", urls)
        changed = self.history.hub_changes(hub, at)[-1]
        return self._respond(request, body, HTML, changed, at)

    def _respond_page(
        self, request: NodeRequest, number: int, at: float
    ) -> NodeResponse:
        page = self.history.page(number, at)
        paths = page.paths if page else ()
        path = next((one for one in paths if one.path == request.target), None)
        if page is None or path is None:
            return self._no_page()
        if not page.is_there(at):
            return self._vanished(page)
        if page.fails(at):
            return _UNAVAILABLE
        return self._respond(
            request,
            self.body_of(path, page.revision(at)),
            HTML if page.is_html else TURTLE,
            page.last_change(at),
            at,
            headers=self.documents.link_header(page),
        )

    def body_of(self, path: PagePath, revision: int) -> bytes:
        """Return the document at a URL of a page, of one revision."""
        related = self.history.related(path.page)
        return self.documents.write(path, revision, related)

    def _respond_index(self, request: NodeRequest, at: float) -> NodeResponse:
        files = self.listings.files(at)
        items = [
            (self.origin + one.path, self._date_text(self.listings.index_lastmod(one)))
            for one in files
        ]
        changed = max(one.modified for one in files)
        return self._respond(request, write_index(items), XML, changed, at)

    def _respond_sitemap(
        self, request: NodeRequest, sitemap: SitemapFile, at: float
    ) -> NodeResponse:
        entries = (
            ListedUrl(
                self.origin + entry.path.path,
                self._date_text(entry.lastmod),
                self.listings.priority(entry.path),
                self.listings.changefreq(entry.path),
            )
            for entry in sitemap.entries
        )
        changed = self.date(sitemap.modified)
        body = write_sitemap(entries, SitemapSyntax.URLSET, changed=changed)
        return self._respond(request, body, XML, sitemap.modified, at)

    # -- how they are made -----------------------------------------------------------

    @property
    def _front_subject(self) -> str:
        return f"<urn:dataweb:{self.plan.address}-{self.plan.port}:front>"

    def _date_text(self, at: float | None) -> str:
        if at is None:
            return ""
        date = self.date(at)
        return f"{date:%Y-%m-%d}" if self.options.is_day_precise else w3c_date(date)

    def _vanished(self, page: PageHistory) -> NodeResponse:
        if page.vanished_as is VanishedAs.SOFT:
            return _SOFT_ERROR
        return GONE if page.vanished_as is VanishedAs.GONE else NOT_FOUND

    def _no_page(self) -> NodeResponse:
        return _SOFT_ERROR if self.options.answers_errors_with_200 else NOT_FOUND

    def _respond(
        self,
        request: NodeRequest,
        body: bytes,
        content_type: str,
        changed: float,
        at: float,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> NodeResponse:
        """Serve a document that changed at a time, with the validators of this host."""
        fields = dict(headers or {})
        etag: str | None = ""
        modified: datetime | None = self.date(changed)
        match self.options.validator:
            case ValidatorBehaviour.NONE:
                etag = modified = None
            case ValidatorBehaviour.ETAG:
                modified = None
            case ValidatorBehaviour.MODIFIED:
                etag = None
            case ValidatorBehaviour.EVER_NEW:
                etag, modified = f"at-{at:.6f}", self.date(at)
            case ValidatorBehaviour.STUCK:
                etag, modified = "first", self.options.begin
        return respond(
            request,
            body,
            content_type=content_type,
            modified=modified,
            etag=etag,
            headers=fields,
        )


_UNAVAILABLE = text_response(503)
_SOFT_ERROR = NodeResponse(200, NO_PAGE, content_type=HTML)
