"""Unpacking parts of dumps."""

from __future__ import annotations

import io
import random
import zipfile
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.source_tasks import (
    ResourceChange,
    SyncCapability,
    SyncMode,
    SyncStep,
    SyncTask,
)
from rdfcrawl.rdf.unpack.limits import UnpackLimits
from rdfcrawl.sources.resourcesync.dumps import unpack
from rdfcrawl.sources.resourcesync.mirror import (
    DeletedResource,
    DumpedResource,
    FollowStep,
    KnownResource,
    RunPart,
)
from tests.support.examples import examples
from tests.support.resourcesync_source import SITE, archive, document, facts_of, time_of

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.sources.resourcesync.mirror import Step

URL = f"{SITE}/dump.zip"
CONTENTS = [b"first", b"second" * 1000, random.Random(1).randbytes(2_500_000)]
LISTED = [(f"{SITE}/{i}", facts_of(data), "") for i, data in enumerate(CONTENTS)]
AT = {"at": time_of(0)}
DUMP = archive("resourcedump-manifest", AT, LISTED, CONTENTS)
TASK = SyncTask(
    do=SyncStep.UNPACK, mode=SyncMode.BASELINE, expected=SyncCapability.RESOURCE_DUMP
)


def steps_of(
    data: bytes | Path | ByteSource, log: FaultLog | None = None, **keywords: object
) -> list[Step | bytes]:
    """Return the steps, each content followed by its bytes."""
    found: list[Step | bytes] = []
    log = log or FaultLog()
    for step in unpack(data, TASK, url=URL, log=log, **keywords):  # type: ignore[arg-type]
        found.append(step)
        if isinstance(step, DumpedResource):
            with step.source.open() as file:
                found.append(file.read())
    return found


def contents(found: list[Step | bytes]) -> list[bytes]:
    """Return the bytes alone."""
    return [each for each in found if isinstance(each, bytes)]


def test_a_dump_gives_verified_bytes(tmp_path: Path) -> None:
    """If a dump is in memory, a file or a stream, then its resources are read."""
    path = tmp_path / "dump.zip"
    path.write_bytes(DUMP)
    stream: Any = io.BufferedReader(io.BytesIO(DUMP))
    for source in (DUMP, path, ByteSource(stream=stream)):
        log = FaultLog()
        found = steps_of(source, log)
        assert contents(found) == CONTENTS
        assert isinstance(found[-1], RunPart)
        assert log.all() == []
        first = found[0]
        assert isinstance(first, DumpedResource)
        assert first.version.uri == LISTED[0][0]


def test_resource_unlike_its_manifest_is_requested() -> None:
    """If bytes are others, or missing, then the resource is to be fetched."""
    wrong = [*CONTENTS[:2], CONTENTS[2][::-1]]
    dump = archive("resourcedump-manifest", AT, LISTED, wrong)
    log = FaultLog()
    found = steps_of(dump, log)
    assert contents(found) == CONTENTS[:2]
    (third,) = [each for each in found if isinstance(each, FollowStep)]
    assert (third.url, third.task.do) == (LISTED[2][0], SyncStep.GET)
    assert third.task.hashes == LISTED[2][1]["hash"]
    assert log.count(Reason.BAD_FIXITY) == 1
    listed = [*LISTED[:2], (LISTED[2][0], {"path": "/../../etc/passwd"}, "")]
    out = io.BytesIO(DUMP)
    with zipfile.ZipFile(out, "a") as zipped:
        zipped.writestr("x", b"")
    log = FaultLog()
    manifest = document({"capability": "resourcedump-manifest"}, listed)
    found = steps_of(_zip({"manifest.xml": manifest}), log)
    assert len([each for each in found if isinstance(each, FollowStep)]) == 3
    assert log.count(Reason.INCOMPLETE) == 3


