"""Classes and properties: counts, vocabularies as facets, and samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.query_examples import term_queries
from rdfcrawl.monitor.page.rendering import int_parameter
from rdfcrawl.monitor.page.vocabulary_table import (
    KINDS,
    MOST_SPACES,
    TermChoice,
    read_terms,
)

_SAMPLES: Final = """
SELECT subject, value, document FROM vocabulary_sample WHERE kind = ? AND term = ?
"""
_OF_BOTH: Final = 25  # rows of each kind
_OF_ONE: Final = 100  # rows of a page of one kind
_MOST_PAGES: Final = 1000
_MAX_TEXT: Final = 200
_MAX_TERM: Final = 2000


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the views."""

    async def many(request: web.Request) -> web.Response:
        values = await _read_classes(context, request.query)
        return context.renderer.respond(request, "classes.html", **values)

    async def one(request: web.Request) -> web.Response:
        kind = _kind(request.query, "class")
        term = request.query.get("u", "")[:_MAX_TERM]
        rows = (await read_terms(context.access)).rows
        n = next((x.n for x in rows if (x.kind, x.term) == (kind, term)), None)
        return context.renderer.respond(
            request,
            "term.html",
            code=404 if n is None else 200,
            kind=kind,
            term=term,
            n=n,
            samples=await context.access.listed(_SAMPLES, KINDS[kind], term),
            queries=term_queries(kind, term),
        )

    return [web.get("/classes", many), web.get("/term", one)]


async def _read_classes(
    context: PageContext, query: Mapping[str, str]
) -> dict[str, Any]:
    """Return the chosen classes and properties.

    Raises:
        web.HTTPBadRequest: a parameter has no such value.
    """
    kind = _kind(query, "")
    text = query.get("q", "")[:_MAX_TEXT].strip().lower()
    choice = TermChoice(text, query.get("space", "")[:_MAX_TERM])
    page = int_parameter(query, "page", 1, least=1, most=_MOST_PAGES)
    table = await read_terms(context.access)
    most = _OF_ONE if kind else _OF_BOTH
    kinds, n_pages = [], 1
    for name in [kind] if kind else KINDS:
        of_kind = [each for each in table.rows if each.kind == name]
        chosen = [each for each in of_kind if choice.has(each)]
        n_pages = max(1, -(-len(chosen) // most)) if kind else 1
        page = min(page, n_pages)
        n_other = table.n_other.get(name, 0)
        kinds.append(
            {
                "kind": name,
                "rows": chosen[(page - 1) * most : page * most],
                "n_rows": len(chosen),
                "n": sum(each.n for each in of_kind) + n_other,
                "n_other": n_other,  # statements with terms that have no rows
            }
        )
    spaces = table.spaces(choice)
    return {
        "kinds": kinds,
        "spaces": spaces[:MOST_SPACES],
        "n_spaces": len(spaces),
        "kind": kind,
        "q": text,
        "space": choice.space,
        "page": page,
        "n_pages": n_pages,
    }


def _kind(query: Mapping[str, str], default: str) -> str:
    kind = query.get("kind") or default
    if kind not in ("", *KINDS):
        raise web.HTTPBadRequest(reason=f"kind: must be {' or '.join(KINDS)}")
    return kind
