"""Bound the process that reads documents: limits of resources, and the kernel.

A process can raise its soft limits to the hard ones. So the hard limits are as low as
the largest allowed document permits, and hold even for a compromised process: the
capability to raise them is dropped.

Root's capabilities are dropped, except reading any file. Landlock denies writing to
files, running programs, TCP, and inspecting or signalling other processes. A filter of
system calls (seccomp) denies all sockets, new processes, and all changes to files. Both
work without privileges and for libraries in any language, and cannot be undone. If a
kernel or a container only has one of them, that one is used.
"""

from __future__ import annotations

import ctypes  # also for numpy, which imports it when that is denied already
import errno
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from struct import Struct
from typing import Final

LAST_KNOWN: Final = 462  # mseal: the last call when this table was written

# Denied with any arguments.
_DENIED: Final = """
socket 41 198              socketpair 53 199          connect 42 203
bind 49 200                listen 50 201              accept 43 202
accept4 288 242            sendto 44 206              sendmsg 46 211
sendmmsg 307 269           recvfrom 45 207            recvmsg 47 212
recvmmsg 299 243           execve 59 221              execveat 322 281
fork 57 -                  vfork 58 -                 pidfd_open 434 434
pidfd_getfd 438 438        pidfd_send_signal 424 424  rt_sigqueueinfo 129 138
rt_tgsigqueueinfo 297 240  creat 85 -                 truncate 76 45
rename 82 -                renameat 264 38            renameat2 316 276
mkdir 83 -                 mkdirat 258 34             rmdir 84 -
unlink 87 -                unlinkat 263 35            link 86 -
linkat 265 37              symlink 88 -               symlinkat 266 36
mknod 133 -                mknodat 259 33             chmod 90 -
fchmod 91 52               fchmodat 268 53            fchmodat2 452 452
chown 92 -                 fchown 93 55               lchown 94 -
fchownat 260 54            utime 132 -                utimes 235 -
futimesat 261 -            utimensat 280 88           setxattr 188 5
lsetxattr 189 6            fsetxattr 190 7            removexattr 197 14
lremovexattr 198 15        fremovexattr 199 16        chroot 161 51
pivot_root 155 41          mount 165 40               umount2 166 39
open_tree 428 428          move_mount 429 429         fsopen 430 430
fsconfig 431 431           fsmount 432 432            fspick 433 433
mount_setattr 442 442      name_to_handle_at 303 264  open_by_handle_at 304 265
unshare 272 97             setns 308 268              ptrace 101 117
process_vm_readv 310 270   process_vm_writev 311 271  process_madvise 440 440
kcmp 312 272               bpf 321 280                perf_event_open 298 241
userfaultfd 323 282        io_uring_setup 425 425     io_uring_enter 426 426
io_uring_register 427 427  keyctl 250 219             add_key 248 217
request_key 249 218        init_module 175 105        finit_module 313 273
delete_module 176 106      kexec_load 246 104         kexec_file_load 320 294
reboot 169 142             swapon 167 224             swapoff 168 225
acct 163 89                quotactl 179 60            settimeofday 164 170
clock_settime 227 112      adjtimex 159 171           clock_adjtime 305 266
sethostname 170 161        setdomainname 171 162      iopl 172 -
ioperm 173 -               fanotify_init 300 262      mq_open 240 180
msgget 68 186              semget 64 190              shmget 29 194
"""

# Depends on an argument; see `confinement`.
_JUDGED: Final = """
open 2 -                   openat 257 56              openat2 437 437
clone 56 220               clone3 435 435             kill 62 129
tkill 200 130              tgkill 234 131             prlimit64 302 261
"""

_COLUMNS: Final = {"x86_64": 1, "aarch64": 2}


def denied_calls(machine: str) -> dict[str, int]:
    """Return the denied calls; none for an unknown machine."""
    return _numbers(_DENIED, machine)


def judged_calls(machine: str) -> dict[str, int]:
    """Return the calls that are denied for some arguments."""
    return _numbers(_JUDGED, machine)


def _numbers(table: str, machine: str) -> dict[str, int]:
    column = _COLUMNS.get(machine)
    words = table.split()
    if column is None:
        return {}
    names, numbers = words[::3], words[column::3]
    found = zip(names, numbers, strict=True)
    return {name: int(number) for name, number in found if number != "-"}


LANDLOCK: Final = "landlock"
SECCOMP: Final = "seccomp"
NONE: Final = "process"  # only process limits and the audit hook

# See prctl(2) and seccomp(2).
_SET_NO_NEW_PRIVS: Final = 38
_GET_SECCOMP: Final = 21
_SECCOMP: Final = {"x86_64": 317, "aarch64": 277}
_SET_FILTER: Final = 1
_ALL_THREADS: Final = 1

