"""Choose the latest version of each document in a log, in bounded memory.

The log is read twice. In between, each version is 48 bytes in one of 256 scratch files,
by the hash of its document; of each file, the latest are marked by one bit a version.
100 million versions take 4.8 GB of scratch space, 13 MB for the bits, and about 100 MB
for one file at a time.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from contextlib import ExitStack
from hashlib import blake2b
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO

    from rdfcrawl.log.crawl_log import CrawlLog
    from rdfcrawl.log.documents import LogDocument

# Key of the document, version, digest, segment, number in the segment.
_RECORD: Final = struct.Struct(">16sQ16sII")
_FILES: Final = 256
_HELD_BYTES: Final = 64 * 1024  # of each file, before it is on disk
_READ_RECORDS: Final = 4096


def iter_latest_documents(
    log: CrawlLog, *, scratch: Path | None = None
) -> Iterator[LogDocument]:
    """Yield the latest version of each document, in the order of the log.

    Those without statements are among them. What is written meanwhile is left out, and
    of the same version written twice, one is yielded.

    Args:
        log: that is read.
        scratch: folder of the scratch files; by default that of the system.

    Raises:
        OSError: a disk cannot be read, or is full.
    """
    folder = None if scratch is None else str(scratch)
    segments: dict[str, int] = {}
    with ExitStack() as stack:
        files: list[IO[bytes]] = [
            stack.enter_context(SpooledTemporaryFile(_HELD_BYTES, dir=folder))
            for _ in range(_FILES)
        ]
        for document, number in _numbered(log):
            key = blake2b(document.graph.encode(), digest_size=16).digest()
            segment = segments.setdefault(document.segment, len(segments))
            files[key[0]].write(_RECORD.pack(key, *document.version, segment, number))
        bits = _marked(files)
    for document, number in _numbered(log):
        marks = bits.get(segments.get(document.segment, -1), b"")
        if number >> 3 < len(marks) and marks[number >> 3] >> (number & 7) & 1:
            yield document


def _numbered(log: CrawlLog) -> Iterator[tuple[LogDocument, int]]:
    """Yield all documents with their number in their segment."""
    current, number = "", 0
    for batch in log.read(log.begin(), has_provenance=False):
        for document in batch.documents:
            number = number + 1 if document.segment == current else 0
            current = document.segment
            yield document, number


def _marked(files: list[IO[bytes]]) -> dict[int, bytearray]:
    """Return the bits of the latest versions, by segment."""
    bits: defaultdict[int, bytearray] = defaultdict(bytearray)
    for file in files:
        latest: dict[bytes, tuple[int, bytes, int, int]] = {}
        file.seek(0)
        while some := file.read(_READ_RECORDS * _RECORD.size):
            for key, *version in _RECORD.iter_unpack(some):
                found = tuple(version)
                if found > latest.get(key, (-1,)):
                    latest[key] = found
        for _, _, segment, number in latest.values():
            marks = bits[segment]
            marks.extend(bytes(max(0, (number >> 3) + 1 - len(marks))))
            marks[number >> 3] |= 1 << (number & 7)
    return dict(bits)
