"""A site with collections in pages: Hydra, `Link`, TREE and LDES."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from rdfcrawl.core.namespaces import DCTERMS, HYDRA, LDES, TREE, XSD
from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NOT_ACCEPTABLE, NOT_FOUND, NodeResponse
from rdfcrawl.dataweb.negotiation import RDF_NEGOTIATOR
from rdfcrawl.dataweb.nodes.base import LABEL, RDF_TYPE, SEE_ALSO, serialize
from rdfcrawl.dataweb.nodes.site import (
    EPOCH,
    ChangingSite,
    SiteOptions,
    respond,
    w3c_date,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import NodePlan, Statement

MINUTE = timedelta(minutes=1)
_PAGE = re.compile(r"/(hydra|hydra-old|link|tree|ldes)(?:\?page=([1-9][0-9]{0,6}))?\Z")


class PagingStyle(StrEnum):
    """How pages link to the next one."""

    HYDRA = "hydra"  # hydra:view, hydra:next
    HYDRA_OLD = "hydra-old"  # hydra:nextPage of a PagedCollection
    LINK = "link"  # Link: rel="next"
    TREE = "tree"  # tree:relation, a binary search tree
    LDES = "ldes"  # tree:relation by time; full pages never change


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedOptions(SiteOptions["PagedNode"]):
    """Options of paged collections.

    Attributes:
        n_members: of each collection.
        page_size: members of one page.
        styles: one collection of each.
        loops: the last page of Hydra and `Link` leads to the first.
    """

    kind: ClassVar[NodeKind] = NodeKind.PAGED
    n_members: int = 25
    page_size: int = 10
    styles: tuple[PagingStyle, ...] = tuple(PagingStyle)
    loops: bool = False

    def build(self, plan: NodePlan) -> PagedNode:
        """Make the node."""
        return PagedNode(plan, self)


class PagedNode(ChangingSite):
    """Members are in the pages and nowhere else; `/` names each collection.

    Page 1 of a collection is at `/STYLE`, page N at `/STYLE?page=N`.
    """

    def __init__(self, plan: NodePlan, options: PagedOptions) -> None:
        super().__init__(plan)
        self.options = options
        self._counts = dict.fromkeys(options.styles, options.n_members)

    # -- for tests -----------------------------------------------------------------

    def first_url(self, style: PagingStyle) -> str:
        """Return the URL of a collection, which is its first page."""
        return f"{self.origin}/{style}"

    def page_urls(self, style: PagingStyle) -> list[str]:
        """Return the URLs of all present pages of a collection."""
        return [self._page(style, n) for n in range(1, self._n_pages(style) + 1)]

    def members(self, style: PagingStyle) -> list[Statement]:
        """Return the triples of all members of a collection."""
        numbers = range(self._counts[style])
        return [one for number in numbers for one in self._member(style, number)]

    def revise(self, added: int = 5) -> None:
        """Add members to the end of each collection."""
        with self._lock:
            for style in self._counts:
                self._counts[style] += added

    def change(self, **arguments: Any) -> object:
        """Do `revise`."""
        self.revise(**arguments)
        return None

    def iter_truth(self) -> Iterator[Statement]:
        """Yield the triples of all members."""
        for style in self.options.styles:
            yield from self.members(style)

    # -- for clients ---------------------------------------------------------------

    def respond_other(self, request: NodeRequest) -> NodeResponse:
        """Serve the front page and the pages of collections."""
        if request.target == "/":
            return self._respond(request, list(self._front()), {})
        match = _PAGE.match(request.target)
        if match is None or match[1] not in self.options.styles:
            return NOT_FOUND
        style, page = PagingStyle(match[1]), int(match[2] or 1)
        if page > self._n_pages(style) or match[2] == "1":
            return NOT_FOUND
        statements = [*self._describe(style, page), *self._members_of(style, page)]
        is_full = page * self.options.page_size < self._counts[style]
        headers = {"Cache-Control": "no-cache"}
        if style is PagingStyle.LDES and is_full:
            headers["Cache-Control"] = "public, max-age=31536000, immutable"
        following = self._following(style, page)
        if style is PagingStyle.LINK and following:
            headers["Link"] = f'<{self._page(style, following)}>; rel="next"'
        return self._respond(request, statements, headers)

    def _respond(
        self, request: NodeRequest, statements: list[Statement], headers: dict[str, str]
    ) -> NodeResponse:
        rdf_format = RDF_NEGOTIATOR.choose(request.accept)
        if rdf_format is None:
            return NOT_ACCEPTABLE
        return respond(
            request,
            serialize(statements, rdf_format),
            content_type=rdf_format.media_type,
            headers={"Vary": "Accept", **headers},
        )

    def _front(self) -> Iterator[Statement]:
        for style in self.options.styles:
            yield f"<{self.origin}/>", SEE_ALSO, f"<{self.first_url(style)}>"

    # -- pages -----------------------------------------------------------------------

    def _n_pages(self, style: PagingStyle) -> int:
        return max(-(-self._counts[style] // self.options.page_size), 1)

    def _page(self, style: PagingStyle, page: int) -> str:
        return self.first_url(style) + (f"?page={page}" if page > 1 else "")

    def _following(self, style: PagingStyle, page: int) -> int:
        if page < self._n_pages(style):
            return page + 1
        return 1 if self.options.loops else 0

    def _collection(self, style: PagingStyle) -> str:
        return f"<{self.first_url(style)}#collection>"

    def _describe(self, style: PagingStyle, page: int) -> Iterator[Statement]:
        node, collection = f"<{self._page(style, page)}>", self._collection(style)
        match style:
            case PagingStyle.HYDRA:
                yield collection, RDF_TYPE, f"<{HYDRA}Collection>"
                total = f'"{self._counts[style]}"^^<{XSD}integer>'
                yield collection, f"<{HYDRA}totalItems>", total
                yield collection, f"<{HYDRA}view>", node
                yield node, RDF_TYPE, f"<{HYDRA}PartialCollectionView>"
                if following := self._following(style, page):
                    yield node, f"<{HYDRA}next>", f"<{self._page(style, following)}>"
            case PagingStyle.HYDRA_OLD:
                yield node, RDF_TYPE, f"<{HYDRA}PagedCollection>"
                yield node, f"<{HYDRA}firstPage>", f"<{self._page(style, 1)}>"
                if following := self._following(style, page):
                    target = f"<{self._page(style, following)}>"
                    yield node, f"<{HYDRA}nextPage>", target
            case PagingStyle.TREE:
                yield collection, RDF_TYPE, f"<{TREE}Collection>"
                yield collection, f"<{TREE}view>", f"<{self._page(style, 1)}>"
                yield node, RDF_TYPE, f"<{TREE}Node>"
                for child in (2 * page, 2 * page + 1):
                    if child <= self._n_pages(style):
                        yield from self._relation(style, page, child, "Relation")
            case PagingStyle.LDES:
                yield collection, RDF_TYPE, f"<{LDES}EventStream>"
                yield collection, f"<{TREE}view>", f"<{self._page(style, 1)}>"
                yield collection, f"<{LDES}timestampPath>", f"<{DCTERMS}modified>"
                yield collection, f"<{LDES}versionOfPath>", f"<{DCTERMS}isVersionOf>"
                yield node, RDF_TYPE, f"<{TREE}Node>"
                if page < self._n_pages(style):
                    kind = "GreaterThanOrEqualToRelation"
                    yield from self._relation(style, page, page + 1, kind)
                    first = page * self.options.page_size
                    relation = f"_:r{page + 1}"
                    yield relation, f"<{TREE}path>", f"<{DCTERMS}modified>"
                    yield relation, f"<{TREE}value>", self._time(first)

    def _relation(
        self, style: PagingStyle, page: int, child: int, kind: str
    ) -> Iterator[Statement]:
        relation, node = f"_:r{child}", f"<{self._page(style, page)}>"
        yield node, f"<{TREE}relation>", relation
        yield relation, RDF_TYPE, f"<{TREE}{kind}>"
        yield relation, f"<{TREE}node>", f"<{self._page(style, child)}>"

    def _members_of(self, style: PagingStyle, page: int) -> Iterator[Statement]:
        start = (page - 1) * self.options.page_size
        end = min(start + self.options.page_size, self._counts[style])
        relation = TREE if style in (PagingStyle.TREE, PagingStyle.LDES) else HYDRA
        for number in range(start, end):
            member = self._iri(style, number)
            yield self._collection(style), f"<{relation}member>", member
            yield from self._member(style, number)

    # -- members ---------------------------------------------------------------------

    def _iri(self, style: PagingStyle, number: int) -> str:
        return f"<{self.origin}/{style}#member-{number}>"

    def _time(self, number: int) -> str:
        when: datetime = EPOCH + number * MINUTE
        return f'"{w3c_date(when)}"^^<{XSD}dateTime>'

    def _member(self, style: PagingStyle, number: int) -> Iterator[Statement]:
        member = self._iri(style, number)
        yield member, LABEL, f'"Member {number} of {style}"@en'
        if style is PagingStyle.LDES:
            version_of = f"<{self.origin}/{style}#thing-{number % 7}>"
            yield member, f"<{DCTERMS}isVersionOf>", version_of
            yield member, f"<{DCTERMS}modified>", self._time(number)
        if style is self.options.styles[0]:
            for link in self.plan.links[number :: self.options.n_members]:
                yield member, f"<{self.origin}/ontology#next>", f"<{link}>"