# See capabilities(7): two halves, each with effective, permitted and inheritable ones
_CAPABILITIES_3: Final = Struct("=Ii").pack(0x2008_0522, 0)
_HALVES: Final = Struct("=6I")
_READ_SEARCH: Final = 1 << 2  # root may read all files

# See landlock(7): the same numbers on all architectures.
_CREATE_RULESET: Final = 444
_RESTRICT_SELF: Final = 446
_GET_VERSION: Final = 1
_RULESET: Final = Struct("=QQQ")
# Rights of files by the version that added them: all except reading files and folders.
_FILE_RIGHTS: Final = {1: 0b1_1111_1111_0011, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_NET_RIGHTS: Final = {4: 0b11}  # to bind and connect TCP
_SCOPES: Final = {6: 0b11}  # abstract sockets, signals
_RULESET_BYTES: Final = {1: 8, 4: 16, 6: 24}

# Classic BPF, linux/bpf_common.h and linux/seccomp.h.
_STEP: Final = Struct("=HBBI")
_LOAD, _EQUAL, _GREATER, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16
_ALLOW, _KILL, _FAIL = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_MACHINES: Final = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}

WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_THREAD: Final = 0x0001_0000  # CLONE_THREAD


def kernel_layers() -> tuple[str, ...]:
    """Return the layers that this kernel supports, without applying them."""
    if sys.platform != "linux":
        return ()
    found = [LANDLOCK] if _landlock_version() else []
    if os.uname().machine in _MACHINES and _c().prctl(_GET_SECCOMP, 0, 0, 0, 0) >= 0:
        found.append(SECCOMP)
    return tuple(found)


def confine() -> tuple[str, ...]:
    """Drop privileges that reading does not need; return the applied layers.

    Landlock covers this thread and its future threads: call this before there are
    others. The filter covers all threads.
    """
    given = []
    with suppress(OSError):
        _drop_capabilities()
    for name in kernel_layers():
        try:
            _apply_landlock() if name == LANDLOCK else _apply_seccomp()
        except OSError:
            continue  # a container may refuse features of its kernel
        given.append(name)
    return tuple(given)


