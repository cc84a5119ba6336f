"""Repair segments after a crash: torn ends are cut off."""

from __future__ import annotations

import fcntl
import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfcrawl.stores.members import (
    HEADER_BYTES,
    PREFIX,
    SEAL,
    GzipMember,
    find_member,
    is_sealed,
    is_whole,
    iter_members,
)
from rdfcrawl.stores.segment_file import list_segments

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class RecoveryReport:
    """Counts of segments found by `recover`, and of bytes cut."""

    n_segments: int = 0  # all that were examined
    n_sealed: int = 0  # finished before; not changed
    n_locked: int = 0  # a live process is writing to them; not changed
    n_foreign: int = 0  # not written by `QuadSegments`; not changed
    n_cut: int = 0  # had a torn end
    n_removed: int = 0  # no content left, whether cut or empty before
    n_bytes_cut: int = 0  # length of all torn ends


def recover(directory: Path) -> RecoveryReport:
    """Cut torn ends off all segments, and seal them.

    A sealed segment costs one read of 34 bytes. In any other, all headers are read, and
    members that were not known to be on disk when the last one was written are
    inflated: after power loss a file may hold zeros in the middle.

    Args:
        directory: nothing is done if it is missing.

    Raises:
        OSError: the disk cannot be read or written.
    """
    report = RecoveryReport()
    if directory.is_dir():
        for path in list_segments(directory):
            report.n_segments += 1
            _recover_segment(path, report)
    return report


def _recover_segment(path: Path, report: RecoveryReport) -> None:
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:  # removed by another recovery or its writer
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        report.n_locked += 1
    else:
        _recover_locked(path, fd, report)
    finally:
        os.close(fd)


def _recover_locked(path: Path, fd: int, report: RecoveryReport) -> None:
    n_bytes = os.fstat(fd).st_size
    if is_sealed(fd, n_bytes):
        report.n_sealed += 1
        return
    if not _is_ours(fd):
        report.n_foreign += 1
        return
    n_whole = count_whole_bytes(fd, n_bytes)
    if n_whole < n_bytes:
        logger.warning(
            "segment %(path)s: cut %(n)d bytes of unfinished documents",
            {"path": path, "n": n_bytes - n_whole},
        )
        report.n_cut += 1
        report.n_bytes_cut += n_bytes - n_whole
        os.ftruncate(fd, n_whole)
    if n_whole == 0:
        report.n_removed += 1
        path.unlink(missing_ok=True)
        return
    os.fdatasync(fd)
    os.pwrite(fd, SEAL, n_whole)


def _is_ours(fd: int) -> bool:
    """Return whether the file begins like a segment, up to its end or to zeros.

    Power loss leaves zeros in pages that were not written yet.
    """
    head = os.pread(fd, len(PREFIX), 0)
    return PREFIX.startswith(head.rstrip(b"\0"))


def count_whole_bytes(fd: int, n_file_bytes: int) -> int:
    """Return the length of the valid part of a segment that is not sealed.

    Damage before a member with the flag `is_synced` is not a torn end: it stays, with
    everything behind it.
    """
    n_whole = 0
    while True:
        end = _end_of_whole(fd, n_file_bytes, n_whole)
        synced = _find_synced(fd, n_file_bytes, end)
        if synced is None:
            return end
        n_whole = synced.offset


def _end_of_whole(fd: int, n_file_bytes: int, offset: int) -> int:
    """Return the end of the consecutive intact members from `offset` on."""
    doubtful: list[GzipMember] = []
    for member in iter_members(fd, n_file_bytes, offset):
        if member.is_synced:
            doubtful.clear()
        doubtful.append(member)
        offset = member.offset + member.n_bytes
    for member in doubtful:
        if not is_whole(fd, member):
            return member.offset
    return offset


def _find_synced(fd: int, n_file_bytes: int, offset: int) -> GzipMember | None:
    """Return the first member behind a torn one that has the flag `is_synced`."""
    header = os.pread(fd, HEADER_BYTES, offset)
    if header == PREFIX + bytes(8):  # a document still being written: nothing follows
        return None
    found = find_member(fd, n_file_bytes, offset + 1)
    while found is not None and not found.is_synced:
        found = find_member(fd, n_file_bytes, found.offset + found.n_bytes)
    return found
