"""Read versions of resources, with their times, from the entries of a list.

In version 1.1 of the standard, `datetime` is the time of a change and `lastmod` of the
resource, possibly much earlier; in 1.0, `lastmod` was both. Changes are in
chronological order, so a change without a time is not before the one above it.

Source: ANSI/NISO Z39.99-2017, section "Change List" and table 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.errors import Decision, Reason
from rdfcrawl.core.source_tasks import ResourceChange
from rdfcrawl.core.times import begin_us, end_us
from rdfcrawl.sources.resourcesync.mirror import StatedResource

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.sources.resourcesync.documents import DocumentHeading, ResourceEntry
    from rdfcrawl.sources.resourcesync.policy import SourceScope

_ONE_DAY_US: Final = 86_400 * 10**6


class StatedVersion(NamedTuple):
    """The version of one entry, or of the last of several entries of a resource."""

    entry: ResourceEntry
    version: StatedResource
    is_single: bool


class TrustedTimes:
    """Filter of times after tomorrow (`BAD_ANSWER`).

    `now_us` is Unix time in microseconds; None: all times are accepted.
    """

    def __init__(self, now_us: int | None, log: FaultLog) -> None:
        self._latest = None if now_us is None else now_us + _ONE_DAY_US
        self._log = log

    def begin(self, text: str) -> int | None:
        """Return the start of a time; None if invalid or after tomorrow."""
        time_us = begin_us(text) if text else None
        if time_us is None or self._latest is None or time_us <= self._latest:
            return time_us
        self._log.note(Reason.BAD_ANSWER, f"a time in the future: {text[:80]}")
        return None


class SnapshotReader:
    """Reader of the entries of a list or dump of all resources.

    `at_us` is the start of its creation by the source, if known; `run` is of an audit,
    or empty. `log` receives `CROSS_SITE`.
    """

    def __init__(
        self, at_us: int | None, scope: SourceScope, log: FaultLog, *, run: str = ""
    ) -> None:
        self._at_us, self._scope, self._log, self._run = at_us, scope, log, run

    def stated(self, batch: Iterable[ResourceEntry]) -> list[StatedVersion]:
        """Return the versions of some entries, in their order."""
        return [
            StatedVersion(entry, self._version_of(entry), is_single=True)
            for entry in batch
            if _is_admitted(entry, self._scope, self._log)
        ]

    def _version_of(self, entry: ResourceEntry) -> StatedResource:
        modified = begin_us(entry.lastmod) if entry.lastmod else None
        as_of = self._at_us if self._at_us is not None else modified
        version = _version_of(entry, change=ResourceChange.UPDATED, as_of_us=as_of)
        return replace(version, is_snapshot=True, run=self._run)


class ChangeReader:
    """Reader of the entries of a list or dump of changes, in their order.

    `log` receives `CROSS_SITE`, and `BAD_ANSWER` for a change of unknown kind. Changes
    before `since_us` are skipped. `latest_us` and `has_datetime` start with the values
    of the previous page.

    Attributes:
        latest_us: latest time of a change so far.
        has_datetime: the document has `datetime`.
    """

    def __init__(  # keywords
        self,
        heading: DocumentHeading,
        *,
        scope: SourceScope,
        log: FaultLog,
        times: TrustedTimes,
        since_us: int | None,
        latest_us: int | None = None,
        has_datetime: bool = False,
    ) -> None:
        self._from_us = begin_us(heading.facts.time("from"))
        self._scope, self._log, self._times = scope, log, times
        self._since_us = since_us
        self.latest_us, self.has_datetime = latest_us, has_datetime

    def stated(self, batch: Iterable[ResourceEntry]) -> list[StatedVersion]:
        """Return the last version of each resource in some entries, in order."""
        latest: dict[str, StatedVersion] = {}
        for entry in batch:
            text = self._time_of(entry)
            version = self._version_of(entry, text)
            if self._is_seen(text) or version is None:
                continue
            if not _is_admitted(entry, self._scope, self._log):
                continue
            before = latest.pop(entry.uri, None)
            latest[entry.uri] = StatedVersion(entry, version, is_single=before is None)
        return list(latest.values())

    def _time_of(self, entry: ResourceEntry) -> str:
        """Return the time of a change, unparsed; empty if missing."""
        text = entry.facts.time("datetime")
        self.has_datetime = self.has_datetime or bool(text)
        if not text and not self.has_datetime and entry.lastmod:
            begin = begin_us(entry.lastmod)
            if begin is not None and begin >= (self._from_us or begin):
                text = entry.lastmod
        return text if text and self._times.begin(text) is not None else ""

    def _is_seen(self, text: str) -> bool:
        if self._since_us is None or not text:
            return False
        return (end_us(text) or 0) < self._since_us

    def _version_of(self, entry: ResourceEntry, text: str) -> StatedResource | None:
        own = begin_us(text) if text else None
        if own is not None:
            self.latest_us = max(own, self.latest_us or own)
        change = entry.facts.change
        if change is None:
            self._log.note(Reason.BAD_ANSWER, f"a change of unknown kind: {entry.uri}")
            if entry.facts.text("change"):  # another kind, possibly a deletion
                return None
            change = ResourceChange.UPDATED
        as_of = own if own is not None else self.latest_us
        as_of = as_of if as_of is not None else self._from_us
        return _version_of(entry, change=change, as_of_us=as_of)


def _is_admitted(entry: ResourceEntry, scope: SourceScope, log: FaultLog) -> bool:
    if scope.admits(entry.uri):
        return True
    log.note(Reason.CROSS_SITE, entry.uri)
    log.refuse(Decision.CROSS_SITE, entry.uri)
    return False


def _version_of(
    entry: ResourceEntry, *, change: ResourceChange, as_of_us: int | None
) -> StatedResource:
    facts = entry.facts
    return StatedResource(
        uri=entry.uri,
        change=change,
        as_of_us=as_of_us,
        modified_us=begin_us(entry.lastmod) if entry.lastmod else None,
        fixity=facts.fixity,
        media_type=facts.media_type,
        encoding=facts.text("encoding").lower(),
    )
