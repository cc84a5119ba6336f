"""Hosts: all of them in a table, by pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from aiohttp import web

from rdfcrawl.core.times import now_ms
from rdfcrawl.monitor.operating.hosts import HostPhase, read_summaries
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.host_table import COLUMNS, HostChoice, HostRow, state_of
from rdfcrawl.monitor.page.rendering import int_parameter, one_of

PAGE: Final = 50
_MOST: Final = 200  # in one page
_MAX_PAGES: Final = 10_000_000
_MAX_TEXT: Final = 253  # longest name of a host
DOWN: Final = frozenset(COLUMNS) - {"name", "phase", "next"}
"""Columns that are descending by default."""


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""
    sweep = context.sweep

    async def show(request: web.Request) -> web.Response:
        choice = choice_of(request.query)
        await sweep.look()
        choice, n, hosts = await sweep.table.choose(choice)
        return context.renderer.respond(
            request,
            "hosts.html",
            hosts=await _refreshed(context, hosts),
            n_hosts=n,
            sort=choice.sort,
            direction="desc" if choice.is_down else "asc",
            first=choice.first + 1 if hosts else 0,  # number of the first host
            most=choice.most,
            page=choice.first // choice.most + 1,
            n_pages=max(1, -(-n // choice.most)),
            q=choice.text,
            phase=choice.phase,
            faulty=choice.is_faulty,
            n_swept=sweep.n_swept,
            age_secs=sweep.age_secs,
            now_ms=now_ms(),
            why_away=context.access.why_away,
            message=context.messages.of(request.query),
        )

    return [web.get("/hosts", show)]


def choice_of(query: Mapping[str, str]) -> HostChoice:
    """Return the choice of a query string.

    Raises:
        web.HTTPBadRequest: the query is wrong.
    """
    sort = one_of(query, "sort", COLUMNS, "documents")
    usual = "desc" if sort in DOWN else "asc"
    direction = one_of(query, "direction", ("asc", "desc"), usual)
    most = int_parameter(query, "most", PAGE, least=1, most=_MOST)
    page = int_parameter(query, "page", 1, least=1, most=_MAX_PAGES)
    return HostChoice(
        sort=sort,
        is_down=direction == "desc",
        text=query.get("q", "")[:_MAX_TEXT].strip().lower(),
        phase=one_of(query, "phase", HostPhase, ""),
        is_faulty=query.get("faulty", "") not in ("", "0", "no"),
        first=(page - 1) * most,
        most=most,
    )


async def _refreshed(context: PageContext, hosts: Sequence[HostRow]) -> list[HostRow]:
    """Return hosts in their present states."""
    keys = [each.key for each in hosts]
    found = await context.access.read(lambda crawl: read_summaries(crawl, keys))
    states = {each.key: each for each in found or ()}
    return [
        replace(each, **state_of(states[each.key])) if each.key in states else each
        for each in hosts
    ]
