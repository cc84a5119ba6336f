"""The bodies that one process holds: in memory, or in spool files of its folder.

Also watches free disk space, and limits parallel visits by the limit of open files.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import resource
import secrets
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.downloader.parts import (
    PartFacts,
    PartFolder,
    PartialBody,
    read_facts,
    remove_facts,
)

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfcrawl.core.records import FetchedResponse
    from rdfcrawl.downloader.client import RequestOptions
    from rdfcrawl.frontier.queue.options import WorkerOptions

logger = logging.getLogger(__name__)


_PROBE: Final = bytes(4096)
_LOOK_BYTES: Final = 8 * 1024 * 1024  # written between two checks of the disk
_OWN: Final = 100  # stores, log, Redis, reader processes, libraries
_PER_HOST: Final = 3  # a connection, a lookup or a context, a spool file
_MANY: Final = 40_000  # with idle connections


class WorkerDisk:
    """The folders that a worker writes to, perhaps on several disks.

    The minimum of free bytes applies to each disk; 0 disables the check.
    """

    def __init__(
        self, folders: Iterable[Path] = (), *, min_free_bytes: int = 0
    ) -> None:
        self._folders = tuple(folders)
        self._min_free_bytes = min_free_bytes

    def lack(self) -> str:
        """Return which disk has too little space; empty if none."""
        if not self._min_free_bytes:
            return ""
        for folder in self._folders:
            n_free = _free_bytes(folder)
            if n_free is not None and n_free < self._min_free_bytes:
                least = self._min_free_bytes
                free = counted(n_free, "byte")
                return f"{folder} has {free}, DISK_MIN_FREE_BYTES is {least:,}"
        return ""

    def refusal(self) -> str:
        """Return which folder is not writable; empty if all are."""
        for folder in self._folders:
            path = folder / f".probe-{os.getpid()}"
            try:
                with path.open("wb") as file:
                    file.write(_PROBE)
                    file.flush()
                    os.fsync(file.fileno())
            except FileNotFoundError:
                continue  # removed: waiting does not help
            except OSError as error:
                return f"{folder}: {error.strerror}"
            finally:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        return ""

    def has_room(self, folder: Path, n_bytes: int) -> bool:
        """Return whether a folder has room for `n_bytes`."""
        n_free = _free_bytes(folder)
        return n_free is None or n_free - n_bytes >= self._min_free_bytes

    def would_fit(self, folder: Path, n_bytes: int) -> bool:
        """Return whether `n_bytes` would fit on an empty disk."""
        try:
            facts = os.statvfs(folder)
        except OSError:
            return True
        return n_bytes <= facts.f_blocks * facts.f_frsize - self._min_free_bytes


def _free_bytes(folder: Path) -> int | None:
    try:
        facts = os.statvfs(folder)
    except OSError:  # perhaps removed: writing to it reports the error
        return None
    return facts.f_bavail * facts.f_frsize


class NoRoom(SourceFault):
    """There is no room for a body now: a local failure.

    Attributes:
        put_off_secs: pause of the host.
    """

    def __init__(self, detail: str, put_off_secs: float = 0.0) -> None:
        super().__init__(Reason.INTERNAL, detail)
        self.put_off_secs = put_off_secs


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolLimits:
    """Limits on the spool files of one process; 0 disables a limit."""

    most_bytes: int = 0  # of all files
    host_bytes: int = 0  # of those of one host
    # pause of a host, without room for a body
    put_off_secs: float = 5.0

    @property
    def both(self) -> tuple[int, int]:
        """Both sizes."""
        return self.most_bytes, self.host_bytes


class Spool:
    """Bodies that one process holds, in memory and in spool files.

    Each process has its own folder below `folder`, named in a lock file that the
    process keeps locked while it lives: the next process to start removes the folders
    of dead ones. Close it at the end.

    Attributes:
        parts: parts of interrupted transfers, to be resumed.
        is_short: bodies stay out of files, as the disk is nearly full.
    """

    def __init__(
        self,
        folder: Path,
        *,
        memory_limit_bytes: int,
        limits: SpoolLimits | None = None,
        disk: WorkerDisk | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.memory_bytes = 0
        """Bytes of bodies held in memory, by finished documents and open fetches."""
        self.is_short = False
        self._memory_limit_bytes = memory_limit_bytes
        self._limits = limits or SpoolLimits()
        self.disk = disk or WorkerDisk()
        self._taken: Counter[str] = Counter()  # bytes of files by host
        self._sizes: dict[Path, tuple[str, int]] = {}  # of complete bodies
        self._n_unseen = 0  # bytes since the last check of the disk
        self._n_files = 0
        self.parts = PartFolder(folder / "parts")
        self._lock_path, self._lock_fd = _lock_new(folder)
        self.folder = self._lock_path.with_suffix("")
        self.folder.mkdir()
        _remove_stale(folder, self.parts)
        self._tidy()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def take_part(self, url: str) -> PartialBody | None:
        """Take the part of a body, if there is one."""
        return self.parts.take(url, self.new_path())

    def return_part(self, part: PartialBody) -> None:
        """Put back a part that was taken and not resumed."""
        self.keep_part(part.path, part.facts)
        self.drop_part(part)

    def drop_part(self, part: PartialBody) -> None:
        """Remove a part that was taken."""
        part.path.unlink(missing_ok=True)
        remove_facts(part.path)

    def keep_for_resume(self, holder: FetchedResponse) -> None:
        """Keep a body with facts as a part, to be resumed by a later request."""
        if holder.path is not None:
            facts = read_facts(holder.path)
            if facts is not None:
                self.keep_part(holder.path, facts)

    def keep_part(self, path: Path, facts: PartFacts) -> bool:
        """Keep the file of a body as a part; return whether that succeeded."""
        is_kept = not self.is_short and self.parts.add(path, facts)
        self._tidy()
        return is_kept

    def drop_parts(self) -> bool:
        """Remove all parts; return whether there were any."""
        had_any = self.parts.n_bytes > 0
        self.parts.tidy(0)
        return had_any

    def _tidy(self) -> None:
        limits = self._limits
        most = min(each for each in (*limits.both, sys.maxsize) if each)
        self.parts.tidy(most)

    @property
    def put_off_secs(self) -> float:
        """How long a host waits for room."""
        return self._limits.put_off_secs

    def has_room(self, n_bytes: int) -> bool:
        """Return whether a body of `n_bytes` may be kept in memory."""
        return self.memory_bytes + n_bytes <= self._memory_limit_bytes

    def holds(self, n_bytes: int, options: RequestOptions) -> bool:
        """Return whether a complete body of `n_bytes` stays in memory."""
        return n_bytes <= options.spool_bytes and self.has_room(n_bytes)

    def new_path(self) -> Path:
        """Return an unused path for a spool file."""
        self._n_files += 1
        return self.folder / f"{self._n_files}.body"

    def release(self, holder: FetchedResponse) -> None:
        """Free the body of a document; further calls do nothing.

        The body must still be the one that was fetched: unpacked content is kept
        elsewhere.
        """
        if holder.body is not None:
            self.memory_bytes -= len(holder.body)
            holder.body = None
        if holder.path is not None:
            holder.path.unlink(missing_ok=True)
            remove_facts(holder.path)
            if taken := self._sizes.pop(holder.path, None):
                self.give_back(*taken)
            holder.path = None

    @property
    def file_bytes(self) -> int:
        """Bytes that spool files take, or are expected to take."""
        return self._taken.total()

    def take(self, host: str, n_bytes: int, *, own_bytes: int) -> None:
        """Reserve bytes for the file of a body.

        The body has reserved `own_bytes` before.

        Raises:
            NoRoom: there is no room now.
            SourceFault: `TOO_LARGE`: there never is room.
            OSError: the disk is nearly full.
        """
        limits = self._limits
        most, most_of_host = limits.most_bytes, limits.host_bytes
        self.look_at_disk(n_bytes, own_bytes)
        if most_of_host and self._taken[host] + n_bytes > most_of_host:
            what = f"SPOOL_HOST_MAX_BYTES={most_of_host}"
            if own_bytes + n_bytes > most_of_host:
                raise SourceFault(Reason.TOO_LARGE, f"over {what}")
            raise NoRoom(f"{host} has in the spool more than {what}")
        wanted = self.file_bytes + n_bytes
        if most and wanted + self.parts.n_bytes > most:
            self.parts.tidy(max(0, most - wanted))
        if most and wanted > most:
            what = f"SPOOL_MAX_BYTES={most}"
            if own_bytes + n_bytes > most:
                raise SourceFault(Reason.TOO_LARGE, f"over {what}")
            raise NoRoom(f"the spool is full: {what}", limits.put_off_secs)
        self._taken[host] += n_bytes

    def room_for(self, n_bytes: int) -> int:
        """Return how much of a body the limits allow, without other bodies."""
        return min([n_bytes, *(each for each in self._limits.both if each)])

    def give_back(self, host: str, n_bytes: int) -> None:
        """Return reserved bytes."""
        self._taken[host] -= n_bytes
        if self._taken[host] <= 0:
            del self._taken[host]

    def keep(self, path: Path, host: str, n_bytes: int) -> None:
        """Count the file of a body until it is released."""
        self._sizes[path] = host, n_bytes

    def look_at_disk(self, n_bytes: int, own_bytes: int) -> None:
        """Check the room on the disk; raises the errors of `take`."""
        if self.is_short:
            self._check_size(own_bytes * 2)
            raise OSError(errno.ENOSPC, "the disk is nearly full")
        self._n_unseen += n_bytes
        if self._n_unseen < _LOOK_BYTES:
            return
        self._n_unseen = 0
        if not self.disk.has_room(self.folder, n_bytes) and not (
            self.drop_parts() and self.disk.has_room(self.folder, n_bytes)
        ):
            self._check_size(max(n_bytes, own_bytes * 2))
            detail = f"the disk has no room for {counted(n_bytes, 'byte')} more"
            raise NoRoom(detail, self._limits.put_off_secs)

    def _check_size(self, n_bytes: int) -> None:
        """Refuse a body that would not fit on an empty disk."""
        if not self.disk.would_fit(self.folder, n_bytes):
            raise SourceFault(Reason.TOO_LARGE, "the disk is too small for it")

    def close(self) -> None:
        """Remove all spool files of this process, except parts."""
        if self._lock_fd < 0:
            return
        self.parts.adopt(self.folder)
        self._tidy()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock_path.unlink(missing_ok=True)
        os.close(self._lock_fd)
        self._lock_fd = -1


def _lock_new(folder: Path) -> tuple[Path, int]:
    """Create and lock the lock file of this process."""
    while True:
        path = folder / f"{os.getpid()}-{secrets.token_hex(4)}.lock"
        lock_fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(lock_fd, fcntl.LOCK_EX)
        # Invariant: a lock file is removed only by the holder of its lock. If another
        # process considered this file stale before it was locked, it is gone now.
        if path.exists():
            return path, lock_fd
        os.close(lock_fd)


def _remove_stale(folder: Path, parts: PartFolder) -> None:
    """Remove the files of dead processes, except parts."""
    for path, lock_fd in _iter_stale(folder):
        parts.adopt(path.with_suffix(""))
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        path.unlink(missing_ok=True)
        os.close(lock_fd)
        logger.info("Removed the spool of a dead process: %(path)s", {"path": path})


def _iter_stale(folder: Path) -> Iterator[tuple[Path, int]]:
    for path in folder.glob("*.lock"):
        try:
            lock_fd = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            continue  # its process has just closed it
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock_fd)
            continue
        yield path, lock_fd


def limited_to_open_files(work: WorkerOptions, settings: BaseSettings) -> WorkerOptions:
    """Raise the limit of open files as needed, or else visit fewer hosts.

    Args:
        work: options of the worker.
        settings: of the crawl; updated for Scrapy.
    """
    n_hosts, n_slow = work.visits, work.slow_visits
    wanted = _OWN + _PER_HOST * (n_hosts + n_slow)
    limit = _raised(max(wanted, _MANY))
    if limit >= wanted:
        return work
    n_possible = max(1, (limit - _OWN) // _PER_HOST)
    n_less = max(1, min(n_hosts, n_possible * n_hosts // max(1, n_hosts + n_slow)))
    logger.warning(
        "CONCURRENT_REQUESTS=%d and SLOW_VISITS=%d need %s, the limit"
        " (ulimit -n) is %d: using %d and %d",
        n_hosts,
        n_slow,
        counted(wanted, "descriptor"),
        limit,
        n_less,
        n_possible - n_less,
    )
    settings.set("CONCURRENT_REQUESTS", n_less, priority="cmdline")
    return replace(work, visits=n_less, slow_visits=n_possible - n_less)


def _raised(wanted: int) -> int:
    """Return the limit of this process, raised towards `wanted` as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    infinite = resource.RLIM_INFINITY
    if soft == infinite or soft >= wanted:
        return wanted if soft == infinite else soft
    most = wanted if hard == infinite else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (OSError, ValueError):
        return soft
    return most
