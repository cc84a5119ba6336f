"""Read the URL database of a crawl."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Self

from rdfcrawl.analysis.urldb.files import (
    FOLDER,
    SegmentBlock,
    SegmentReader,
    read_manifest,
)
from rdfcrawl.analysis.urldb.record import (
    UrlRecord,
    key_of,
    parse_record,
    partition_name,
)
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.uri import NormalForm

_ATTEMPTS: Final = 5  # a build may replace segments meanwhile


class UrlDatabase:
    """The records of the URIs of a crawl; a context manager.

    A concurrent build does not affect an open database.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.

    Attributes:
        n_records: number of URIs.
        normal_form: of the URLs.
        digest: of the state of the database; equal for equal content and logs.

    Raises:
        ConfigError: there is no database, or it is damaged.
        OSError: the disk cannot be read.
    """

    def __init__(self, root: Path) -> None:
        self._folder = root / FOLDER
        self._segments: dict[str, SegmentReader] = {}
        self._last: tuple[SegmentReader, SegmentBlock, list[bytes]] | None = None
        for attempt in range(_ATTEMPTS):
            try:
                self._open()
            except FileNotFoundError:
                self.close()
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return

    def _open(self) -> None:
        manifest = read_manifest(self._folder)
        if manifest is None:
            raise ConfigError(f"{self._folder}: not found; run `urldb build`")
        self.n_records = manifest.n_records
        self.normal_form = NormalForm(manifest.session_parameters)
        self.digest = manifest.digest
        for partition, name in manifest.segments.items():
            self._segments[partition] = SegmentReader(self._folder / name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        for segment in self._segments.values():
            segment.close()
        self._segments.clear()

    def find(self, url: str) -> UrlRecord | None:
        """Return the record of a URL in any spelling; None if there is none."""
        key = key_of(url, self.normal_form)
        if key is None:
            return None
        segment = self._segments.get(key[:2].decode())
        if segment is None:
            return None
        wanted = key[3:]
        at = bisect_right(segment.blocks, wanted, key=lambda block: block.first)
        if at == 0:
            return None
        for line in segment.lines(segment.blocks[at - 1]):
            if line.startswith(wanted + b"\t"):
                return parse_record(line)
        return None

    def hosts(self) -> Iterator[tuple[str, str]]:
        """Yield registered domain and name of each host, sorted."""
        last = b"", b""
        segments = (segment.iter_lines() for segment in self._segments.values())
        for line in heapq.merge(*segments):
            domain, host, _ = line.split(b"\t", 2)
            if (domain, host) != last:
                last = domain, host
                yield domain.decode(), host.decode()

    def of_host(self, domain: str, host: str) -> Iterator[UrlRecord]:
        """Yield the records of one host, sorted by URL."""
        yield from self._below(partition_name(host), f"{domain}\t{host}\t".encode())

    def neighbours(self, url: str) -> Iterator[UrlRecord]:
        """Yield the records of the registered domain of a URL, sorted."""
        key = key_of(url, self.normal_form)
        if key is not None:
            partition, domain, _ = key.split(b"\t", 2)
            yield from self._below(partition.decode(), domain + b"\t")

    def _below(self, partition: str, prefix: bytes) -> Iterator[UrlRecord]:
        """Yield the records whose keys have a prefix."""
        segment = self._segments.get(partition)
        if segment is None:
            return
        at = bisect_right(segment.blocks, prefix, key=lambda block: block.first)
        for block in segment.blocks[max(at - 1, 0) :]:
            if not block.first.startswith(prefix) and block.first > prefix:
                return
            for line in self._lines(segment, block):
                if line.startswith(prefix):
                    yield parse_record(line)

    def _lines(self, segment: SegmentReader, block: SegmentBlock) -> list[bytes]:
        """Return the lines of a block, cached, since small hosts share a block."""
        if self._last is None or self._last[:2] != (segment, block):
            self._last = segment, block, segment.lines(block)
        return self._last[2]

    def with_value(self, name: str) -> Iterator[UrlRecord]:
        """Yield the records with a latest value, and perhaps some others; sorted.

        Args:
            name: of the value in `UrlRecord.latest`.
        """
        mark = f'["{name}",'.encode()
        yield from self.records(is_wanted=lambda line: mark in line)

    @property
    def partitions(self) -> tuple[str, ...]:
        """Names of the partitions with records, sorted."""
        return tuple(sorted(self._segments))

    def lines(self, partition: str) -> Iterator[bytes]:
        """Yield the stored records of a partition, in order."""
        segment = self._segments.get(partition)
        return iter(()) if segment is None else segment.iter_lines()

    def records(
        self,
        partition: str | None = None,
        is_wanted: Callable[[bytes], object] | None = None,
    ) -> Iterator[UrlRecord]:
        """Yield all records, sorted by registered domain, host and URL.

        Args:
            partition: yield only its records, in the same order.
            is_wanted: whether a stored record is parsed, which takes most of the time.
        """
        names = self._segments if partition is None else (partition,)
        lines = heapq.merge(*map(self.lines, names))
        yield from map(parse_record, filter(is_wanted, lines))
