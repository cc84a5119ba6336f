"""A node of annotated HTML pages, linked from one entrance page."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import pyoxigraph as ox

from rdfcrawl.dataweb.messages import NOT_FOUND, NodeResponse
from rdfcrawl.dataweb.nodes.base import SEE_ALSO, NodePlan, WebNode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import Statement

ENTRANCE_PATH = "/dataset-0/resource-0"


@dataclass(frozen=True, slots=True, kw_only=True)
class RdfaPage:
    """One page of one node.

    Attributes:
        path: path of its URL.
        content_type: declared by the server.
        body: the page.
        turtle: the triples in it; relative IRIs are relative to the page.
    """

    path: str
    content_type: str
    body: bytes
    turtle: bytes


class RdfaNode(WebNode):
    """Pages with RDFa; the entrance links to all of them and to other nodes."""

    def __init__(self, plan: NodePlan, pages: Sequence[RdfaPage]) -> None:
        super().__init__(plan)
        self._pages = {page.path: page for page in pages}
        self._responses = {
            page.path: NodeResponse(200, page.body, content_type=page.content_type)
            for page in pages
        }
        self._responses[ENTRANCE_PATH] = NodeResponse(
            200, self._entrance().encode(), content_type="text/html; charset=utf-8"
        )

    def respond(self, request: NodeRequest) -> NodeResponse:
        """Respond 200 for the entrance and the pages, else 404."""
        return self._responses.get(request.target, NOT_FOUND)

    def iter_truth(self) -> Iterator[Statement]:
        """Yield the links of the entrance and the triples of each page.

        Blank nodes are numbered per page: they stay apart, and are the same in
        every run.
        """
        entrance = f"<{self.plan.origin}{ENTRANCE_PATH}>"
        for url in self._links():
            yield entrance, SEE_ALSO, f"<{url}>"
        for number, page in enumerate(self._pages.values()):
            labels: dict[object, str] = {}
            for quad in ox.parse(
                page.turtle,
                format=ox.RdfFormat.TURTLE,
                base_iri=f"{self.plan.origin}{page.path}",
                lenient=True,
            ):
                yield (
                    _label(quad.subject, number, labels),
                    str(quad.predicate),
                    _label(quad.object, number, labels),
                )

    def _links(self) -> Iterator[str]:
        for path in self._pages:
            yield self.plan.origin + path
        yield from self.plan.links

    def _entrance(self) -> str:
        links = "\n".join(
            f'<a property="rdfs:seeAlso" href="{escape(url)}">{escape(url)}</a>'
            for url in self._links()
        )
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            "<title>Entrance</title></head><body>\n"
            f'<p resource="{self.plan.origin}{ENTRANCE_PATH}">\n{links}\n</p>'
            "\n</body></html>\n"
        )


def _label(term: object, number: int, labels: dict[object, str]) -> str:
    if isinstance(term, ox.BlankNode):
        return labels.setdefault(term, f"_:p{number}x{len(labels)}")
    return str(term)
