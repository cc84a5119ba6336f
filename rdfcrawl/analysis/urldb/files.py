"""The files of the URL database: segments of sorted records, manifest, lock.

A segment has records sorted by key, in compressed blocks. A block ends after a record
whose key has a certain checksum, or when it is full. So the ends of blocks depend only
on the keys, and blocks without changes are copied.

| bytes | content |
|---|---|
| blocks | lines `domain TAB host TAB url TAB TAB record`, sorted, by their columns |
| index | Zstandard; lines `length TAB number of records TAB CRC-32 TAB first key` |
| 16 bytes | length of the index, little endian; a magic number with the format |

Each column between tabs is stored as its length in 4 bytes, little endian, and its
fields, separated by line feeds and compressed with Zstandard.

The manifest lists the segments, and the part of the logs in them. A folder has one
writer at a time, which holds its lock.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Self
from zlib import crc32

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.files import sync, synced_file, try_lock, wait_for_lock

if sys.version_info >= (3, 14):  # pragma: no cover
    from compression import zstd
else:
    from backports import zstd

logger = logging.getLogger(__name__)

_ENDS_BLOCK: Final = 0xFF  # of the checksum of a key: one in 256
_MOST_RECORDS: Final = 2048  # URLs may be chosen so that no key ends a block
_LEVEL: Final = 3
_MAGIC: Final = b"urldb\0\0\3"
_END_BYTES: Final = 16
_LENGTH_BYTES: Final = 4  # of a column
_DIGEST_BYTES: Final = 12
FOLDER: Final = "urldb"
"""Name of the folder, within that of the crawl."""
FORMAT: Final = 4
_NAME: Final = "urldb.json"
_DRAFT: Final = ".urldb.json.draft"
LOCK_NAME: Final = "lock"
WAIT_SECS: Final = 600.0
"""How long a build waits for another one, of a refresher or a report."""


class SegmentBlock(NamedTuple):
    """A block of a segment.

    Attributes:
        first: key of its first record.
        offset: in the file.
        n_bytes: length in the file.
        n_records: in it.
        crc: CRC-32 of its bytes in the file.
    """

    first: bytes
    offset: int
    n_bytes: int
    n_records: int
    crc: int


class SegmentWriter:
    """Writer of one segment; records must be sorted by key.

    Args:
        file: receives the segment.

    Attributes:
        n_records: number of written records.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = blake2b(digest_size=_DIGEST_BYTES)
        self._lines: list[bytes] = []
        self._first = b""
        self._index: list[bytes] = []
        self.n_records = 0

    @property
    def is_between_blocks(self) -> bool:
        """Whether the next record starts a block."""
        return not self._lines

    def add(self, key: bytes, text: bytes) -> None:
        """Write a record."""
        if not self._lines:
            self._first = key
        self._lines.append(b"%b\t\t%b" % (key, text))
        is_end = crc32(key) & _ENDS_BLOCK == _ENDS_BLOCK
        if is_end or len(self._lines) >= _MOST_RECORDS:
            self._end_block()

    def copy(self, block: SegmentBlock, content: bytes) -> None:
        """Copy a block of another segment."""
        self._write_block(block.first, block.n_records, content)

    def end(self) -> str:
        """Write the index; return the digest of the file."""
        if self._lines:
            self._end_block()
        index = zstd.compress(b"".join(self._index), _LEVEL)
        self._write(index + len(index).to_bytes(8, "little") + _MAGIC)
        return self._hash.hexdigest()

    def _end_block(self) -> None:
        content = _pack_columns(self._lines)
        self._write_block(self._first, len(self._lines), content)
        self._lines.clear()

    def _write_block(self, first: bytes, n_records: int, content: bytes) -> None:
        numbers = len(content), n_records, crc32(content)
        self._index.append(b"%d\t%d\t%d\t%b\n" % (*numbers, first))
        self.n_records += n_records
        self._write(content)

    def _write(self, content: bytes) -> None:
        self._hash.update(content)
        self._file.write(content)


