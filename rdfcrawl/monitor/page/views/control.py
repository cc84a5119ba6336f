"""Control: changes to a crawl by visitors, each confirmed; with `--control`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from aiohttp import web

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import counted
from rdfcrawl.monitor.operating.actions import budget_of, delay_of, steer_host
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from rdfcrawl.monitor.operating.steering import drain_all
from rdfcrawl.monitor.operating.tables import change_line
from rdfcrawl.monitor.operating.uris import add_uris, spider_names
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.guarding import read_form
from rdfcrawl.monitor.page.rendering import wants_json

logger = logging.getLogger(__name__)

_PATIENCE_SECS: Final = 60.0  # to drop a million URIs takes a while
_MAX_CHARS: Final = 4096
_MOST_SPIDERS: Final = 256
_SHOWN: Final = 200
_OF_HOST: Final = frozenset(["pause", "resume", "drop", "set-delay", "set-budget"])
_OF_VALUE: Final = frozenset(["set-delay", "set-budget", "add"])
_QUESTIONS: Final = {
    "pause": (
        "Pause this host?",
        "It is not claimed any longer; the present visit continues.",
    ),
    "resume": ("Resume this host?", "It is claimed again when its delay allows."),
    "drop": (
        "Drop all waiting URIs of this host?",
        (
            "Its URIs leave the queue and stay marked as seen, so that no link queues"
            " them again. This cannot be undone."
        ),
    ),
    "set-delay": (
        "Set the delay of this host?",
        (
            "From its next visit. A longer delay of its robots.txt or DOWNLOAD_DELAY"
            " takes precedence."
        ),
    ),
    "set-budget": (
        "Set the budget of this host?",
        "Refused URIs that were kept are queued as far as the budget allows.",
    ),
    "add": (
        "Add this seed?",
        "It extends the scope of the crawl like its other seeds.",
    ),
    "stop": (
        "Stop the crawl?",
        (
            "All workers finish the work under way, give back the rest, and end as"
            " drained. Nothing is lost, and the crawl can be started again to continue."
            " Workers that are started later are not affected."
        ),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlStep:
    """A change that a visitor requests.

    Attributes:
        action: `pause`, `resume`, `drop`, `set-delay`, `set-budget`, `add` or `stop`.
        key: of the host; empty if not applicable.
        value: seconds, URIs or a URL; empty if not applicable.
        spider: of the seed to add; empty for the first of the crawl.
    """

    action: str
    key: str
    value: str
    spider: str = ""

    @classmethod
    def checked(cls, given: Mapping[str, str]) -> ControlStep:
        """Parse a step.

        Raises:
            ConfigError: something is missing or wrong.
        """
        action, key, value, spider = (
            given.get(name, "").strip() for name in ("action", "key", "value", "spider")
        )
        if action not in _QUESTIONS:
            raise ConfigError(f"action: must be one of {', '.join(_QUESTIONS)}")
        if max(map(len, (key, value, spider))) > _MAX_CHARS:
            raise ConfigError(
                f"key, value, spider: have more than {_MAX_CHARS} characters"
            )
        if action in _OF_HOST and not key:
            raise ConfigError("key: name a host")
        if action in _OF_VALUE and not value:
            raise ConfigError("value: is missing")
        if action == "set-delay":
            delay_of(value)
        if action == "set-budget":
            budget_of(value)
        return cls(
            action=action,
            key=key if action in _OF_HOST else "",
            value=value if action in _OF_VALUE else "",
            spider=spider if action == "add" else "",
        )

    @property
    def back(self) -> str:
        """Path of the view with the form."""
        return f"/host?{urlencode({'key': self.key})}" if self.key else "/hosts"


class _ControlView:
    """Asks visitors to confirm a step, and carries it out."""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def _refused(self, request: web.Request, error: str, code: int) -> web.Response:
        values = {"step": None, "question": "", "effect": "", "spiders": ()}
        return self._context.renderer.respond(
            request, "control.html", code=code, error=error, back="/hosts", **values
        )

    def _check(self) -> None:
        if not self._context.options.has_control:
            raise web.HTTPForbidden(reason="the page has no --control")

    async def confirm(self, request: web.Request) -> web.Response:
        """Show a step to confirm."""
        self._check()
        context = self._context
        try:
            step = ControlStep.checked(request.query)
        except ConfigError as error:
            return self._refused(request, str(error), 400)
        question, effect = _QUESTIONS[step.action]
        return context.renderer.respond(
            request,
            "control.html",
            step=step,
            question=question,
            effect=effect,
            back=step.back,
            error="",
            spiders=await _spiders(context) if step.action == "add" else (),
        )

    async def change(self, request: web.Request) -> web.Response:
        """Carry out a confirmed step."""
        self._check()
        context = self._context
        try:
            step = ControlStep.checked(await read_form(request))
            message = await do_step(context, step)
        except ConfigError as error:
            return self._refused(request, str(error), 400)
        if message is None:
            why = context.access.why_away or "it did not respond in time"
            return self._refused(request, f"not confirmed by the frontier: {why}", 503)
        logger.info("a visitor's %s: %s", step.action, message)
        if wants_json(request):
            return context.renderer.respond(
                request, "control.html", step=step, message=message
            )
        mark = "&" if "?" in step.back else "?"
        message_query = urlencode({"message": context.messages.note(message)})
        raise web.HTTPSeeOther(context.renderer.at(f"{step.back}{mark}{message_query}"))


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""
    view = _ControlView(context)
    return [web.get("/control", view.confirm), web.post("/control", view.change)]


async def _spiders(context: PageContext) -> tuple[str, ...]:
    """Return the spiders to choose for a seed; none if there is no choice."""
    found = await context.access.read(spider_names) or []
    return tuple(found[:_MOST_SPIDERS]) if len(found) > 1 else ()


async def do_step(context: PageContext, step: ControlStep) -> str | None:
    """Carry out a confirmed step; return the result as text.

    None is returned if the frontier is away, or does not respond in time.

    Raises:
        ConfigError: it is refused.
    """

    async def act(crawl: OperatedCrawl) -> str | ConfigError:
        try:
            return await _act(crawl, step)
        except ConfigError as error:  # an error of the visitor: the frontier is well
            return error

    found = await context.access.read(act, patience_secs=_PATIENCE_SECS)
    if isinstance(found, ConfigError):
        raise found
    return found


async def _act(crawl: OperatedCrawl, step: ControlStep) -> str:
    if step.action == "stop":
        return _stopped(await drain_all(crawl))
    if step.action == "add":
        (added,) = await add_uris(crawl, [step.value], spider=step.spider)
        return f"{added.url[:_SHOWN]}: {added.fate}"
    change = await steer_host(crawl, step.action, step.key, step.value)
    return change_line(step.action, change)


def _stopped(workers: list[str]) -> str:
    if not workers:
        return "no worker is running"
    names = ", ".join(workers[:10]) + (" ..." if len(workers) > 10 else "")
    n_workers = counted(len(workers), "worker")
    return (
        f"{n_workers} will end after storing the work under way: {names}."
        f" Workers that are started later are not affected"
    )
