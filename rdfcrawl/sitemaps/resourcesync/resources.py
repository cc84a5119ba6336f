"""Choose how to request a resource: itself, a mirror, or a patch; and bound its task.

Source: ANSI/NISO Z39.99-2017, section "Linking to Related Resources".
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from rdfcrawl import formats
from rdfcrawl.codec import encode
from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.links.relations import Link, Relation
from rdfcrawl.sitemaps.resourcesync.documents import PATCH, linked
from rdfcrawl.sitemaps.resourcesync.patch import why_unsupported
from rdfcrawl.tasks.sync import SyncStep, SyncTask
from rdfcrawl.uri import BadUri, requestable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.faultlog import FaultLog
    from rdfcrawl.sitemaps.resourcesync.documents import ResourceEntry, RsLink
    from rdfcrawl.sitemaps.resourcesync.mirror import StatedResource
    from rdfcrawl.sitemaps.resourcesync.policy import SourceScope

_RELATIONS: Final = {
    "alternate": Relation.ALTERNATE,
    "canonical": Relation.CANONICAL,
    "describedby": Relation.DESCRIBEDBY,
}


def links_of(entry: ResourceEntry) -> Iterator[Link]:
    """Yield the links of a resource that a crawl may follow.

    `ALTERNATE` links are only those with the media type of a readable format.
    """
    for each in entry.links:
        relation = _RELATIONS.get(each.rel)
        if relation is None:
            continue
        media_type = each.facts.media_type
        if relation is Relation.ALTERNATE and not is_rdf(media_type):
            continue
        with suppress(BadUri):
            yield Link(requestable(each.url), relation, media_type)


def is_rdf(media_type: str) -> bool:
    """Return whether a media type is that of a readable format."""
    return formats.format_of_media_type(media_type) is not None


def may_be_rdf(media_type: str) -> bool:
    """Return whether a document of a media type may have statements."""
    return (
        not media_type
        or is_rdf(media_type)
        or media_type in {"application/octet-stream", "text/plain"}
        or media_type.endswith(("xml", "json", "html", "zip", "tar"))
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

    Mirrors come before the resource, in the order of `pri`: a source names them to be
    spared. One on another site is taken only if a digest can verify its bytes. A patch
    is wanted if the mirror has the bytes of the version before. `log` takes
    `UNSUPPORTED_PATCH`, `UNCONFIRMED_CLAIM` and `BAD_URI`.
    """
    urls = [*_mirrors(entry, version, scope, log), version.uri]
    url = requestable(urls[0])
    task = SyncTask(
        do=SyncStep.GET,
        source=source,
        site=scope.site,
        run=version.run,
        uri="" if url == version.uri else version.uri,
        change=None if version.is_snapshot else version.change,
        as_of_us=version.as_of_us,
        modified_us=version.modified_us,
        hashes=version.fixity.text,
        length=version.fixity.length,
        media_type=version.media_type,
        encoding=version.encoding,
        others=tuple(urls[1:]),
    )
    patch = _patch(entry, log) if wants_patch and version.fixity.digests else None
    try:
        if patch is not None and scope.admits(patch.url):
            return requestable(patch.url), _patched(task, patch, version.uri, urls)
        fitted(task)
    except SourceFault as error:
        log.note(error.fault.reason, error.fault.detail)
        return None
    return url, task


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
        except BadUri:  # gsiftp and the like
            continue
        if url == version.uri or not n_left:
            continue
        if scope.admits(url) or version.fixity.digests:
            n_left -= 1
            yield url
        else:
            log.note(Reason.UNCONFIRMED_CLAIM, f"a mirror without digest: {url}")


MAX_STEP_CHARS: Final = 2048  # of the text of a task
MAX_OTHERS: Final = 8  # mirrors that are kept for one resource


def fitted(task: SyncTask) -> SyncTask:
    """Return a task whose text has at most `MAX_STEP_CHARS`.

    From a longer one, mirrors, the manifest and then all digests but one are removed.
    One that is still too long is the fault `BAD_URI`.
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
