"""A small disk for tests, on any machine that lets us have one.

With the right to mount, that is a separate file system. Without, one in a namespace of
a user, which is reached from outside by way of the process that holds it. Where neither
is allowed, as in most containers, it is the memory given to these as a disk, if it is
small.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1024 * 1024
DISK_BYTES = 48 * MIB
_SHARED = Path("/dev/shm")
_MOST_SHARED_BYTES = 256 * MIB
_BLOCK = bytes(64 * 1024)


class SmallDisk:
    """A folder on a disk that can be filled, and be read-only for a while.

    Attributes:
        path: of the folder.
    """

    def __init__(self, path: Path, prefix: tuple[str, ...] | None, inner: Path) -> None:
        self.path = path
        self._prefix = prefix
        self._inner = inner
        self._filler = path / "filler"

    def fill(self, n_left: int) -> None:
        """Write a file that leaves this many bytes."""
        with self._filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(_BLOCK)
            except OSError:
                file.truncate(max(0, file.tell() - n_left))

    def empty(self) -> None:
        """Remove that file."""
        self._filler.unlink()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Make opening files for writing fail; open files stay writable."""
        if self._prefix is None:
            pytest.skip("a disk is not made read-only here")
        folder = str(self._inner)
        with tempfile.TemporaryDirectory(prefix="rc-") as aside:
            # Created while no process writes: it is refused while a file is open for
            # writing.
            self._run("mount", "--bind", folder, aside)
            try:
                self._run("mount", "-o", "remount,bind,ro", aside)
                self._run("mount", "--bind", aside, folder)
                try:
                    yield
                finally:
                    self._run("umount", "-l", folder)
            finally:
                self._run("umount", "-l", aside)

    def _run(self, *words: str) -> None:
        subprocess.run([*(self._prefix or ()), *words], check=True)


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Yield a small disk; skip where none is available.

    Args:
        folder: that it may be mounted at.
    """
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    for prefix in ((), ("sudo", "-n")):
        if _succeeds([*prefix, *mount]):
            try:
                yield _of(folder, prefix)
            finally:
                subprocess.run([*prefix, "umount", "-l", str(folder)], check=True)
            return
    holder = _held(mount)
    if holder is not None:
        enter = ("nsenter", "-t", str(holder.pid), "-U", "-m", "--preserve-credentials")
        try:
            outside = Path(f"/proc/{holder.pid}/root") / folder.relative_to("/")
            yield SmallDisk(outside, enter, folder)
        finally:
            holder.kill()
            holder.communicate()
        return
    with _shared_memory() as path:
        yield SmallDisk(path, None, path)


def _of(folder: Path, prefix: tuple[str, ...]) -> SmallDisk:
    if prefix:  # it belongs to root
        owner = f"{os.getuid()}:{os.getgid()}"
        subprocess.run([*prefix, "chown", owner, str(folder)], check=True)
    return SmallDisk(folder, prefix, folder)


def _succeeds(line: list[str]) -> bool:
    try:
        return subprocess.run(line, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _held(mount: list[str]) -> subprocess.Popen[bytes] | None:
    """Return the process in whose namespace there is the disk, if that is allowed."""
    script = '"$@" && echo mounted && exec cat'
    line = ["unshare", "-U", "-r", "-m", "sh", "-c", script, "sh", *mount]
    try:
        holder = subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    if holder.stdout is not None and holder.stdout.readline() == b"mounted\n":
        return holder
    holder.kill()
    holder.communicate()
    return None


@contextmanager
def _shared_memory() -> Iterator[Path]:
    """Yield a folder in the memory that a container has as a disk, for one test."""
    if not _SHARED.is_dir() or shutil.disk_usage(_SHARED).total > _MOST_SHARED_BYTES:
        pytest.skip("no small disk is to be had here")
    with (_SHARED / "rdfcrawl-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with tempfile.TemporaryDirectory(dir=_SHARED) as folder:
            yield Path(folder)
