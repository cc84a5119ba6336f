"""Format an explanation as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rdfcrawl.core.errors import Decision
from rdfcrawl.core.messages import counted
from rdfcrawl.core.times import second_text
from rdfcrawl.monitor.explaining.values import (
    ExplainedFetch,
    ExplainedReading,
    RuleVerdict,
    UriExplanation,
    Verdict,
)
from rdfcrawl.monitor.operating.tables import uri_line
from rdfcrawl.uri.page_forms import page_form

VERDICTS: Final = {
    Verdict.WAITING: "waits in the frontier",
    Verdict.GIVEN_UP: "was given up",
    Verdict.FETCHED: "was fetched",
    Verdict.REDIRECTED_TO: "was fetched as the target of a redirect",
    Verdict.REFUSED: "was queued, and not requested",
    Verdict.SET_ASIDE: "was queued, and not requested, as pages of its form of URL"
    " led to nothing that the crawl wants; -a retry=unlikely requests it",
    Verdict.NOT_QUEUED: "was found, and not queued",
    Verdict.SEEN: "is known to the frontier, but no log here records its result:"
    " its fetch is not yet written, it was dropped, or another machine has its log",
    Verdict.LINKED: "is linked to, and was not followed: the document with the"
    " link is not done yet, or the crawl has ended before",
    Verdict.NEVER_SEEN: "was never seen",
    Verdict.NO_URI: "cannot be crawled",
}
"""Sentence of each verdict, to follow the URI."""


def explanation_lines(found: UriExplanation) -> Iterator[str]:
    """Yield the lines, with text from the web unchanged."""
    yield f"{found.url or found.given}: {VERDICTS[found.verdict]}"
    if found.spellings:
        yield f"  also spelled {', '.join(found.spellings)}"
    if found.frontier is not None:
        yield f"  frontier: {uri_line(found.frontier).partition(': ')[2]}"
    elif found.no_frontier:
        yield f"  frontier: not known: {found.no_frontier}"
    for fetch in found.fetches:
        yield from _fetch_lines(fetch, found)
    yield from _decision_lines(found)
    yield from _way_lines(found)
    yield from _document_lines(found)
    yield from _rule_lines(found)
    if not found.is_logged and found.verdict is not Verdict.NO_URI:
        yield "  not in the sample of the log of decisions (DECISIONS_SAMPLE)"
    yield from (f"  {damage}" for damage in found.damages)


_EFFECTS: Final[dict[str, str]] = {
    Decision.UNLIKELY_LAST: "queued last",
    Decision.UNLIKELY: "not requested",
}


def _decision_lines(found: UriExplanation) -> Iterator[str]:
    n_before = found.n_decisions - len(found.decisions)
    if n_before:
        yield f"  {counted(n_before, 'earlier decision')}"
    for each in found.decisions:
        where = f"as a link of {each.parent}" if each.parent else "as a seed"
        effect = _EFFECTS.get(each.reason, "not queued")
        form = (
            f" (form {page_form(each.uri).narrow})" if each.reason in _EFFECTS else ""
        )
        yield f"  {second_text(each.ms)}  {effect}: {each.reason}{form}, {where}"


def _way_lines(found: UriExplanation) -> Iterator[str]:
    if found.way:
        yield "  found by way of:"
    for step in found.way:
        is_known = step.depth >= 0
        place = f"depth {step.depth}" if is_known else "its fetch is in no log here"
        yield f"    {step.uri}  ({place})"
    if found.links:
        first = found.links[0].document
        yield f"  links to it: {found.n_links:,}, the first in {first}"


def _document_lines(found: UriExplanation) -> Iterator[str]:
    if found.versions:
        latest = found.versions[-1]
        dropped = ", dropped by a compaction" if latest.is_dropped else ""
        yield (
            f"  versions: {found.n_versions:,}, the latest of"
            f" {second_text(latest.version_ms)},"
            f" {counted(latest.n_bytes, 'byte')}{dropped}"
        )
    if found.targets:
        first = found.targets[0].target
        yield f"  links from it: {found.n_targets:,}, the first to {first}"
    if found.copies:
        first = found.copies[0]
        copies = counted(found.n_copies, "other URI")
        yield f"  its content was found at {copies}, as {first}"


def _fetch_lines(fetch: ExplainedFetch, found: UriExplanation) -> Iterator[str]:
    when = second_text(fetch.started_ms) if fetch.started_ms else "never requested"
    answer = f", HTTP {fetch.http_status}" if fetch.http_status else ""
    stored = (
        f", {counted(fetch.n_statements, 'statement')}" if fetch.n_statements else ""
    )
    name = "" if fetch.uri == found.url else f" of {fetch.uri}"
    run = f", run {fetch.run}" if fetch.run >= 0 else ""
    yield f"  {when}  fetch{name}: {fetch.status}{answer}{stored}{run}"
    if reading := _reading_text(fetch.reading):
        yield f"    {reading}"
    if fetch.hops:
        yield f"    redirects: {' -> '.join(fetch.hops)}"
    if fetch.same_content_as:
        yield f"    same content as {fetch.same_content_as}"
    for fault in fetch.faults:
        yield f"    {fault.reason}{': ' * bool(fault.detail)}{fault.detail}"


def _reading_text(reading: ExplainedReading) -> str:
    """Return how a document was read, in one line; empty if it was not."""
    extractors = ", ".join(
        f"{each.name} {each.n_statements:,}" for each in reading.extractors
    )
    parts = (
        (f"read as {reading.format}", reading.format),
        (f"by {reading.decided_by}", reading.decided_by),
        (f"packed in {reading.packing}", reading.packing),
        (f"declared as {reading.media_type}", reading.media_type),
        (counted(reading.n_members, "member"), reading.n_members),
        (extractors, extractors),
    )
    return ", ".join(text for text, is_known in parts if is_known)


def _rule_lines(found: UriExplanation) -> Iterator[str]:
    for rule in found.rules:
        whose = f"spider {rule.spider}" if rule.spider else "settings"
        yield f"  if it were found now, {whose} {_would(rule)}"


def _would(rule: RuleVerdict) -> str:
    if not rule.refusal:
        return "would accept it, unless it is too deep or over a budget"
    return f"would refuse it: {rule.refusal}{': ' * bool(rule.detail)}{rule.detail}"
