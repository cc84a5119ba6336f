"""Which URIs of the URL database may be fetched again, and with which validators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.refresh.sitemap_led import is_claimed
from rdfcrawl.tasks.pages import RefreshedPage
from rdfcrawl.urldb.joining import MAX_FETCHES

if TYPE_CHECKING:
    from rdfcrawl.measures.uri_facts import UriFacts
    from rdfcrawl.refresh.failures import FailureRules
    from rdfcrawl.urldb.record import UrlFetch, UrlRecord

# What is asked for as a step of a source, or as a part of a dataset or collection, has
# a clock of its own: later runs of the source ask again.
_TASKS: Final = frozenset({None, RefreshedPage.TAG})
_HAS_COPY: Final = frozenset({"SUCCESSFUL", "PARTIAL", "UNCHANGED"})
_MOST_VALIDATOR: Final = 1000  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class EligiblePages:
    """Tells which pages may be fetched again in an epoch.

    Attributes:
        begin_ms: when the epoch begins: what was fetched since is left out.
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
        if self.failures.is_gone(facts) and not is_claimed(facts):
            return False
        return self.failures.retry_ms(facts) <= self.now_ms


def refreshing_task(
    record: UrlRecord, facts: UriFacts, rules: FailureRules
) -> RefreshedPage:
    """Return the task of a page that is fetched again."""
    etag, last_modified = _validators(record)
    gone_from_ms = rules.gone_from_ms(facts)
    return RefreshedPage(
        etag=etag,
        last_modified=last_modified,
        is_stored=_is_stored(record),
        gone_from_ms=-1 if gone_from_ms is None else gone_from_ms,
    )


def _is_stored(record: UrlRecord) -> bool:
    for fetch in reversed(record.fetches):
        if fetch.outcome == "DELETED":
            return False
        if fetch.n_statements:
            return True
    return len(record.fetches) >= MAX_FETCHES  # then it is not known


def _validators(record: UrlRecord) -> tuple[str, str]:
    """Return `ETag` and `Last-Modified` of the copy that is stored.

    Those of an answer after it, as of an error, are none of the copy.
    """
    known = set[int]()
    last_modified = ""
    for fetch in reversed(record.fetches):
        if fetch.outcome not in _HAS_COPY:
            continue
        if fetch.outcome == "PARTIAL":  # what was not read may be read now
            break
        known.add(fetch.started_ms)
        last_modified = last_modified or fetch.last_modified
        if not _is_confirmation(fetch):
            break
    etag = record.latest.get("etag", "") if record.told.get("etag") in known else ""
    return (_short(etag), _short(last_modified))


def _is_confirmation(fetch: UrlFetch) -> bool:
    return fetch.http_status == 304


def _short(text: str) -> str:
    is_sendable = text.isascii() and text.isprintable()
    return text if is_sendable and len(text) <= _MOST_VALIDATOR else ""
