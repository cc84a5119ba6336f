"""Read parts of dumps: ZIP archives of resources or changes, with a manifest.

Source: ANSI/NISO Z39.99-2017, sections "Packaging Resources" and "Packaging Changes".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import unquote

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.source_tasks import SyncCapability, SyncTask
from rdfcrawl.rdf.unpack.limits import PackingLayer, UnpackLimits, UnpackMeter
from rdfcrawl.rdf.unpack.members import ArchiveEntry as Member
from rdfcrawl.rdf.unpack.scratch import (
    FileBlob,
    MemoryBlob,
    MemoryScratch,
    ScratchSpace,
    SeekableBytes,
)
from rdfcrawl.rdf.unpack.streams import PieceStream, buffered
from rdfcrawl.rdf.unpack.zip import iter_zip
from rdfcrawl.sources.resourcesync.documents import DocumentEntries
from rdfcrawl.sources.resourcesync.fixity import FixityVerifier
from rdfcrawl.sources.resourcesync.mirror import (
    NO_STATE,
    DumpedResource,
    Lookup,
    MirrorState,
    RunPart,
    Step,
    nothing,
)
from rdfcrawl.sources.resourcesync.policy import DEFAULT_POLICY, SyncPolicy
from rdfcrawl.sources.resourcesync.resources import (
    ChangeReader,
    ResourceSteps,
    SnapshotReader,
    StatedVersion,
)

MANIFEST: Final = "manifest.xml"
SHORT_BYTES: Final = 2**20  # of a resource in memory
_SCRATCH_BYTES: Final = 64 * 2**20  # default scratch space
_BATCH: Final = 500
_MANIFESTS: Final = {
    SyncCapability.RESOURCE_DUMP_MANIFEST: SyncCapability.RESOURCE_DUMP,
    SyncCapability.CHANGE_DUMP_MANIFEST: SyncCapability.CHANGE_DUMP,
}
DEFAULT_UNPACK_LIMITS: Final = UnpackLimits()


def unpack(  # noqa: PLR0913  # keywords with defaults
    source: bytes | Path | ByteSource,
    task: SyncTask,
    *,
    url: str,
    log: FaultLog,
    state: MirrorState = NO_STATE,
    lookup: Lookup = nothing,
    policy: SyncPolicy = DEFAULT_POLICY,
    limits: UnpackLimits = DEFAULT_UNPACK_LIMITS,
    scratch: ScratchSpace | None = None,
    manifest: bytes | None = None,
) -> Iterator[Step]:
    """Yield the steps of one part of a dump, in the order of its manifest.

    The bytes of a resource are yielded after they were read once and verified against
    the manifest. A missing or different resource becomes a `FollowStep`, which requests
    the resource itself. Resources in the mirror are not unpacked. A `RunPart` comes
    last, if the manifest was complete.

    The task is `UNPACK`; the caller that fetched the archive from `url` checks its
    fixity. `scratch` stores an archive that cannot be reopened; unset, a little memory.
    `manifest` is a copy from elsewhere (`task.manifest`), used if the archive has none.
    `state`, `lookup` and `policy` are the same as for `plan.follow`. `log` receives
    `BAD_FIXITY`; `INCOMPLETE`: a member is missing; `BAD_ANSWER`: no manifest, or
    another document; and the faults of `DocumentEntries` and of the unpacker.

    Raises:
        OSError: the source cannot be read.
    """
    scratch = scratch or MemoryScratch(_SCRATCH_BYTES)
    with ExitStack() as stack:
        try:
            blob = _blob(ByteSource.of(source), scratch, limits)
        except SourceFault as fault:
            log.note(fault.fault.reason, fault.fault.detail)
            return
        stack.callback(blob.close)
        archive = _Archive(blob, limits, log)
        text = archive.manifest() or (ByteSource(manifest) if manifest else None)
        if text is None:
            log.note(Reason.BAD_ANSWER, "a dump without manifest")
            return
        reading = DocumentEntries(text, url=url, log=log)
        unpacking = _Unpacking(
            reading, task, state, lookup, policy, log, content=archive.content
        )
        yield from unpacking.steps()


class _Unpacking(ResourceSteps):
    def steps(self) -> Iterator[Step]:
        heading = self._reading.heading
        found = heading.facts.capability
        kind = _MANIFESTS.get(found) if found else self._task.expected
        expected = self._task.expected
        if not self._reading.is_document:
            return
        if kind is None or (expected is not None and kind is not expected):
            stated = heading.facts.text("capability")[:80]
            detail = f"a manifest of a {expected or 'dump'}: {stated!r}"
            self._log.note(Reason.BAD_ANSWER, detail)
            return
        versions: SnapshotReader | ChangeReader
        at_us = self._times.begin(heading.facts.time("at"))
        if at_us is None:
            at_us = self._task.as_of_us
        if kind is SyncCapability.CHANGE_DUMP:
            versions = self._changes(None)
        else:
            versions = self._snapshot(at_us)
        while batch := list(islice(self._reading, _BATCH)):
            yield from self._resources(versions.stated(batch))
        if self._reading.is_complete:
            latest_us = (
                versions.latest_us if isinstance(versions, ChangeReader) else None
            )
            yield self._part(at_us, latest_us)

    def _part(self, at_us: int | None, latest_us: int | None) -> RunPart:
        task, until = self._task, self._reading.heading.facts.time("until")
        closed_us = self._times.begin(until) if until else task.seen_us
        return RunPart(
            source=task.source,
            run=task.run,
            mode=task.mode,
            place=task.part,
            at_us=at_us,
            seen_us=latest_us,
            closed_us=closed_us,
        )


class _Archive:
    """The members of a ZIP by name; names are never used as paths."""

    def __init__(
        self, blob: SeekableBytes, limits: UnpackLimits, log: FaultLog
    ) -> None:
        self._log = log
        self._meter = UnpackMeter(limits)
        layer = PackingLayer(self._meter, is_container=True).inside(is_container=True)
        self._members: dict[str, Member] = {}
        with log.noting():
            for member in iter_zip(blob, layer, self._note):
                self._members.setdefault(_plain(member.name), member)

    def manifest(self) -> ByteSource | None:
        """Return the manifest in the root, or in the only folder of the root."""
        member = self._members.get(MANIFEST)
        if member is None:
            tops = {name.partition("/")[0] for name in self._members}
            if len(tops) == 1:
                member = self._members.get(f"{tops.pop()}/{MANIFEST}")
        if member is None:
            return None
        return ByteSource(reopen=partial(self._open, member, is_noted=True))

    def member(self, path: str) -> Member | None:
        """Return the member at a path of the manifest, or None."""
        if not path:
            return None
        name = _plain(path)
        found = self._members.get(name)
        return found or self._members.get(_plain(unquote(name)))

    def content(self, stated: StatedVersion) -> DumpedResource | None:
        """Return the verified bytes of a resource; None if missing or different."""
        path = stated.entry.facts.text("path")
        member = self.member(path)
        if member is None:
            self._log.note(Reason.INCOMPLETE, f"not in the dump: {path[:200]!r}")
            return None
        try:
            verifier = FixityVerifier(stated.version.fixity)
            source = self.read(member, verifier)
            verifier.finish()
            return DumpedResource(stated.version, source)
        except SourceFault as fault:
            detail = f"{stated.version.uri}: {fault.fault.detail}"
            self._log.note(fault.fault.reason, detail)
            return None

    def read(self, member: Member, verifier: FixityVerifier) -> ByteSource:
        """Return the bytes of a member after their verification."""
        held: bytearray | None = bytearray()
        for piece in member.pieces(member.layer):
            verifier.update(piece)
            if held is not None:
                held += piece
                if len(held) > SHORT_BYTES:
                    held = None
        if held is not None:
            return ByteSource(bytes(held))
        return ByteSource(reopen=partial(self._open, member, is_noted=False))

    def _open(self, member: Member, *, is_noted: bool) -> BinaryIO:
        layer = PackingLayer(self._meter.restarted())

        def note(fault: SourceFault, _: PackingLayer) -> None:
            if is_noted:
                self._note(fault)

        return buffered(PieceStream(member.pieces(layer), note=note, layer=layer))

    def _note(self, fault: SourceFault) -> None:
        self._log.note(fault.fault.reason, fault.fault.detail)


def _plain(name: str) -> str:
    """Return a normalized name or path: from the root, with slashes."""
    name = name.replace("\\", "/").lstrip("/")
    while name.startswith("./"):
        name = name[2:].lstrip("/")
    return name


def _blob(
    source: ByteSource, scratch: ScratchSpace, limits: UnpackLimits
) -> SeekableBytes:
    if source.data is not None:
        return MemoryBlob(source.data)
    file = source.open()
    with suppress(OSError, AttributeError):
        file.fileno()
        return FileBlob(file)
    with file:
        return scratch.hold(file, max_bytes=limits.seekable_bytes)
