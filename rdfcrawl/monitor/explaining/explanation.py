"""Gather all that is known of one URI of a crawl, with or without running workers."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from redis.exceptions import RedisError
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError, Decision, Reason, hide_logins
from rdfcrawl.core.options.scrapy_settings import apply_defaults
from rdfcrawl.frontier.connection import begun_crawl
from rdfcrawl.frontier.queue.candidate_adder import is_sampled
from rdfcrawl.frontier.queue.host_rules import parse_hosts
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.queue.profiles import SpiderProfiles
from rdfcrawl.frontier.queue.shared_rules import shared_entries
from rdfcrawl.frontier.redis.errors import one_line
from rdfcrawl.monitor.explaining.logs import MAX_LISTED, UriSearch, way_to_seed
from rdfcrawl.monitor.explaining.sources import SearchedLogs
from rdfcrawl.monitor.explaining.values import (
    ExplainedFetch,
    RuleVerdict,
    UriExplanation,
    UriLink,
    Verdict,
)
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from rdfcrawl.monitor.operating.uris import UriLookup, UriPlace, UriStatus
from rdfcrawl.stores.crawl_folder import find_crawl
from rdfcrawl.stores.log.decisions import LoggedDecision
from rdfcrawl.uri import BadUri, fingerprint
from rdfcrawl.uri.guard.gate import refusal_of
from rdfcrawl.uri.parse import SchemePolicy, check_scheme, seed_url
from rdfcrawl.uri.traps import is_endless

_FETCHED_WELL: Final = ("SUCCESSFUL", "UNCHANGED")


def judge_by_settings(url: str, options: CrawlOptions) -> list[RuleVerdict]:
    """Return why settings would refuse a requestable URL for any spider."""
    found = []
    if is_endless(url, options.trap_limits):
        found.append(RuleVerdict("", Decision.URL_TRAP))
    if options.ignored_names.covers_url(url):
        found.append(RuleVerdict("", Decision.IGNORED_EXTENSION))
    if detail := refusal_of(url, options.guard):
        found.append(RuleVerdict("", Reason.GUARD_BLOCKED, detail))
    return found


async def judge_by_spiders(crawl: OperatedCrawl, url: str) -> list[RuleVerdict]:
    """Return the verdict of each spider of a crawl on a requestable URL.

    Raises:
        RedisError: Redis is unreachable.
    """
    found = []
    left = parse_hosts(await shared_entries(crawl.frontier))
    if left.covers(url):
        found.append(RuleVerdict("", Decision.HOST_LEFT))
    profiles = SpiderProfiles(crawl.frontier, crawl.connection.outage)
    await profiles.learn_all()
    for name, link_filter in zip(
        profiles.names.values(), await profiles.link_filters(), strict=False
    ):
        found.append(RuleVerdict(name, link_filter.refusal(url) or ""))
    return found


_WAITING: Final = (UriPlace.WAITING, UriPlace.QUEUED, UriPlace.IN_FLIGHT)
_GIVEN_UP: Final = (UriPlace.DEAD, UriPlace.FAILED)
# Of a URI that was taken from the queue, and not requested.
_NOT_ASKED: Final = frozenset(
    {
        *(Reason.ROBOTS_DISALLOWED, Reason.ROBOTS_UNREACHABLE),
        *(Reason.GUARD_BLOCKED, Reason.DNS_BLOCKED),
        *(Reason.CRAWL_DELAY_TOO_LONG, Reason.HOST_LEFT, Reason.LEASES_LOST),
        *(Reason.NOT_WANTED, Reason.BAD_RECORD),
    }
)


@dataclass(frozen=True, slots=True)
class FrontierFindings:
    """Answer of the frontier about a URI.

    Attributes:
        status: of the URI; None: the frontier was not read.
        rules: verdicts of the spiders on the URI.
        refusal: why the frontier was not read.
        options: with which the crawl began.
    """

    status: UriStatus | None
    rules: tuple[RuleVerdict, ...] = ()
    refusal: str = ""
    options: CrawlOptions | None = None


async def explain(
    settings: BaseSettings, text: str, *, with_frontier: bool = True
) -> UriExplanation:
    """Return all that is known of a URI.

    Args:
        settings: name the crawl.
        text: the URI, in any spelling.
        with_frontier: read the frontier, too; else only logs and settings.

    Raises:
        ConfigError: there is no such crawl, or a setting is wrong.
        OSError: a log cannot be read.
    """
    settings = settings.copy()
    apply_defaults(settings)
    options = CrawlOptions.from_settings(settings, _name_of(settings))
    url = requestable_url(text, options.schemes)
    if isinstance(url, UriExplanation):
        return url
    findings = FrontierFindings(None, refusal="it was not read")
    if with_frontier:
        findings = await _query_frontier(settings, url)
    options = findings.options or options
    try:
        logs = SearchedLogs.indexed(options.paths.root, options.normal_form)
        return explain_by_logs(text, url, findings, options, logs)
    except sqlite3.Error:  # the page may write its index meanwhile
        logs = SearchedLogs(options.paths.root)
        return explain_by_logs(text, url, findings, options, logs)


def requestable_url(text: str, schemes: SchemePolicy) -> str | UriExplanation:
    """Return the requestable URL of a text, or why there is none."""
    try:
        url = seed_url(text)
        check_scheme(url, schemes.of_seeds)
    except BadUri as error:
        rules = (RuleVerdict("", Decision.BAD_URI, error.fault.detail),)
        return UriExplanation(
            given=hide_logins(text),
            url="",
            normal="",
            verdict=Verdict.NO_URI,
            rules=rules,
        )
    return url


def _name_of(settings: BaseSettings) -> str:
    try:
        return begun_crawl(settings)
    except ConfigError:
        with suppress(ConfigError):  # its frontier was deleted, or was elsewhere
            return find_crawl(settings).name
        raise


async def _query_frontier(settings: BaseSettings, url: str) -> FrontierFindings:
    try:
        async with await OperatedCrawl.open(settings) as crawl:
            with crawl.connection.explaining():
                return await query_frontier(crawl, url)
    except (ConfigError, RedisError) as error:
        return FrontierFindings(None, refusal=one_line(error))


async def query_frontier(
    crawl: OperatedCrawl, url: str, *, most: int | None = None
) -> FrontierFindings:
    """Return the answer of the frontier about a requestable URL.

    Args:
        crawl: the open crawl.
        url: requestable.
        most: limit of URIs of its host to look at, in each list; None: all.

    Raises:
        ConfigError: the URL has no politeness key.
        RedisError: Redis is unreachable.
    """
    status = await UriLookup(crawl, most=most).find(url)
    rules = await judge_by_spiders(crawl, url)
    return FrontierFindings(status, tuple(rules), options=crawl.options)


def explain_by_logs(
    text: str,
    url: str,
    findings: FrontierFindings,
    options: CrawlOptions,
    logs: SearchedLogs,
) -> UriExplanation:
    """Return all that the logs of a crawl say about a URI.

    Args:
        text: the URI as the operator typed it.
        url: requestable.
        findings: of the frontier.
        options: of the crawl.
        logs: of the crawl, not yet entered.

    Raises:
        OSError: a log cannot be read.
        sqlite3.Error: the index cannot be read.
    """
    with logs:
        search = UriSearch(logs, url, options.normal_form)
        fetches, copies, n_copies = search.fetches()
        decisions, n_decisions = search.decisions()
        linked = search.links()
        versions, n_versions = search.versions()
        own = [x for x in fetches if search.matches(x.uri.encode())]
        normal = options.normal_form.normalize(url)
        spelled = [*(each.uri for each in own), *(each.uri for each in decisions)]
        parent = _parent(findings.status, own or fetches, decisions, linked.links)
        return UriExplanation(
            given=hide_logins(text),
            url=url,
            normal=normal,
            verdict=_verdict(findings.status, fetches, own, decisions, linked.links),
            frontier=findings.status,
            no_frontier=findings.refusal,
            spellings=tuple(dict.fromkeys(x for x in spelled if x != url))[:MAX_LISTED],
            fetches=tuple(fetches[-MAX_LISTED:]),
            n_fetches=len(fetches),
            robots=_robots(own),
            way=way_to_seed(logs, parent, options.normal_form),
            decisions=tuple(decisions[-MAX_LISTED:]),
            n_decisions=n_decisions,
            **linked._asdict(),
            versions=tuple(versions),
            n_versions=n_versions,
            copies=copies,
            n_copies=n_copies,
            rules=(*judge_by_settings(url, options), *findings.rules),
            is_logged=is_sampled(fingerprint(normal), options.decisions.share),
            damages=tuple(map(str, search.damages)),
        )


def _parent(
    status: UriStatus | None,
    fetches: Sequence[ExplainedFetch],
    decisions: Sequence[LoggedDecision],
    links: Sequence[UriLink],
) -> str:
    """Return the document that first led to a URI; empty for seeds."""
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
    verdicts = (
        (place in _WAITING, Verdict.WAITING),
        # The list of URIs that were given up keeps those that a later run has fetched.
        (own and own[-1].status in _FETCHED_WELL, Verdict.FETCHED),
        (place in _GIVEN_UP, Verdict.GIVEN_UP),
        (any(map(_was_requested, own)), Verdict.FETCHED),
        (own, Verdict.REFUSED),
        (fetches, Verdict.REDIRECTED_TO),
        (place is UriPlace.FAR_BEHIND, Verdict.WAITING),
        (_is_set_aside(place, decisions), Verdict.SET_ASIDE),
        (decisions or place is UriPlace.OVER_BUDGET, Verdict.NOT_QUEUED),
        (place is UriPlace.DONE, Verdict.SEEN),
        (links, Verdict.LINKED),
    )
    return next((verdict for holds, verdict in verdicts if holds), Verdict.NEVER_SEEN)


def _is_set_aside(place: UriPlace, decisions: Sequence[LoggedDecision]) -> bool:
    is_logged = bool(decisions) and decisions[-1].reason == Decision.UNLIKELY
    return place is UriPlace.UNLIKELY or is_logged


def _robots(own: Sequence[ExplainedFetch]) -> str:
    """Return the latest result of `robots.txt` for a URI."""
    for fetch in reversed(own):
        for fault in fetch.faults:
            if fault.reason == Reason.ROBOTS_DISALLOWED:
                return "disallowed"
            if fault.reason == Reason.ROBOTS_UNREACHABLE:
                return "unreachable"
        if _was_requested(fetch):
            return "permitted"
    return ""


def _was_requested(fetch: ExplainedFetch) -> bool:
    if fetch.http_status or not fetch.faults:
        return True
    return fetch.faults[0].reason not in _NOT_ASKED
