"""Compare an earlier state of a log with its current state.

As in `stores.log.crawl_log`, the logs are read twice, and the first pass writes a
record for each version to one of 256 scratch files. Memory holds one byte for each
version, and one file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.times import second_text
from rdfcrawl.stores.crawl_folder import (
    CrawlRuns,
    LogIdentity,
    read_identity,
    read_runs,
)
from rdfcrawl.stores.export.selection import parse_since
from rdfcrawl.stores.log.crawl_log import CrawlLog, ScratchRecords
from rdfcrawl.stores.log.documents import DroppedVersion, LogDocument
from rdfcrawl.stores.reading import reading
from rdfcrawl.stores.segment_file import SEGMENT_NAME

_MEMBERS: Final = "Q16sQ??II"  # of a `_Version`
_KIND: Final = 7  # bits of a mark for the kind
_IS_FORMER: Final = 8  # the earlier state has this version
_LACKS_FORMER: Final = 16  # the statements of the earlier version were dropped


class ChangeKind(StrEnum):
    """How a document differs between two states."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    DELETED = "deleted"


_KINDS: Final = tuple(ChangeKind)


class DocumentChange(NamedTuple):
    """A document and its change.

    Attributes:
        document: its latest version; or one of the earlier state, see `is_former`.
        kind: of the change.
        is_former: the document is a version whose statements no longer count.
        lacks_former: its earlier statements were dropped by a compaction.
    """

    document: LogDocument
    kind: ChangeKind
    is_former: bool = False
    lacks_former: bool = False


class _Version(NamedTuple):
    version_ms: int
    digest: bytes
    n_bytes: int
    is_earlier: bool
    is_dropped: bool
    segment: int
    number: int


@dataclass(slots=True)
class LogComparison:
    """Two states of a log; within its context, no segment is removed.

    Args:
        log: whose latest versions are compared.
        start: the earlier state.
        scratch: folder of scratch files; by default that of the system.

    Attributes:
        n_lacking: documents whose earlier statements were dropped by a compaction.
    """

    log: CrawlLog
    start: EarlierState
    scratch: Path | None = None
    n_lacking: int = 0
    _segments: list[tuple[CrawlLog, Path]] = field(default_factory=list)
    _are_before: list[bool | None] = field(default_factory=list)  # the segments
    _identities: list[tuple[CrawlLog, LogIdentity]] = field(default_factory=list)
    _marks: dict[int, bytearray] = field(default_factory=dict)
    _locks: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        try:
            for log in (self.log, self.start.log):
                if log is not None:
                    self._locks.enter_context(reading(log.root / "quads"))
                    self._identities.append((log, log.identity))
                    self._segments += [(log, path) for path in log.segments()]
            has_segment = self.start.has_segment
            self._are_before = [has_segment(path.name) for _, path in self._segments]
            self._compare()
        except BaseException:
            self._locks.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._locks.close()

    def changes(self) -> Iterator[DocumentChange]:
        """Yield each document of either state once, in the order of the log.

        Documents without statements in both states are left out.

        Raises:
            ConfigError: `fresh=1` has moved the log aside while it was read.
            OSError: the disk cannot be read.
        """
        return (each for each in self.statements() if not each.is_former)

    def statements(self) -> Iterator[DocumentChange]:
        """Yield all `changes`, and the former versions of changed documents.

        Raises:
            OSError: the disk cannot be read.
        """
        for each, segment, number in self._versions():
            marks = self._marks.get(segment, b"")
            mark = marks[number] if number < len(marks) else 0
            if not mark or isinstance(each, DroppedVersion):
                continue
            kind = _KINDS[(mark & _KIND) - 1] if mark & _KIND else ChangeKind.CHANGED
            if mark & _IS_FORMER:
                yield DocumentChange(each, kind, is_former=True)
            if mark & _KIND:
                yield DocumentChange(
                    each, kind, lacks_former=bool(mark & _LACKS_FORMER)
                )

    def _versions(self) -> Iterator[tuple[LogDocument | DroppedVersion, int, int]]:
        """Yield all versions with their segment, and their number in it."""
        for segment, (log, path) in enumerate(self._segments):
            number = 0
            for batch in log.read(log.begin(), has_provenance=False, segments=[path]):
                for document in batch.documents:
                    yield document, segment, number
                    number += 1
                for dropped in batch.dropped:
                    yield dropped, segment, 0
        for log, identity in self._identities:
            log.check_kept(identity)

    def _compare(self) -> None:
        with ScratchRecords(_MEMBERS, self.scratch) as records:
            for each, segment, number in self._versions():
                is_earlier = self._segments[segment][0] is not self.log
                is_dropped = isinstance(each, DroppedVersion)
                version = _Version(
                    *each.version, each.n_bytes, is_earlier, is_dropped, segment, number
                )
                records.add(each.graph, *version)
            for part in records.parts():
                self._mark(part)

    def _mark(self, part: Iterator[tuple[Any, ...]]) -> None:
        before: dict[bytes, _Version] = {}
        now: dict[bytes, _Version] = {}
        for key, *members in part:
            found = _Version(*members)
            if self._is_before(found):
                _note(before, key, found)
            if not found.is_earlier:
                _note(now, key, found)
        for key in before.keys() | now.keys():
            self._mark_document(before.get(key), now.get(key))

    def _is_before(self, version: _Version) -> bool:
        if self.start.log is not None:
            return version.is_earlier
        is_before = self._are_before[version.segment]
        if is_before is None:
            return version.version_ms <= self.start.since_ms
        return is_before

    def _mark_document(self, before: _Version | None, now: _Version | None) -> None:
        had = before is not None and before.n_bytes > 0
        has = now is not None and now.n_bytes > 0
        if not has and not had:
            return
        if before is None or not had:
            kind = ChangeKind.NEW
        elif now is None or not has:
            kind = ChangeKind.DELETED
        elif now.digest == before.digest:
            kind = ChangeKind.UNCHANGED
        else:
            kind = ChangeKind.CHANGED
        mark = _KINDS.index(kind) + 1
        is_former = kind in {ChangeKind.CHANGED, ChangeKind.DELETED}
        if before is not None and is_former:
            if before.is_dropped:
                mark |= _LACKS_FORMER
                self.n_lacking += 1
            else:
                self._set(before, _IS_FORMER)
        last = now or before
        # If `last` was dropped, the later version that replaced it is lost by damage.
        if last is not None and not last.is_dropped:
            self._set(last, mark)

    def _set(self, version: _Version, mark: int) -> None:
        marks = self._marks.setdefault(version.segment, bytearray())
        marks.extend(bytes(max(0, version.number + 1 - len(marks))))
        marks[version.number] |= mark