def _zip(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zipped:
        for name, data in members.items():
            zipped.writestr(name, data)
    return out.getvalue()


def test_a_dump_in_a_folder_or_with_a_manifest_elsewhere_is_read() -> None:
    """If the manifest is in the only folder, or was fetched apart, it is used."""
    paths = ["a%20b", "/r/c", "./d"]
    listed = [
        (uri, {**facts, "path": path}, "")
        for (uri, facts, _), path in zip(LISTED, paths, strict=True)
    ]
    manifest = document({"capability": "resourcedump-manifest"}, listed)
    names = ["a b", "r/c", "d"]
    members = dict(zip(names, CONTENTS, strict=True))
    assert contents(steps_of(_zip(members), manifest=manifest)) == CONTENTS
    log = FaultLog()
    assert steps_of(_zip(members), log) == []
    assert log.count(Reason.BAD_ANSWER) == 1
    folder = archive(
        "resourcedump-manifest",
        AT,
        LISTED[:1],
        CONTENTS[:1],
        manifest="resources/manifest.xml",
    )
    assert contents(steps_of(folder)) == CONTENTS[:1]


def test_changes_are_applied_in_order_and_only_the_last_counts() -> None:
    """If a resource changes often in a dump, then only its last version is read."""
    uri = f"{SITE}/a"
    changes = [
        ("created", 1, b"1"),
        ("updated", 2, b"2"),
        ("deleted", 3, b""),
        ("created", 3, b"4"),
    ]
    listed = [
        (
            uri,
            {
                "change": kind,
                "datetime": time_of(tick),
                **(facts_of(data) if data else {}),
            },
            "",
        )
        for kind, tick, data in changes
    ]
    listed.append((f"{SITE}/b", {"change": "deleted", "datetime": time_of(4)}, ""))
    data = [*(data for *_, data in changes), b""]
    dump = archive("changedump-manifest", {"from": time_of(0)}, listed, data)
    task = SyncTask(
        do=SyncStep.UNPACK, mode=SyncMode.CHANGES, expected=SyncCapability.CHANGE_DUMP
    )
    found = list(unpack(dump, task, url=URL, log=FaultLog()))
    content, gone, part = found
    assert isinstance(content, DumpedResource)
    assert content.version.change is ResourceChange.CREATED
    assert content.source.data == b"4"
    assert isinstance(gone, DeletedResource)
    assert isinstance(part, RunPart)
    assert part.seen_us == content.version.as_of_us + 10**6  # type: ignore[operator]


def test_what_the_mirror_has_is_not_unpacked() -> None:
    """If the mirror has a resource by its digest, then it is skipped."""
    hashes = LISTED[0][1]["hash"]
    known = {LISTED[0][0]: KnownResource(as_of_us=0, hashes=hashes, length=5)}
    found = steps_of(DUMP, lookup=lambda _: known)
    assert contents(found) == CONTENTS[1:]


def test_a_manifest_of_something_else_is_not_believed() -> None:
    """If a dump of resources has a manifest of changes, then nothing is taken."""
    log = FaultLog()
    listed = [(f"{SITE}/a", {"change": "deleted"}, "")]
    dump = archive("changedump-manifest", {}, listed, [b""])
    assert steps_of(dump, log) == []
    assert log.count(Reason.BAD_ANSWER) == 1


def test_a_cut_dump_gives_what_is_there() -> None:
    """If an archive is truncated, then the resources in its first half are read."""
    manifest_first = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(DUMP)) as old,
        zipfile.ZipFile(manifest_first, "w") as new,
    ):
        for name in ("manifest.xml", "resources/0", "resources/1", "resources/2"):
            new.writestr(name, old.read(name))
    data = manifest_first.getvalue()
    log = FaultLog()
    found = steps_of(data[: data.index(b"second") + 6000 + 100], log)
    assert contents(found) == CONTENTS[:2]
    assert log.count(Reason.BAD_ARCHIVE)
    assert [each.url for each in found if isinstance(each, FollowStep)] == [
        LISTED[2][0]
    ]
    log = FaultLog()
    assert steps_of(data[:50], log) == []
    assert log.all()


def test_bombs_end() -> None:
    """If a member unpacks to far more than it is, then it is left out."""
    out = io.BytesIO()
    listed = [(f"{SITE}/bomb", {"path": "bomb"}, ""), *LISTED[:1]]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("bomb", bytes(2**24))
        manifest = document({"capability": "resourcedump-manifest"}, listed)
        zipped.writestr("manifest.xml", manifest)
    log = FaultLog()
    found = steps_of(out.getvalue(), log, limits=UnpackLimits(ratio=50))
    assert contents(found) == []
    assert log.count(Reason.TOO_LARGE)
    log = FaultLog()
    steps_of(DUMP, log, limits=UnpackLimits(n_members=2))
    assert log.count(Reason.TOO_MANY_MEMBERS)


_BYTES = st.integers(0, 255)
SMALL = archive("resourcedump-manifest", AT, LISTED[:2], CONTENTS[:2])


@given(
    st.lists(
        st.tuples(st.integers(0, len(SMALL) - 1), st.integers(0, 255)), max_size=6
    ),
    st.integers(0, len(SMALL)),
)
@settings(max_examples=examples(200), deadline=None)
def test_a_damaged_dump_gives_only_right_bytes(
    places: list[tuple[int, int]], end: int
) -> None:
    """If an archive is damaged, then only resources as stated are read."""
    data = bytearray(SMALL)
    for at, byte in places:
        data[at] = byte
    for found in contents(steps_of(bytes(data[: end or None]))):
        assert found in CONTENTS
