"""Select URIs of the URL database that may be fetched again, with their validators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.uri_facts import UriFetch
from rdfcrawl.analysis.refresh.sitemap_led import is_claimed
from rdfcrawl.analysis.urldb.joining import MAX_FETCHES
from rdfcrawl.core.tasks.pages import RefreshedPage
from rdfcrawl.rdf.terms import unix_ms

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.uri_facts import UriFacts
    from rdfcrawl.analysis.refresh.failures import FailureRules
    from rdfcrawl.analysis.urldb.record import UrlRecord

# Steps of a source, and parts of a dataset or collection, have their own schedule:
# later runs of the source request them again.
_TASKS: Final = frozenset({None, RefreshedPage.TAG})
_HAS_COPY: Final = frozenset({"SUCCESSFUL", "UNCHANGED"})
_NOT_MODIFIED: Final = 304
_LOST: Final = frozenset({"DELETED", "REDIRECTED"})  # so are the statements
_MOST_VALIDATOR: Final = 1000  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class EligiblePages:
    """Decides which pages may be fetched again in an epoch.

    Attributes:
        begin_ms: start of the epoch: pages fetched since are left out.
        now_ms: Unix time.
        failures: see `FailureRules`.
    """

    begin_ms: int
    now_ms: int
    failures: FailureRules

    def has(self, record: UrlRecord, facts: UriFacts) -> bool:
        """Return whether a page may be fetched again now."""
        if not facts.fetches or record.is_sitemap:
            return False
        if record.latest.get("task") not in _TASKS:
            return False
        if record.fetches[-1].started_ms >= self.begin_ms:
            return False
        if _immutable_until_ms(record) > self.now_ms:
            return False
        if self.failures.is_gone(facts) and not is_claimed(facts):
            return False
        return self.failures.retry_ms(_with_refusals(record, facts)) <= self.now_ms


def refreshing_task(
    record: UrlRecord, facts: UriFacts, rules: FailureRules
) -> RefreshedPage:
    """Return the task to fetch a page again."""
    gone_from_ms = rules.gone_from_ms(facts)
    reads = _last_reads(record)
    etag = record.latest["etag"] if record.latest_ms.get("etag") in reads else ""
    is_elsewhere = record.latest_ms.get("redirect") in reads
    return RefreshedPage(
        etag=_sendable(etag),
        last_modified=_sendable(next(filter(None, reads.values()), "")),
        is_stored=_is_stored(record),
        read_at=record.latest["redirect"] if is_elsewhere else "",
        gone_from_ms=-1 if gone_from_ms is None else gone_from_ms,
    )


def _with_refusals(record: UrlRecord, facts: UriFacts) -> UriFacts:
    """Return the facts of a page, with refusals before a request."""
    if record.fetches[-1].started_ms == facts.fetches[-1].started_ms:
        return facts
    tries = (
        UriFetch(started_ms=x.started_ms, status=x.outcome, http_status=x.http_status)
        for x in record.fetches
    )
    return replace(facts, fetches=tuple(tries))


def _immutable_until_ms(record: UrlRecord) -> int:
    return unix_ms(record.latest.get("immutableUntil") or "") or 0


def _is_stored(record: UrlRecord) -> bool:
    """Return whether statements of a page are stored."""
    for fetch in reversed(record.fetches):
        if fetch.outcome in _LOST:
            return False
        if fetch.n_statements:
            return True
    # Earlier fetches are not known, or were of another page.
    return len(record.fetches) >= MAX_FETCHES or "isLeft" in record.latest


def _last_reads(record: UrlRecord) -> dict[int, str]:
    """Return times and `Last-Modified` of the responses about the stored copy.

    These are the last complete response and later responses with status 304, latest
    first. Validators of other responses, such as errors, do not belong to the copy.
    """
    found: dict[int, str] = {}
    for fetch in reversed(record.fetches):
        if fetch.outcome in _LOST or fetch.outcome == "PARTIAL":
            break  # an unread response may be readable now
        if fetch.outcome in _HAS_COPY:
            found[fetch.started_ms] = fetch.last_modified
            if fetch.http_status != _NOT_MODIFIED:
                break
    return found


def _sendable(text: str) -> str:
    is_sendable = text.isascii() and text.isprintable()
    return text if is_sendable and len(text) <= _MOST_VALIDATOR else ""
