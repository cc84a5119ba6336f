"""Where the embedded server's socket is, and whether somebody answers there.

It lies beside the data, or, where no socket can have such a path, in a private
directory of its own, which a file beside the data names.
"""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from pathlib import Path

SOCKET = "redis.sock"
SOCKET_RECORD = "socket"  # holds the socket's path where it must be elsewhere
MAX_SOCKET_PATH = 100  # bytes; sun_path holds 108 on Linux, 104 on BSD and macOS


def ping(path: Path) -> bytes:
    """Give what the server says to PING; empty if it says nothing.

    An error is an answer too: with a full disk it is MISCONF, until there is space.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(256)
        except OSError:
            return b""


def socket_path(directory: Path) -> Path:
    """Give where the socket is, or will be."""
    path = directory / SOCKET
    if _fits(path):
        return path
    try:
        return Path((directory / SOCKET_RECORD).read_text("utf-8"))
    except FileNotFoundError:
        return Path(os.devnull)  # not recorded yet: nobody answers there


def _fits(path: Path) -> bool:
    # ASCII: percent-encoding in the URL then holds for every file system.
    return str(path).isascii() and len(str(path)) <= MAX_SOCKET_PATH


def make_socket_directory(directory: Path) -> str:
    """Make the private short directory of a socket whose own one is too long.

    Return its path; empty if the socket lies in `directory`.
    Invariant: only the owner of `server.lock` calls this.
    """
    if _fits(directory / SOCKET):
        return ""
    recorded = socket_path(directory).parent
    if _is_private(recorded):
        return str(recorded)  # workers that still run know this one
    # Not in XDG_RUNTIME_DIR: that is emptied when the user logs out.
    base = tempfile.gettempdir()
    short = tempfile.mkdtemp(prefix="rdfcrawl-", dir=base if len(base) < 60 else "/tmp")  # noqa: S108 (mkdtemp makes it private)
    record = directory / f"{SOCKET_RECORD}.new"
    record.write_text(f"{short}/{SOCKET}", "utf-8")
    record.replace(directory / SOCKET_RECORD)
    return short


def _is_private(directory: Path) -> bool:
    try:
        found = directory.lstat()
    except OSError:
        return False
    is_ours = found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode)
    return is_ours and stat.S_IMODE(found.st_mode) == stat.S_IRWXU
