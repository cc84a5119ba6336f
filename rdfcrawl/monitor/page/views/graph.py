"""Graph: the links between the hosts of the crawl, as a picture and a table."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.host_pictures import PictureScope, PictureService
from rdfcrawl.monitor.page.rendering import int_parameter, one_of

_NODES: Final = 80
_LEAST_NODES, _MOST_NODES = 8, 300
_ABOUT: Final = ("host", "domain", "suffix", "vocabulary", "linked")
_GROUPS: Final = ("host", "domain", "vocabulary")
_OUTSIDE: Final = ("yes", "no")
_MAX_NAME: Final = 300


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
        outside = one_of(query, "outside", _OUTSIDE, "yes")
        group = one_of(query, "group", _GROUPS, "host")
        scope = PictureScope(about, name, most, outside == "yes", group)
        return context.renderer.respond(
            request,
            "graph.html",
            about=about,
            name=name,
            most=most,
            outside=outside,
            group=group,
            picture=await service.picture(scope),
        )

    return [web.get("/datasets/graph", show)]
