"""The process between a crawl's workers and their embedded Redis server.

`embedded` runs this source through standard input (`python -I -S -`), in the frontier's
directory, with standard error appended to the log. So it works from a zipped egg,
imports nothing of the project and takes few megabytes. It keeps the server running
while any worker lives.

Workers hold a shared lock on `workers.lock`, which the kernel releases however they
die. Guardian and server both hold `server.lock`, so no second server opens the same
data while either lives.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time

# Shorter code would need modules of the standard library whose import takes twice as
# long as the start of Python.
# ruff: noqa: PTH106, PTH123, SIM105
TYPE_CHECKING = False  # of `typing`
if TYPE_CHECKING:
    from collections.abc import Callable

SIGKILL, SIGTERM = 9, 15  # of POSIX

WORKERS_LOCK = "workers.lock"
LOG = "redis.log"
MAX_LOG_BYTES = 1 << 20  # then it is renamed to redis.log.1
POLL_SECS = 0.1
STEADY_SECS = 2.0  # after so long, a server is restarted without delay
MAX_PAUSE_SECS = 2.0
STOP_SECS = 30.0  # for the last fsync; the page cache survives SIGKILL


def log(text: str) -> None:
    """Append one line to the log; ignore a full disk."""
    when = time.strftime("%d %b %Y %H:%M:%S")
    try:
        os.write(2, f"{os.getpid()}:G {when} # {text}\n".encode())
    except OSError:
        pass


def bound_log() -> None:
    """Move a log that is too long to `redis.log.1`.

    It is copied and truncated, as its writers keep it open for appending.
    """
    try:
        if os.fstat(2).st_size > MAX_LOG_BYTES:
            with open(LOG, "rb") as log, open(f"{LOG}.1", "wb") as old:
                old.write(log.read(2 * MAX_LOG_BYTES))
            os.ftruncate(2, 0)
    except OSError:
        pass


def is_crawl_over(workers_fd: int) -> bool:
    """Return whether no worker lives; then none can start until this process ends."""
    try:
        fcntl.flock(workers_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def find_prctl() -> Callable[[int, int], int] | None:
    """Return prctl(2) of Linux; elsewhere, a killed guardian leaves its server."""
    if sys.platform != "linux":
        return None
    try:
        import ctypes  # noqa: PLC0415 (a Python may be built without it)

        return ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None


def start(command: list[str], prctl: Callable[[int, int], int] | None) -> int:
    """Start the server as a child that gets SIGTERM when this process dies.

    Call it from the main thread, which the kernel watches.
    """
    guardian = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        if prctl is not None:
            prctl(1, SIGTERM)  # PR_SET_PDEATHSIG; survives execv
        if os.getppid() == guardian:  # otherwise it died before the line above
            os.execv(command[0], command)  # noqa: S606 (the operator's own server)
    finally:
        os._exit(127)


def reap(pid: int) -> int | None:
    """Return the child's exit code (negative: the signal), None while running."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def stop(pid: int) -> None:
    """Stop the server by SIGTERM, after its last write and fsync."""
    os.kill(pid, SIGTERM)
    deadline = time.monotonic() + STOP_SECS
    while reap(pid) is None:
        if time.monotonic() > deadline:
            log("the server does not stop, killing it")
            os.kill(pid, SIGKILL)
            os.waitpid(pid, 0)
            return
        time.sleep(0.01)


def guard(command: list[str]) -> int:
    """Keep the server running until the last worker is gone.

    Returns:
        0 after that; 1 if the first server ended with an error (a bad option,
        unreadable data), so that restarting is pointless.
    """
    workers_fd = os.open(WORKERS_LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    prctl = find_prctl()
    pid, n_starts, pause_secs = 0, 0, 0.0
    started = due = time.monotonic()
    while not is_crawl_over(workers_fd):
        now = time.monotonic()
        if not pid and now >= due:
            pid, started, n_starts = start(command, prctl), now, n_starts + 1
        code = reap(pid) if pid else None
        if code is not None:
            if code > 0 and n_starts == 1:
                return 1
            is_steady = now - started > STEADY_SECS
            pause_secs = 0.0 if is_steady else min(2 * pause_secs, MAX_PAUSE_SECS)
            pid, due = 0, now + pause_secs
            pause_secs = pause_secs or 0.05
            log(f"the server ended ({code}), restarting it")
        bound_log()
        time.sleep(POLL_SECS)
    if pid:
        stop(pid)
    return 0


def main(argv: list[str]) -> None:
    """Detach from the worker that started this process, and guard the server.

    `argv`: a name for process lists, the private directory of the socket (removed at
    the end; may be empty), and the server's command.
    """
    if os.fork():
        os._exit(0)  # the worker waits for this, so no zombie is left
    os.umask(0o077)  # the socket is private as soon as it is bound
    code = guard(argv[2:])
    if argv[1] and code == 0:
        try:
            os.rmdir(argv[1])
        except OSError:
            pass
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
