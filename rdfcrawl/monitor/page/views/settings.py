"""Settings: arguments and settings of the crawl."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from rdfcrawl.core.errors import hide_logins
from rdfcrawl.frontier.queue.profiles import SpiderProfiles
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.texts import shown_text
from rdfcrawl.stores.crawl_settings import (
    HIDDEN,
    KeptSetting,
    is_secret,
    read_settings,
)

_MAX_CHARS: Final = 500  # of a value


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A setting or an argument.

    Attributes:
        name: of it.
        value: as text, without secrets; long ones are cut.
        source: of a setting: `project`, `spider` or `command line`; of an argument, the
            name of its spider.
    """

    name: str
    value: str
    source: str


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""
    access = context.access

    async def show(request: web.Request) -> web.Response:
        arguments = await access.read(_read_arguments)
        kept = await asyncio.to_thread(read_settings, access.root)
        return context.renderer.respond(
            request,
            "settings.html",
            crawl=access.name,
            arguments=arguments,
            settings=None if kept is None else _listed(kept),
            why_away=access.why_away,
        )

    return [web.get("/settings", show)]


async def _read_arguments(crawl: OperatedCrawl) -> list[ShownValue]:
    """Return the stored arguments of the spiders of a crawl."""
    profiles = SpiderProfiles(crawl.frontier, crawl.connection.outage)
    return [
        ShownValue(name, _argument(name, text), spider)
        for spider, texts in (await profiles.by_spider()).items()
        for name, text in sorted(texts.items())
    ]


def _argument(name: str, text: str) -> str:
    if is_secret(name):
        return HIDDEN
    return shown_text(hide_logins(text.removeprefix("data:,")), _MAX_CHARS)


def _listed(kept: list[KeptSetting]) -> list[ShownValue]:
    """Return settings as texts, those of the command line first."""
    kept = sorted(kept, key=lambda each: (each.source, each.name))
    return [ShownValue(each.name, _text(each.value), each.source) for each in kept]


def _text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shown_text(text, _MAX_CHARS)
