"""Query: SPARQL over the stored statements of the crawl."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web

from rdfcrawl.core.namespaces import PREFIXES
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.guarding import is_foreign
from rdfcrawl.monitor.page.query_examples import QueryExample, make_examples
from rdfcrawl.monitor.page.query_rules import MAX_QUERY_CHARS
from rdfcrawl.monitor.page.query_service import (
    AnswerKey,
    QueryAnswer,
    QueryOptions,
    QueryRefused,
    QueryService,
)
from rdfcrawl.monitor.page.rendering import int_parameter
from rdfcrawl.stores.options import StoreOptions
from rdfcrawl.stores.segment_file import log_bytes

_TERMS: Final = "SELECT term FROM vocabulary WHERE kind = ? ORDER BY n DESC LIMIT 10"
_TYPES: Final = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "ttl": "text/turtle",
    "nt": "application/n-triples",
}
_ON_PAGE: Final = 100  # rows
_MOST_ON_PAGE: Final = 1000
_MOST_PAGES: Final = 100_000
_FOREIGN: Final = "a link of another site: read the query, and run it yourself"


class _QueryView:
    """A query and its answer, on the page or as a file."""

    def __init__(self, context: PageContext) -> None:
        self._context = context
        settings = context.access.settings
        is_once = StoreOptions.one(settings, "is_once")
        options = QueryOptions.from_settings(settings, is_once=is_once)
        self._service = QueryService(context.access.root, options)

    async def show(self, request: web.Request) -> web.Response:
        """Show a query and a page of its answer, or send all of it."""
        given, service = request.query, self._service
        query = given.get("q", "").replace("\r\n", "\n")
        max_rows = service.options.max_rows
        rows = int_parameter(given, "rows", max_rows, least=1, most=max_rows)
        most = int_parameter(given, "most", _ON_PAGE, least=1, most=_MOST_ON_PAGE)
        page = int_parameter(given, "page", 0, least=1, most=_MOST_PAGES)
        form = given.get("as", "")
        answer, refusal, status = None, "", 200
        try:
            if query.strip():
                _check(request, form)
                if form:
                    answer = await service.file(query, rows=rows, form=form)
                else:
                    answer = await service.page(AnswerKey(query, rows, most), page)
        except QueryRefused as error:
            refusal, status = str(error), error.status
        if form and answer is not None and answer.kind != "boolean":
            return _download(answer, form)
        return self._context.renderer.respond(
            request,
            "query.html",
            code=status,
            query=query,
            answer=answer,
            refusal=refusal,
            rows=rows,
            max_rows=max_rows,
            most=most,
            secs=service.options.secs,
            max_chars=MAX_QUERY_CHARS,
            is_following=given.get("follow", "") == "1",
            examples=await _examples(self._context),
            prefixes=PREFIXES,
        )

    async def stored(self, _request: web.Request) -> web.Response:
        """Send the size of the log, which changes when the crawl stores more."""
        root = self._context.access.root
        size = await asyncio.to_thread(log_bytes, root / "quads")
        return web.json_response({"n_bytes": size})


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""
    view = _QueryView(context)
    return [web.get("/query", view.show), web.get("/query/stored", view.stored)]


def _check(request: web.Request, form: str) -> None:
    if form and form not in _TYPES:
        raise QueryRefused(400, f"as: must be one of {', '.join(_TYPES)}")
    if is_foreign(request):
        raise QueryRefused(403, _FOREIGN)


async def _examples(context: PageContext) -> list[QueryExample]:
    terms = [
        [str(term) for (term,) in await context.access.indexed(_TERMS, (kind,))]
        for kind in ("class", "predicate")
    ]
    return make_examples(*terms)


def _download(answer: QueryAnswer, form: str) -> web.Response:
    """Return an answer as a file; a header states whether it is cut."""
    return web.Response(
        text=answer.text,
        content_type=_TYPES[form],
        headers={
            "Content-Disposition": f'attachment; filename="answer.{form}"',
            "Rdfcrawl-Rows": str(answer.n_rows),
            "Rdfcrawl-Cut": "yes" if answer.is_cut else "no",
        },
    )