def _note(versions: dict[bytes, _Version], key: bytes, found: _Version) -> None:
    """Keep the latest version; of two equal ones, one that was not dropped."""
    known = versions.get(key)
    if known is None or _order(found) > _order(known):
        versions[key] = found


def _order(version: _Version) -> tuple[int, bytes, bool]:
    return version.version_ms, version.digest, not version.is_dropped


@dataclass(frozen=True, slots=True)
class EarlierState:
    """An earlier state of a log.

    Attributes:
        name: for people.
        since_ms: versions fetched up to then count, Unix time in ms.
        log: if set, the state is this log, which `fresh=1` moved aside.
        run: if set, everything that workers of this run and earlier ones wrote counts,
            as far as the run of a worker is known. Numbered from 0.
        workers: the run of each worker, by name.
    """

    name: str
    since_ms: int
    log: CrawlLog | None = None
    run: int | None = None
    workers: Mapping[str, int] = field(default_factory=dict)

    def has_segment(self, name: str) -> bool | None:
        """Return whether the versions in a segment count; None: decide by time."""
        found = SEGMENT_NAME.fullmatch(name)
        run = self.workers.get(found["worker"]) if found else None
        return None if self.run is None or run is None else run <= self.run


def find_start(root: Path, text: str | None) -> EarlierState:
    """Return the state that `--since` names.

    Args:
        root: folder of the crawl.
        text: the number of a run, for its end; a folder `before-…`; or a time. None:
            the end of the run before the last, else the last such folder, else the
            empty log.

    Raises:
        ConfigError: there is no such run, folder or time.
    """
    runs = read_runs(root / "quads")
    numbers = sorted(runs.ended)
    folders = _folders(root)
    if text is None:
        if len(numbers) > 1:
            return _end_of(runs, numbers[-2])
        if not folders:
            return EarlierState("the beginning", -1)
        text = folders[-1]
    if text in folders:
        return EarlierState(text, -1, CrawlLog(root / text))
    if text.isascii() and text.isdigit() and len(text) < 8:  # 20260921 is a date
        if int(text) - 1 not in runs.ended:
            known = "no runs"
            if numbers:
                known = f"runs {numbers[0] + 1} to {numbers[-1] + 1}"
            raise ConfigError(f"--since {text}: this crawl has ended {known}")
        return _end_of(runs, int(text) - 1)
    try:
        since_ms = parse_since(text)
    except ConfigError as error:
        known = ", ".join(["the number of a run", *folders])
        raise ConfigError(f"{error}; or {known}") from error
    return EarlierState(second_text(since_ms), since_ms)


def _folders(root: Path) -> list[str]:
    """Return the folders that `fresh=1` moved aside, by generation, not by clock."""
    found = []
    for path in root.glob("before-*/quads"):
        identity = read_identity(path)
        if identity is not None:
            found.append((identity.generation, path.parent.name))
    return [name for _, name in sorted(found)]


def _end_of(runs: CrawlRuns, number: int) -> EarlierState:
    ended_ms = runs.ended[number]
    return EarlierState(
        f"run {number + 1}, which ended at {second_text(ended_ms)}",
        ended_ms,
        run=number,
        workers=runs.workers,
    )