@cache
def _c() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(function: str, *arguments: object) -> int:
    result = int(getattr(_c(), function)(*arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _landlock_version() -> int:
    try:
        return _call("syscall", _CREATE_RULESET, None, 0, _GET_VERSION)
    except OSError:
        return 0


def _apply_landlock() -> None:
    version = _landlock_version()

    def known(table: dict[int, int]) -> list[int]:
        return [value for since, value in table.items() if since <= version]

    ruleset = _RULESET.pack(*map(sum, map(known, (_FILE_RIGHTS, _NET_RIGHTS, _SCOPES))))
    n_bytes = known(_RULESET_BYTES)[-1]
    ruleset_fd = _call("syscall", _CREATE_RULESET, ruleset, n_bytes, 0)
    try:
        # No rules: everything that the ruleset handles is denied.
        _call("prctl", _SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _call("syscall", _RESTRICT_SELF, ruleset_fd, 0)
    finally:
        os.close(ruleset_fd)


def _drop_capabilities() -> None:
    """Drop root's capabilities, except reading any file.

    With the capability to observe performance, a process can read the environment of
    others.
    """
    held = ctypes.create_string_buffer(_HALVES.size)
    _call("capget", _CAPABILITIES_3, held)
    effective, permitted, *_ = _HALVES.unpack(held.raw)
    left = effective & _READ_SEARCH, permitted & _READ_SEARCH, 0, 0, 0, 0
    _call("capset", _CAPABILITIES_3, _HALVES.pack(*left))


class _Program(ctypes.Structure):
    _fields_ = (("n_steps", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def _apply_seccomp() -> None:
    steps = b"".join(_STEP.pack(*step) for step in _filter(os.uname().machine))
    program = _Program(len(steps) // _STEP.size, steps)
    _call("prctl", _SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    number = _SECCOMP[os.uname().machine]
    refused = _call("syscall", number, _SET_FILTER, _ALL_THREADS, ctypes.byref(program))
    if refused:
        raise OSError(errno.ESRCH, f"thread {refused} has another filter")


_Step = tuple[int, int, int, int]


def _filter(machine: str) -> Iterator[_Step]:
    """Yield the filter: for each call, its first verdict."""
    yield _LOAD, 0, 0, _MACHINE_AT
    yield _EQUAL, 1, 0, _MACHINES[machine]
    yield _RETURN, 0, 0, _KILL  # the calls of another architecture
    yield _LOAD, 0, 0, _NUMBER_AT
    # Libraries handle calls that a kernel does not have.
    yield _GREATER, 0, 1, LAST_KNOWN
    yield _RETURN, 0, 0, _FAIL | errno.ENOSYS
    for number in denied_calls(machine).values():
        yield _EQUAL, 0, 1, number
        yield _RETURN, 0, 0, _FAIL | errno.EPERM
    for name, number in judged_calls(machine).items():
        judged = list(_judge(name))
        yield _EQUAL, 0, len(judged), number
        yield from judged
    yield _RETURN, 0, 0, _ALLOW


def _judge(name: str) -> Iterator[_Step]:
    """Yield the verdict of a call that depends on an argument."""
    ours = os.getpid()
    match name:
        case "openat2" | "clone3":  # their arguments are in memory, out of reach
            yield _RETURN, 0, 0, _FAIL | errno.ENOSYS
            return
        case "open" | "openat":
            yield _LOAD, 0, 0, _argument(1 if name == "open" else 2)
            yield _ANY_BIT, 0, 1, WRITING
        case "clone":
            yield _LOAD, 0, 0, _argument(0)
            yield _ANY_BIT, 1, 0, _THREAD
        case "prlimit64":
            yield _LOAD, 0, 0, _argument(0)
            yield _EQUAL, 2, 0, 0
            yield _EQUAL, 1, 0, ours
        case _:  # signals: `abort` sends one to its own process
            yield _LOAD, 0, 0, _argument(0)
            yield _EQUAL, 1, 0, ours
    yield _RETURN, 0, 0, _FAIL | errno.EPERM
    yield _RETURN, 0, 0, _ALLOW


def _argument(n: int) -> int:
    """Return the offset of the lower half of an argument, on little-endian machines."""
    return _ARGUMENTS_AT + 8 * n


_MAX_OPEN_FILES: Final = 256
_LEAST_SECS: Final = 3.0  # of CPU time per process
_CPU_FACTOR: Final = 2  # hard limit of a process, in limits of the largest document


class ProcessBounds:
    """The limits of this process.

    Args:
        memory_bytes: of address space, without mapped files.
        scratch_bytes: of the longest written or mapped file.
    """

    def __init__(self, memory_bytes: int, scratch_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._scratch_bytes = scratch_bytes
        self._ends_at_secs = 0.0  # of CPU time; 0: no document was read

    def set(self) -> None:
        """Set the limits."""
        _set(resource.RLIMIT_AS, self._memory_bytes, self._mapped_bytes)
        _set(resource.RLIMIT_CORE, 0, 0)
        # Only the scratch file can be written to.
        _set(resource.RLIMIT_FSIZE, self._scratch_bytes, self._scratch_bytes)
        _set(resource.RLIMIT_NOFILE, _MAX_OPEN_FILES, _MAX_OPEN_FILES)

    def lift_memory(self, n_bytes: int) -> None:
        """Allow more address space for a mapped file."""
        _set(resource.RLIMIT_AS, self._memory_bytes + n_bytes, self._mapped_bytes)

    @property
    def _mapped_bytes(self) -> int:
        return self._memory_bytes + self._scratch_bytes

    def begin(self, secs: float, secs_per_mb: float) -> None:
        """Set the hard limit of CPU time at the first document.

        Args:
            secs: for each document.
            secs_per_mb: in addition, for each 10^6 bytes.
        """
        if not self._ends_at_secs:
            most_secs = secs + secs_per_mb * self._scratch_bytes / 1e6
            self._ends_at_secs = used_secs() + _CPU_FACTOR * most_secs + _LEAST_SECS
            hard = int(self._ends_at_secs)
            _set(resource.RLIMIT_CPU, hard - 1, hard)

    def allow_cpu(self, until_secs: float) -> None:
        """Allow CPU time until the CPU clock of this process reaches a value."""
        hard = _hard(resource.RLIMIT_CPU)
        # At the hard limit a process is killed without a reason.
        _set(resource.RLIMIT_CPU, min(int(until_secs) + 1, hard - 1), hard)

    def end(self) -> bool:
        """Lift the soft limits of a document; return whether the process must end.

        True if the largest allowed document could reach the hard limit next.
        """
        self.lift_memory(0)
        hard = _hard(resource.RLIMIT_CPU)
        # The remaining time of this document would end the next one.
        _set(resource.RLIMIT_CPU, hard - 1, hard)
        return used_secs() > self._ends_at_secs / _CPU_FACTOR


def used_secs() -> float:
    """Return the CPU time that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _hard(limit: int) -> int:
    return resource.getrlimit(limit)[1]


def _set(limit: int, soft: int, hard: int) -> None:
    """Set a limit, at most the current hard one."""
    most = _hard(limit)
    if most != resource.RLIM_INFINITY:
        soft, hard = (most if n == -1 else min(n, most) for n in (soft, hard))
    resource.setrlimit(limit, (soft, hard))
