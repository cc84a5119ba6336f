"""Gather what is known of one URI of a crawl, whether workers run or not."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from redis.exceptions import RedisError

from rdfcrawl.errors import ConfigError, Decision, Reason
from rdfcrawl.explaining.logs import MAX_LISTED, UriSearch, way_to_seed
from rdfcrawl.explaining.rules import judge_by_settings, judge_by_spiders
from rdfcrawl.explaining.values import (
    ExplainedFetch,
    RuleVerdict,
    UriExplanation,
    UriLink,
    Verdict,
)
from rdfcrawl.frontier.begun_crawl import begun_crawl
from rdfcrawl.frontier.decisions import is_sampled
from rdfcrawl.frontier.options import CrawlOptions
from rdfcrawl.frontier.redis_retry import one_line
from rdfcrawl.log.location import find_crawl
from rdfcrawl.operating.crawl import OperatedCrawl
from rdfcrawl.operating.uris import UriLookup, UriPlace, UriStatus
from rdfcrawl.options.merging import apply_defaults
from rdfcrawl.uri import BadUri, fingerprint
from rdfcrawl.uri.schemes import check_scheme, seed_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.settings import BaseSettings

    from rdfcrawl.log.decisions import LoggedDecision

_WAITING: Final = (UriPlace.WAITING, UriPlace.QUEUED, UriPlace.IN_FLIGHT)
_GIVEN_UP: Final = (UriPlace.DEAD, UriPlace.FAILED)
# Of a URI that was taken from the queue, and not asked for.
_NOT_ASKED: Final = frozenset(
    {
        *(Reason.ROBOTS_DISALLOWED, Reason.ROBOTS_UNREACHABLE, Reason.GUARD_BLOCKED),
        *(Reason.CRAWL_DELAY_TOO_LONG, Reason.HOST_LEFT, Reason.LEASES_LOST),
        *(Reason.NOT_WANTED, Reason.BAD_RECORD),
    }
)


@dataclass(frozen=True, slots=True)
class _FrontierAnswer:
    """What the frontier says; `refusal` is why there is none."""

    status: UriStatus | None
    rules: tuple[RuleVerdict, ...] = ()
    refusal: str = ""
    options: CrawlOptions | None = None  # as the crawl was begun


async def explain(
    settings: BaseSettings, text: str, *, asks_frontier: bool = True
) -> UriExplanation:
    """Return what is known of a URI.

    Args:
        settings: that name the crawl.
        text: the URI, in any spelling.
        asks_frontier: else the logs alone are read, and settings.

    Raises:
        ConfigError: there is no such crawl, or a setting is wrong.
        OSError: a log cannot be read.
    """
    settings = settings.copy()
    apply_defaults(settings)
    options = CrawlOptions.from_settings(settings, _name_of(settings))
    try:
        url = seed_url(text)
        check_scheme(url, options.schemes.of_seeds)
    except BadUri as error:
        rules = (RuleVerdict("", Decision.BAD_URI, error.fault.detail),)
        return UriExplanation(
            asked=text, url="", normal="", verdict=Verdict.NO_URI, rules=rules
        )
    answer = _FrontierAnswer(None, refusal="it was not asked")
    if asks_frontier:
        answer = await _ask_frontier(settings, url)
    return _explained(text, url, answer, answer.options or options)


def _name_of(settings: BaseSettings) -> str:
    try:
        return begun_crawl(settings)
    except ConfigError:
        with suppress(ConfigError):  # its frontier is gone, or was elsewhere
            return find_crawl(settings).name
        raise


async def _ask_frontier(settings: BaseSettings, url: str) -> _FrontierAnswer:
    try:
        async with await OperatedCrawl.open(settings) as crawl:
            with crawl.connection.explaining():
                status = await UriLookup(crawl).find(url)
                rules = await judge_by_spiders(crawl, url)
                return _FrontierAnswer(status, tuple(rules), options=crawl.options)
    except (ConfigError, RedisError) as error:
        return _FrontierAnswer(None, refusal=one_line(error))


def _explained(
    text: str, url: str, answer: _FrontierAnswer, options: CrawlOptions
) -> UriExplanation:
    root = options.paths.root
    search = UriSearch(root, url, options.normal_form)
    fetches = search.fetches()
    decisions = search.decisions()
    links, n_links = search.links()
    own = [x for x in fetches if search.is_it(x.uri.encode())]
    normal = options.normal_form.normalize(url)
    spelled = [*(each.uri for each in own), *(each.uri for each in decisions)]
    rules = [*judge_by_settings(url, options.guard, options.trap_limits), *answer.rules]
    return UriExplanation(
        asked=text,
        url=url,
        normal=normal,
        verdict=_verdict(answer.status, fetches, own, decisions, links),
        frontier=answer.status,
        no_frontier=answer.refusal,
        spellings=tuple(dict.fromkeys(x for x in spelled if x != url))[:MAX_LISTED],
        fetches=tuple(fetches[-MAX_LISTED:]),
        way=way_to_seed(
            root,
            _parent(answer.status, own or fetches, decisions, links),
            options.normal_form,
        ),
        decisions=tuple(decisions[-MAX_LISTED:]),
        n_decisions=len(decisions),
        links=links,
        n_links=n_links,
        rules=tuple(rules),
        is_logged=is_sampled(fingerprint(normal), options.decisions.share),
        damages=tuple(map(str, search.damages)),
    )


def _parent(
    status: UriStatus | None,
    fetches: Sequence[ExplainedFetch],
    decisions: Sequence[LoggedDecision],
    links: Sequence[UriLink],
) -> str:
    """Return the document that led to a URI first; empty for seeds."""
    if fetches:
        return fetches[0].parent
    if status is not None and status.parent is not None:
        return status.parent
    if decisions:
        return decisions[0].parent
    return links[0].document if links else ""


def _verdict(
    status: UriStatus | None,
    fetches: Sequence[ExplainedFetch],
    own: Sequence[ExplainedFetch],
    decisions: Sequence[LoggedDecision],
    links: Sequence[UriLink],
) -> Verdict:
    place = status.place if status else UriPlace.UNKNOWN
    told = (
        (place in _WAITING, Verdict.WAITING),
        (place in _GIVEN_UP, Verdict.GIVEN_UP),
        (any(map(_was_asked, own)), Verdict.FETCHED),
        (own, Verdict.REFUSED),
        (fetches, Verdict.REDIRECTED_TO),
        (decisions or place is UriPlace.OVER_BUDGET, Verdict.NOT_QUEUED),
        (place is UriPlace.DONE, Verdict.SEEN),
        (links, Verdict.LINKED),
    )
    return next((verdict for holds, verdict in told if holds), Verdict.NEVER_SEEN)


def _was_asked(fetch: ExplainedFetch) -> bool:
    if fetch.http_status or not fetch.faults:
        return True
    return fetch.faults[0].reason not in _NOT_ASKED
