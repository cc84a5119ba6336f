"""Versions of resources in the entries of a list, and the requests for them.

A request is for the resource itself, a mirror, or a patch; its task is limited.

In version 1.1 of the standard, `datetime` is the time of a change and `lastmod` of the
resource, possibly much earlier; in 1.0, `lastmod` was both. Changes are in
chronological order, so a change without a time is not before the one above it.

Source: ANSI/NISO Z39.99-2017, sections "Linking to Related Resources", "Change List"
and table 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from typing import Final, NamedTuple

from rdfcrawl.core import formats
from rdfcrawl.core.codec import encode
from rdfcrawl.core.errors import Decision, FaultLog, Reason, SourceFault
from rdfcrawl.core.formats import Link, Relation
from rdfcrawl.core.source_tasks import ResourceChange, SyncMode, SyncStep, SyncTask
from rdfcrawl.core.times import begin_us, end_us
from rdfcrawl.sources.resourcesync.documents import (
    PATCH,
    DocumentEntries,
    DocumentHeading,
    ResourceEntry,
    RsLink,
    linked,
)
from rdfcrawl.sources.resourcesync.mirror import (
    DeletedResource,
    DumpedResource,
    FollowStep,
    KnownResource,
    ListedResources,
    Lookup,
    MirrorState,
    RelatedLink,
    StatedResource,
    Step,
    UnfetchedResource,
    VersionAction,
    decide,
)
from rdfcrawl.sources.resourcesync.patch import why_unsupported
from rdfcrawl.sources.resourcesync.policy import SourceScope, SyncPolicy
from rdfcrawl.uri import BadUri, requestable

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


_RELATIONS: Final = {
    "alternate": Relation.ALTERNATE,
    "canonical": Relation.CANONICAL,
    "describedby": Relation.DESCRIBEDBY,
}


def links_of(stated: ResourceEntry | DocumentHeading) -> Iterator[Link]:
    """Yield the links of a resource or document that a crawl may follow.

    Only `ALTERNATE` links with the media type of a readable format are included.
    """
    for each in stated.links:
        relation = _RELATIONS.get(each.rel)
        if relation is None:
            continue
        media_type = each.facts.media_type
        if relation is Relation.ALTERNATE and not is_rdf(media_type):
            continue
        with suppress(BadUri):
            yield Link(requestable(each.url), relation, media_type)


def is_rdf(media_type: str) -> bool:
    """Return whether a media type is of a readable format."""
    return formats.format_of_media_type(media_type) is not None


def may_be_rdf(media_type: str) -> bool:
    """Return whether a document of a media type may contain statements."""
    return (
        not media_type
        or is_rdf(media_type)
        or media_type in {"application/octet-stream", "text/plain"}
        or media_type.endswith(("xml", "json", "html", "zip", "tar"))
    )


def task_of(
    version: StatedResource,
    source: str,
    site: str,
    *,
    uri: str,
    others: tuple[str, ...] = (),
) -> SyncTask:
    """Return the task that requests a resource and checks its stated version."""
    return SyncTask(
        do=SyncStep.GET,
        source=source,
        site=site,
        run=version.run,
        uri=uri,
        change=None if version.is_snapshot else version.change,
        as_of_us=version.as_of_us,
        modified_us=version.modified_us,
        hashes=version.fixity.text,
        length=version.fixity.length,
        media_type=version.media_type,
        encoding=version.encoding,
        others=others,
    )


def fetch_of(  # keywords
    entry: ResourceEntry,
    version: StatedResource,
    *,
    scope: SourceScope,
    source: str,
    wants_patch: bool,
    log: FaultLog,
) -> tuple[str, SyncTask] | None:
    """Return URL and task of the record for a resource; None if not requestable.

    Mirrors come before the resource, in the order of `pri`: a source names them to
    reduce its load. A mirror on another site is used only if a digest can verify its
    bytes. A patch is used if the mirror has the bytes of the previous version. `log`
    receives `UNSUPPORTED_PATCH`, `UNCONFIRMED_CLAIM` and `BAD_URI`.
    """
    urls = [*_mirrors(entry, version, scope, log), version.uri]
    url = requestable(urls[0])
    uri = "" if url == version.uri else version.uri
    task = task_of(version, source, scope.site, uri=uri, others=tuple(urls[1:]))
    patch = _patch(entry, log) if wants_patch and version.fixity.digests else None
    with log.noting():
        if patch is not None and scope.admits(patch.url):
            return requestable(patch.url), _patched(task, patch, version.uri, urls)
        fitted(task)
        return url, task
    return None


def _patched(task: SyncTask, patch: RsLink, uri: str, urls: list[str]) -> SyncTask:
    fixity = patch.facts.fixity
    return replace(
        task,
        do=SyncStep.PATCH,
        uri=uri,
        media_type=patch.facts.media_type,
        others=tuple(urls),
        patch_hashes=fixity.text,
        patch_length=fixity.length,
    )


def _patch(entry: ResourceEntry, log: FaultLog) -> RsLink | None:
    unsupported = ""
    for link in linked(entry.links, PATCH):
        unsupported = why_unsupported(link.facts.media_type)
        if not unsupported:
            return link
    if unsupported:
        log.note(Reason.UNSUPPORTED_PATCH, unsupported)
    return None


def _mirrors(
    entry: ResourceEntry, version: StatedResource, scope: SourceScope, log: FaultLog
) -> Iterator[str]:
    n_left = MAX_OTHERS
    for link in linked(entry.links, "duplicate"):
        try:
            url = requestable(link.url)
        except BadUri:  # such as gsiftp
            continue
        if url == version.uri or not n_left:
            continue
        if scope.admits(url) or version.fixity.digests:
            n_left -= 1
            yield url
        else:
            log.note(Reason.UNCONFIRMED_CLAIM, f"a mirror without digest: {url}")


MAX_STEP_CHARS: Final = 2048  # of the text of a task
MAX_OTHERS: Final = 8  # mirrors per resource


def fitted(task: SyncTask) -> SyncTask:
    """Return a task whose text has at most `MAX_STEP_CHARS`.

    If it is longer, mirrors, the manifest and then all digests but one are removed. A
    task that is still too long raises `BAD_URI`.
    """
    found = task
    if len(encode(found)) > MAX_STEP_CHARS:
        found = replace(found, others=(), manifest="")
    if found is not task and len(encode(found)) > MAX_STEP_CHARS:
        found = replace(found, hashes=found.hashes.rpartition(" ")[2], version="")
        if len(encode(found)) > MAX_STEP_CHARS:
            raise SourceFault(Reason.BAD_URI, f"too long: {task.uri[:100]}...")
    return found


def source_id(url: str) -> str:
    """Return a short name for a set of resources, from its capability list's URL.

    >>> source_id("http://example.org/capabilitylist.xml")
    '7e89428608c5'
    """
    return blake2b(url.encode(), digest_size=6).hexdigest()


class ResourceSteps:
    """The steps for the resources of a document, or of an archive with a manifest.

    `content` returns the verified bytes of a resource, if the archive has them.
    """

    def __init__(
        self,
        reading: DocumentEntries,
        task: SyncTask,
        state: MirrorState,
        lookup: Lookup,
        policy: SyncPolicy,
        log: FaultLog,
        content: Callable[[StatedVersion], DumpedResource | None] | None = None,
    ) -> None:
        self._reading, self._policy, self._log = reading, policy, log
        self._state, self._lookup, self._content = state, lookup, content
        self._times = TrustedTimes(policy.now_us, log)
        self._scope = SourceScope.of(
            task.site, reading.heading.url, policy.sites, policy.trusted
        )
        self._task = replace(task, site=self._scope.site)
        self._cursor, self._n_queued = task.cursor, 0

    def _snapshot(self, at_us: int | None) -> SnapshotReader:
        return SnapshotReader(at_us, self._scope, self._log, run=self._audit)

    def _changes(self, latest_us: int | None) -> ChangeReader:
        return ChangeReader(
            self._reading.heading,
            scope=self._scope,
            log=self._log,
            times=self._times,
            since_us=self._state.seen_us,
            latest_us=latest_us,
            has_datetime=self._task.has_datetime,
        )

    @property
    def _audit(self) -> str:
        """The run if this is an audit; otherwise empty."""
        return self._task.run if self._task.mode is SyncMode.AUDIT else ""

    def _resources(self, stated: list[StatedVersion]) -> Iterator[Step]:
        """Yield the steps for some versions, and list them for an audit."""
        uris = tuple(each.version.uri for each in stated)
        known = self._lookup(uris)
        for each in stated:
            yield from self._resource(each, known.get(each.version.uri))
        if self._audit and uris:
            yield ListedResources(self._audit, uris)

    def _resource(
        self, stated: StatedVersion, known: KnownResource | None
    ) -> Iterator[Step]:
        version, entry, policy = stated.version, stated.entry, self._policy
        action = decide(version, known)
        if action is VersionAction.DELETE:
            yield DeletedResource(version)
        if action is not VersionAction.FETCH:
            return
        if self._content is None:
            for link in links_of(entry):
                yield RelatedLink(link)
        if policy.only_rdf and not may_be_rdf(version.media_type):
            yield UnfetchedResource(version, entry)
            return
        if self._content and (content := self._content(stated)) is not None:
            yield content
            return
        has_bytes = known is not None and not known.is_gone
        can_patch = has_bytes and stated.is_single and self._content is None
        found = fetch_of(
            entry,
            version,
            scope=self._scope,
            source=self._task.source,
            wants_patch=policy.wants_patches and can_patch,
            log=self._log,
        )
        if found is not None:
            self._n_queued += 1
            yield FollowStep(*found)
