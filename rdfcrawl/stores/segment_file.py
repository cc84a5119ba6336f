"""One segment file: named, locked, appended to, synced and sealed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
from typing import TYPE_CHECKING

from rdfcrawl.stores.drafts import sync
from rdfcrawl.stores.members import LENGTH_AT, SEAL, encode_length

if TYPE_CHECKING:
    from pathlib import Path

SEGMENT_NAME = re.compile(
    r"(?P<worker>[A-Za-z0-9_][A-Za-z0-9._-]*)-(?P<number>[0-9]{5,})"
    r"(?:\.(?P<revision>[0-9]+))?\.nq\.gz"  # each compaction increments it
)


def list_segments(directory: Path, *, worker: str | None = None) -> list[Path]:
    """Return the segments in `directory`, of one worker or all, in writing order.

    Superseded segments, which have a later revision, are left out.
    """
    return [paths[-1] for paths in _revisions(directory, worker)]


def list_superseded(directory: Path) -> list[Path]:
    """Return the segments that have a later revision."""
    return [path for paths in _revisions(directory, None) for path in paths[:-1]]


def next_revision(name: str) -> str:
    """Return the name of the next revision of a segment.

    >>> next_revision("w-00000.nq.gz"), next_revision("w-00000.1.nq.gz")
    ('w-00000.1.nq.gz', 'w-00000.2.nq.gz')
    """
    match = SEGMENT_NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"no segment: {name}")
    revision = int(match["revision"] or 0) + 1
    return f"{match['worker']}-{match['number']}.{revision}.nq.gz"


def _revisions(directory: Path, worker: str | None) -> list[list[Path]]:
    """Return the revisions of each segment, both in order."""
    found: dict[tuple[str, int], list[tuple[int, Path]]] = {}
    for path in directory.iterdir():
        match = SEGMENT_NAME.fullmatch(path.name)
        if match is not None and worker in (None, match["worker"]):
            key = match["worker"], int(match["number"])
            found.setdefault(key, []).append((int(match["revision"] or 0), path))
    return [[path for _, path in sorted(found[key])] for key in sorted(found)]


class SegmentFile:
    """One segment being written; locked until it is closed.

    Invariant: `n_bytes` is where the next member begins. Bytes behind it are torn, and
    are cut off before the next write.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.n_bytes = 0
        self.n_synced = 0
        self._fd = fd
        self._is_named = False  # its directory entry is on disk
        self._has_changed = False  # before `n_synced`, and maybe not on disk

    @classmethod
    def create(cls, path: Path) -> SegmentFile | None:
        """Create and lock a segment; return None if the name is taken."""
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
        try:
            fd = os.open(path, flags, 0o644)
        except FileExistsError:
            return None
        fcntl.flock(fd, fcntl.LOCK_EX)
        # A recovery may have removed the file, empty, before it was locked.
        if os.fstat(fd).st_nlink == 0:
            os.close(fd)
            return None
        return cls(path, fd)

    @property
    def is_synced(self) -> bool:
        """Whether all members are known to be on disk."""
        return self.n_synced == self.n_bytes and not self._has_changed

    def append(self, *pieces: bytes) -> None:
        """Write `pieces` after the last member, all or nothing.

        Raises:
            OSError: nothing was written.
        """
        content = b"".join(pieces)
        written = 0
        try:
            while written < len(content):
                written += os.pwrite(
                    self._fd, content[written:], self.n_bytes + written
                )
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self.n_bytes)
            raise
        self.n_bytes += written

    def patch_length(self, offset: int = 0) -> None:
        """Make the last member valid: write its length to its header at `offset`."""
        length = encode_length(self.n_bytes - offset, is_synced=False)
        os.pwrite(self._fd, length, offset + LENGTH_AT)
        # After the write: a `sync` in another thread may have begun before it.
        self._has_changed = True

    def cut(self, n_bytes: int) -> None:
        """Drop everything after the first `n_bytes`."""
        self.n_bytes, self.n_synced = n_bytes, min(self.n_synced, n_bytes)
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, n_bytes)
        self._has_changed = True

    def check_path(self) -> None:
        """Check that the path still leads to this file.

        Data written to a file whose folder was deleted is lost without an error.

        Raises:
            FileNotFoundError: the file was deleted or moved away.
        """
        ours = os.fstat(self._fd)
        with contextlib.suppress(FileNotFoundError):
            found = self.path.stat()
            if (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino):
                return
        reason = f"{self.path} was deleted or moved away"
        raise FileNotFoundError(errno.ENOENT, reason)

    def sync(self) -> int:
        """Make the file durable on disk; return the number of its durable bytes.

        Raises:
            OSError: the file may not be on disk; see also `check_path`.
        """
        n_bytes = self.n_bytes
        self._has_changed = False  # before the sync, which may miss later changes
        try:
            os.fdatasync(self._fd)
        except OSError:
            self._has_changed = True
            raise
        self.check_path()
        if not self._is_named:
            sync(self.path.parent)
            self._is_named = True
        return n_bytes

    def finish(self) -> int:
        """Make the file durable, seal and close it; return its size."""
        self.n_synced = self.sync()
        # A segment without a seal is valid; only its recovery takes longer.
        with contextlib.suppress(OSError):
            self.append(SEAL)
        self.close()
        return self.n_bytes

    def close(self) -> None:
        """Close the file without a seal, and release its lock."""
        os.close(self._fd)

    def remove(self) -> None:
        """Delete the segment."""
        self.path.unlink(missing_ok=True)
        os.close(self._fd)
