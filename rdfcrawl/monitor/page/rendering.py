"""Render values as HTML or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import jinja2
from aiohttp import web

from rdfcrawl.monitor.operating.tables import as_json
from rdfcrawl.monitor.page.guarding import FormToken
from rdfcrawl.monitor.page.options import PageOptions
from rdfcrawl.monitor.page.query_examples import shortened, shortened_space
from rdfcrawl.monitor.page.texts import FILTERS

VIEWS: Final = {
    "/": "Now",
    "/hosts": "Hosts",
    "/uri": "URI",
    "/datasets": "Datasets",
    "/classes": "Classes",
    "/query": "Query",
    "/report": "Report",
    "/settings": "Settings",
}


VIEW: Final = web.RequestKey("view", str)
"""The path of a view below the page of its crawl, in its request."""


class PageRenderer:
    """Renders values by templates, which escape all text.

    Args:
        options: with the prefix of the paths of the crawl.
        name: of the crawl; empty: of none.
        form_token: of forms.
        top: prefix of the paths of no crawl.
    """

    def __init__(
        self, options: PageOptions, name: str, form_token: FormToken, *, top: str
    ) -> None:
        self._options = options
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("rdfcrawl.monitor.page"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= FILTERS | {
            "shortened": shortened,
            "shortened_space": shortened_space,
        }
        self._templates.globals |= {
            "at": self.at,
            "top": top,
            "views": VIEWS,
            "crawl_name": name,
            "has_control": options.has_control,
            "form_token": form_token.text,
        }

    def at(self, path: str) -> str:
        """Return a path of the page of the crawl as visitors see it."""
        return self._options.prefix + path

    def respond(
        self, request: web.Request, template: str, *, code: int = 200, **values: Any
    ) -> web.Response:
        """Return values as JSON if the client prefers JSON, or else by a template.

        Args:
            request: of the client.
            template: of HTML; the values are the members of its `it`.
            code: status of HTTP.
            values: of the view: JSON values, or dataclasses.
        """
        if wants_json(request):
            return web.Response(
                text=as_json(values), content_type="application/json", status=code
            )
        path = request.get(VIEW, "")
        text = self.text(template, values, path=path)
        return web.Response(text=text, content_type="text/html", status=code)

    def text(self, template: str, values: Mapping[str, Any], *, path: str) -> str:
        """Return values as HTML.

        Args:
            template: see `respond`.
            values: likewise.
            path: of the view, without prefix.
        """
        return self._templates.get_template(template).render(it=values, path=path)


def wants_json(request: web.Request) -> bool:
    """Return whether a client wants JSON: by `?format=json`, or by `Accept`."""
    if "format" in request.query:
        return request.query["format"] == "json"
    accepted = request.headers.get("Accept", "")
    return "application/json" in accepted and "text/html" not in accepted


def int_parameter(
    query: Mapping[str, str], name: str, default: int, *, least: int = 0, most: int
) -> int:
    """Return an integer of a query string, within its bounds.

    Raises:
        web.HTTPBadRequest: it is not an integer.
    """
    text = query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise web.HTTPBadRequest(reason=f"{name}: must be an integer")
    return min(max(int(text), least), most)


def one_of(
    query: Mapping[str, str], name: str, possible: Iterable[str], default: str
) -> str:
    """Return a word of a query string; the default, if it is missing or empty.

    Raises:
        web.HTTPBadRequest: the word is none of the possible ones.
    """
    value, words = query.get(name) or default, (*possible,)
    if value not in (*words, default):
        raise web.HTTPBadRequest(reason=f"{name}: must be one of {', '.join(words)}")
    return value