class SegmentReader:
    """Reader of one segment.

    Args:
        path: of the file.

    Attributes:
        blocks: in order.

    Raises:
        ConfigError: the file is damaged.
        OSError: it does not exist, or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDONLY)
        try:
            self.blocks = list(self._read_index())
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def read(self, block: SegmentBlock) -> bytes:
        """Return the stored bytes of a block.

        Raises:
            ConfigError: it is damaged.
        """
        content = os.pread(self._fd, block.n_bytes, block.offset)
        if crc32(content) != block.crc:
            raise _damaged(self.path)
        return content

    def lines(self, block: SegmentBlock) -> list[bytes]:
        """Return the records of a block as lines without line feeds.

        Raises:
            ConfigError: it is damaged.
        """
        return _unpack_columns(self.read(block))

    def iter_lines(self) -> Iterator[bytes]:
        """Yield all records."""
        for block in self.blocks:
            yield from self.lines(block)

    def _read_index(self) -> Iterator[SegmentBlock]:
        n_bytes = os.fstat(self._fd).st_size
        end = os.pread(self._fd, _END_BYTES, max(n_bytes - _END_BYTES, 0))
        if not end.endswith(_MAGIC) or len(end) < _END_BYTES:
            raise _damaged(self.path)
        length = int.from_bytes(end[:8], "little")
        try:
            content = os.pread(self._fd, length, n_bytes - _END_BYTES - length)
            lines = zstd.decompress(content).split(b"\n")[:-1]
        except (OSError, OverflowError, zstd.ZstdError) as error:
            raise _damaged(self.path) from error
        offset = 0
        for line in lines:
            length, n_records, crc, first = line.split(b"\t", 3)  # type: ignore[assignment]
            yield SegmentBlock(first, offset, int(length), int(n_records), int(crc))
            offset += int(length)


def _pack_columns(lines: list[bytes]) -> bytes:
    """Return lines with the same number of tabs, compressed column by column.

    Hashes, sketches and text compress better separately: this saves a sixth.
    """
    packed = []
    for column in zip(*[line.split(b"\t") for line in lines], strict=True):
        content = zstd.compress(b"\n".join(column), _LEVEL)
        packed += [len(content).to_bytes(_LENGTH_BYTES, "little"), content]
    return b"".join(packed)


def _unpack_columns(content: bytes) -> list[bytes]:
    columns = []
    begin = 0
    while begin < len(content):
        first = begin + _LENGTH_BYTES
        begin = first + int.from_bytes(content[begin:first], "little")
        columns.append(zstd.decompress(content[first:begin]).split(b"\n"))
    return [b"\t".join(line) for line in zip(*columns, strict=True)]


def _damaged(path: Path) -> ConfigError:
    return ConfigError(f"{path}: is damaged; remove its folder and run `urldb build`")


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlDatabaseManifest:
    """The state of a URL database; it is replaced atomically.

    Attributes:
        log: name of the log.
        generation: of the log.
        session_parameters: of the normal form of its URLs.
        offsets: end of the part that was read, by `quads/<segment>` and so on.
        segments: file by number of the partition.
        n_records: in all segments.
        format: version of the format.
    """

    log: str
    generation: int
    session_parameters: tuple[str, ...]
    offsets: dict[str, int] = field(default_factory=dict)
    segments: dict[str, str] = field(default_factory=dict)
    n_records: int = 0
    format: int = FORMAT

    @property
    def content(self) -> bytes:
        """Content of its file."""
        return json.dumps(asdict(self), indent=1, sort_keys=True).encode() + b"\n"

    @property
    def digest(self) -> str:
        """Hash of the content, 32 hex digits."""
        return blake2b(self.content, digest_size=16).hexdigest()

    def is_behind(self, other: UrlDatabaseManifest) -> bool:
        """Return whether this database can be updated from the log of another."""
        return (self.log, self.generation, self.session_parameters) == (
            *(other.log, other.generation, other.session_parameters),
        )


def read_manifest(
    folder: Path, *, to_build: bool = False
) -> UrlDatabaseManifest | None:
    """Return the manifest in a folder; None if there is none.

    Args:
        folder: of the database.
        to_build: treat an older format as missing, and log a warning.

    Raises:
        ConfigError: the file is damaged, or of another version of rdfcrawl.
    """
    path = folder / _NAME
    try:
        found = json.loads(path.read_bytes())
        if to_build and found["format"] < FORMAT:
            logger.warning(
                "%s: has format %d; rebuilding it in format %d",
                *(path, found["format"], FORMAT),
            )
            return None
        if found["format"] != FORMAT:
            raise ConfigError(
                f"{path}: has format {found['format']}, not {FORMAT}; `urldb build`"
                " rebuilds an older one; remove the folder of a newer one"
            )
        found["session_parameters"] = tuple(found["session_parameters"])
        return UrlDatabaseManifest(**found)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path}: is damaged: {error!r}") from error


def write_manifest(folder: Path, manifest: UrlDatabaseManifest) -> None:
    """Replace the manifest in a folder; its segments must be on disk.

    Raises:
        OSError: the disk refuses the file.
    """
    draft = folder / _DRAFT
    with synced_file(draft) as file:
        file.write(manifest.content)
    draft.replace(folder / _NAME)
    sync(folder)


@contextmanager
def writing_alone(
    folder: Path, refusal: str, *, wait_secs: float = 0.0
) -> Iterator[None]:
    """Lock a folder against other writers; the lock ends with the process.

    Args:
        folder: must exist.
        refusal: message after the name of the folder, if it is locked.
        wait_secs: how long to wait for another writer, whose work may be needed.

    Raises:
        ConfigError: the folder is locked.
    """
    fd = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not try_lock(fd):
            if wait_secs:
                logger.warning("%s: waits for another process", folder)
            if not wait_for_lock(fd, wait_secs):
                raise ConfigError(f"{folder}: {refusal}")
        yield
    finally:
        os.close(fd)
