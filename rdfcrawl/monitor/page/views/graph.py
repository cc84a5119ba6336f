"""Graph: the links between the hosts of the crawl, as a picture and a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aiohttp import web

from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.host_pictures import (
    HostPicture,
    PictureScope,
    PictureService,
)
from rdfcrawl.monitor.page.rendering import int_parameter

_NODES: Final = 80
_LEAST_NODES, _MOST_NODES = 8, 300
_ABOUT: Final = ("host", "domain", "suffix", "vocabulary", "linked")
_GROUPS: Final = ("host", "domain", "vocabulary")
_OUTSIDE: Final = ("yes", "no")
_MAX_NAME: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphView:
    """A picture.

    Attributes:
        about: scope of the picture: host, domain, suffix, vocabulary, or a linked host
            that was not crawled; empty: all.
        name: of that.
        most: nodes.
        outside: whether hosts that were not crawled are shown: `yes` or `no`.
        group: of hosts: `host`, `domain` or `vocabulary`.
        picture: with its circles and lines.
    """

    about: str
    name: str
    most: int
    outside: str
    group: str
    picture: HostPicture


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""
    service = PictureService(context.access.root)

    async def show(request: web.Request) -> web.Response:
        query = request.query
        most = int_parameter(
            query, "nodes", _NODES, least=_LEAST_NODES, most=_MOST_NODES
        )
        about = next((each for each in _ABOUT if query.get(each)), "")
        name = query[about][:_MAX_NAME] if about else ""
        name = name if about == "vocabulary" else name.lower()  # an IRI is exact
        outside = query.get("outside") or "yes"
        if outside not in _OUTSIDE:
            raise web.HTTPBadRequest(reason="outside: must be yes or no")
        group = query.get("group") or "host"
        if group not in _GROUPS:
            raise web.HTTPBadRequest(
                reason=f"group: must be one of {', '.join(_GROUPS)}"
            )
        scope = PictureScope(about, name, most, outside == "yes", group)
        picture = await service.picture(scope)
        view = GraphView(
            about=about,
            name=name,
            most=most,
            outside=outside,
            group=group,
            picture=picture,
        )
        return context.renderer.respond(request, "graph.html", view)

    return [web.get("/datasets/graph", show)]
