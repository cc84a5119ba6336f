"""Build or update the URL database of a crawl.

New observations are sorted, and merged with the segments of their partitions. Each new
segment is a separate file, named by its content; the manifest is replaced when all are
on disk. So a crash at any point leaves the state before or after the build.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Final

from rdfcrawl.analysis.urldb.files import (
    FOLDER,
    WAIT_SECS,
    SegmentReader,
    SegmentWriter,
    UrlDatabaseManifest,
    read_manifest,
    write_manifest,
    writing_alone,
)
from rdfcrawl.analysis.urldb.joining import join
from rdfcrawl.analysis.urldb.scan import LogScan
from rdfcrawl.core.sorting import SpillFolder, StringSorter
from rdfcrawl.stores.crawl_folder import LogIdentity
from rdfcrawl.stores.files import sync, synced_file
from rdfcrawl.stores.log.crawl_log import CrawlLog
from rdfcrawl.stores.reading import reading
from rdfcrawl.uri import NormalForm

MEMORY_BYTES: Final = 256 * 1024 * 1024
_DRAFT: Final = ".draft"
_SUFFIX: Final = ".seg"
_MOST_TEXTS: Final = 1000  # of one URI in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlDatabaseReport:
    """Result of a build.

    Attributes:
        n_records: records in the database.
        n_observations: number of new observations.
        n_without_host: names that were skipped, since they are no URL with a host.
        n_segments: number of written segments.
        n_bytes: size of the database.
        damages: descriptions of damaged parts of the logs.
    """

    n_records: int
    n_observations: int
    n_without_host: int
    n_segments: int
    n_bytes: int
    damages: tuple[str, ...]


def build(
    root: Path,
    normal_form: NormalForm,
    *,
    memory_bytes: int = MEMORY_BYTES,
    scratch: Path | None = None,
) -> UrlDatabaseReport:
    """Update the URL database of a crawl from its logs, after another build if any.

    An existing database is discarded if it belongs to an earlier generation of the
    log, to another normal form or an older format, or if the log has since lost data.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        normal_form: of the crawl.
        memory_bytes: approximate memory for sorting observations.
        scratch: folder of scratch files; by default that of the operating system.

    Raises:
        ConfigError: there is no log, another build takes more than `WAIT_SECS`, or the
            database is damaged.
        OSError: a disk is full, or cannot be read.
    """
    folder = root / FOLDER
    log = CrawlLog(root)
    folder.mkdir(exist_ok=True)
    with (
        writing_alone(folder, "is being built already", wait_secs=WAIT_SECS),
        reading(root / "quads"),
        SpillFolder(scratch) as spills,
    ):
        before = read_manifest(folder, to_build=True)
        manifest = _manifest_to_build(root, log.identity, normal_form, before)
        sorter = StringSorter(spills.new(), memory_bytes)
        scan = LogScan(root, manifest.offsets, normal_form=normal_form, sorter=sorter)
        scan.run()
        log.check_kept(log.identity)
        merge = _Merge(folder, manifest)
        merge.run(
            join_sorted(_split(line) for batch in sorter.sorted() for line in batch)
        )
        merged = merge.manifest(scan.offsets)
        if merged != before:
            write_manifest(folder, merged)
        remove_old(folder, merged)
    return UrlDatabaseReport(
        n_records=merged.n_records,
        n_observations=scan.n_observations,
        n_without_host=scan.n_without_host,
        n_segments=merge.n_segments,
        n_bytes=sum((folder / x).stat().st_size for x in merged.segments.values()),
        damages=tuple(map(str, scan.damages)),
    )


def _manifest_to_build(
    root: Path,
    log: LogIdentity,
    normal_form: NormalForm,
    before: UrlDatabaseManifest | None,
) -> UrlDatabaseManifest:
    """Return the manifest of the existing database, or of an empty one."""
    manifest = UrlDatabaseManifest(
        log=log.log,
        generation=log.generation,
        session_parameters=normal_form.session_parameters,
    )
    if before is None or not before.is_behind(manifest) or _has_lost(root, before):
        return manifest
    return before


def _has_lost(root: Path, before: UrlDatabaseManifest) -> bool:
    """Return whether a log is shorter than before, such as after a power cut."""
    for name, offset in before.offsets.items():
        with suppress(FileNotFoundError):  # replaced by a compaction
            if (root / name).stat().st_size < offset:
                return True
    return False


def join_sorted(
    observations: Iterable[tuple[bytes, bytes]],
) -> Iterator[tuple[bytes, bytes]]:
    """Yield key and packed columns of each URI; observations must be grouped by URI.

    Memory is limited, for any number of observations of one URI.
    """
    last, texts = b"", list[bytes]()
    for key, text in observations:
        if key == last:
            texts.append(text)
            if len(texts) >= _MOST_TEXTS:
                texts = [join(texts)]
            continue
        if texts:
            yield last, join(texts)
        last, texts = key, [text]
    if texts:
        yield last, join(texts)


class _Merge:
    """Merge new observations into the segments of a database."""

    def __init__(self, folder: Path, before: UrlDatabaseManifest) -> None:
        self._folder, self._before = folder, before
        self._segments = dict(before.segments)
        self._n_records = before.n_records
        self.n_segments = 0

    def run(self, observations: Iterator[tuple[bytes, bytes]]) -> None:
        """Write a new segment for each partition with new observations."""
        for partition, some in groupby(observations, lambda each: each[0][:2]):
            self._write(partition.decode(), some)
        if self.n_segments:
            sync(self._folder)

    def manifest(self, offsets: dict[str, int]) -> UrlDatabaseManifest:
        """Return the manifest of the merged database."""
        return replace(
            self._before,
            offsets=dict(sorted(offsets.items())),
            segments=dict(sorted(self._segments.items())),
            n_records=self._n_records,
        )

    def _write(self, partition: str, some: Iterable[tuple[bytes, bytes]]) -> None:
        before = self._segments.get(partition)
        delta = _Peekable((key[3:], text) for key, text in some)
        with new_segment(self._folder, partition) as written:
            writer = written.writer
            if before is not None:
                with SegmentReader(self._folder / before) as segment:
                    self._n_records -= sum(x.n_records for x in segment.blocks)
                    _merge_blocks(segment, delta, writer)
            for key, text in delta.up_to(None):
                writer.add(key, text)
        self._segments[partition] = written.name
        self._n_records += writer.n_records
        self.n_segments += 1


@dataclass(slots=True)
class WrittenSegment:
    """A segment during and after writing.

    Attributes:
        writer: receives the records.
        name: of its file, once it is complete.
    """

    writer: SegmentWriter
    name: str = ""


@contextmanager
def new_segment(
    folder: Path, partition: str, writer_name: str = ""
) -> Iterator[WrittenSegment]:
    """Write a segment; when it is complete, the file is named by its content.

    Args:
        folder: of the database.
        partition: two hex digits.
        writer_name: distinguishes writers of the same segment.

    Raises:
        OSError: the disk is full, or refuses the file.
    """
    draft = folder / f".{partition}{writer_name}{_DRAFT}"
    with synced_file(draft) as file:
        written = WrittenSegment(SegmentWriter(file))
        yield written
        digest = written.writer.end()
    written.name = f"{partition}-{digest}{_SUFFIX}"
    draft.replace(folder / written.name)


class _Peekable:
    """Iterator over sorted observations that knows the next one."""

    def __init__(self, observations: Iterator[tuple[bytes, bytes]]) -> None:
        self._left = observations
        self._next = next(observations, None)

    def has_before(self, bound: bytes | None) -> bool:
        """Return whether the next one is below a bound; None: whether there is one."""
        return self._next is not None and (bound is None or self._next[0] < bound)

    def up_to(self, bound: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """Yield observations below a bound; None: all."""
        while self._next is not None and (bound is None or self._next[0] < bound):
            yield self._next
            self._next = next(self._left, None)


def _merge_blocks(
    segment: SegmentReader, delta: _Peekable, writer: SegmentWriter
) -> None:
    """Merge new observations into the blocks of a segment; copy all other blocks."""
    bounds = [block.first for block in segment.blocks[1:]]
    for block, bound in zip(segment.blocks, [*bounds, None], strict=True):
        if writer.is_between_blocks and not delta.has_before(bound):
            writer.copy(block, segment.read(block))
            continue
        records = (_split(line) for line in segment.lines(block))
        _merge_records(records, delta.up_to(bound), writer)


def _merge_records(
    records: Iterable[tuple[bytes, bytes]],
    new: Iterator[tuple[bytes, bytes]],
    writer: SegmentWriter,
) -> None:
    following = next(new, None)
    for key, text in records:
        while following is not None and following[0] < key:
            writer.add(*following)
            following = next(new, None)
        if following is not None and following[0] == key:
            writer.add(key, join([text, following[1]]))
            following = next(new, None)
        else:
            writer.add(key, text)
    while following is not None:
        writer.add(*following)
        following = next(new, None)


def _split(line: bytes) -> tuple[bytes, bytes]:
    key, _, text = line.partition(b"\t\t")
    return key, text


def remove_old(folder: Path, manifest: UrlDatabaseManifest) -> None:
    """Remove drafts, and segments that the manifest does not name."""
    kept = set(manifest.segments.values())
    for path in folder.iterdir():
        is_old = path.suffix == _SUFFIX and path.name not in kept
        if is_old or path.suffix == _DRAFT:
            with suppress(FileNotFoundError):
                path.unlink()
