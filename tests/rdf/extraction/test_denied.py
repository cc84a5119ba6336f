"""Denials in the children that read documents, call by call."""

from __future__ import annotations

import errno
import os
from struct import unpack_from
from types import SimpleNamespace
from typing import Any

import pytest

from rdfcrawl.rdf.extraction import confinement
from rdfcrawl.rdf.extraction.child import deny_side_effects
from rdfcrawl.rdf.extraction.confinement import LAST_KNOWN, denied_calls, judged_calls

# See linux/seccomp.h.
ALLOW, KILL, FAIL = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
MACHINES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}  # linux/audit.h

EVENTS = """
socket.connect socket.bind socket.getaddrinfo subprocess.Popen urllib.Request
ftplib.connect shutil.copyfile shutil.rmtree ctypes.dlopen ctypes.dlsym sqlite3.connect
signal.pthread_kill os.chmod os.chown os.exec os.fork os.forkpty os.kill os.killpg
os.link os.mkdir os.posix_spawn os.putenv os.remove os.removexattr os.rename os.rmdir
os.setxattr os.spawn os.symlink os.system os.unsetenv os.utime
"""
# By purpose: sockets, processes, files, mounts, inspection, threads.
DENIED = """
socket socketpair connect bind listen accept accept4 sendto sendmsg sendmmsg recvfrom
recvmsg recvmmsg execve execveat fork vfork pidfd_open pidfd_getfd pidfd_send_signal
rt_sigqueueinfo rt_tgsigqueueinfo unshare setns creat truncate rename renameat renameat2
mkdir mkdirat rmdir unlink unlinkat link linkat symlink symlinkat mknod mknodat chmod
fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat
setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr chroot pivot_root
mount umount2 open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
name_to_handle_at open_by_handle_at ptrace process_vm_readv process_vm_writev
process_madvise kcmp bpf perf_event_open userfaultfd io_uring_setup io_uring_enter
io_uring_register keyctl add_key request_key init_module finit_module delete_module
kexec_load kexec_file_load reboot swapon swapoff acct quotactl settimeofday
clock_settime adjtimex clock_adjtime sethostname setdomainname iopl ioperm fanotify_init
mq_open msgget semget shmget
"""
# Those of before `asm-generic/unistd.h`, which newer architectures do not have.
OLD = """
fork vfork creat rename mkdir rmdir unlink link symlink mknod chmod chown lchown utime
utimes futimesat iopl ioperm open
"""
JUDGED = ["open", "openat", "openat2", "clone", "clone3", "kill", "tkill", "tgkill"]
JUDGED += ["prlimit64"]


@pytest.mark.parametrize("event", EVENTS.split())
def test_event_is_denied(event: str) -> None:
    """If Python code reaches out, then the hook denies it, with any kernel."""
    with pytest.raises(PermissionError):
        deny_side_effects(event, ("x", 1))


@pytest.mark.parametrize(
    ("mode", "flags", "is_denied"),
    [
        ("r", os.O_RDONLY, False),
        ("w", 0, True),
        ("a", 0, True),
        ("x", 0, True),
        ("r+", 0, True),
        (None, os.O_RDONLY | os.O_CLOEXEC, False),
        (None, os.O_WRONLY, True),
        (None, os.O_RDWR, True),
        (None, os.O_CREAT, True),
        (None, os.O_TRUNC, True),
        (None, os.O_APPEND, True),
    ],
)
def test_file_is_opened_for_reading(
    mode: str | None, flags: int, *, is_denied: bool
) -> None:
    """If a file is opened for anything but reading, then the hook denies it."""
    try:
        deny_side_effects("open", ("path", mode, flags))
    except PermissionError:
        assert is_denied
    else:
        assert not is_denied


def test_file_is_cut_by_its_descriptor() -> None:
    """If a file is cut, then it is one that is open, as that for scratch is."""
    deny_side_effects("os.truncate", (3, 0))
    with pytest.raises(PermissionError):
        deny_side_effects("os.truncate", ("path", 0))


def verdict(machine: str, number: int, *arguments: int, as_machine: int = 0) -> int:
    """Return the verdict of a machine's filter on a system call."""
    steps = list(confinement._filter(machine))
    data = b"".join(
        value.to_bytes(n, "little")
        for value, n in [
            *((number, 4), (as_machine or MACHINES[machine], 4), (0, 8)),
            *((each, 8) for each in [*arguments, *[0] * (6 - len(arguments))]),
        ]
    )
    held, at = 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        match code:
            case 0x20:  # load
                (held,) = unpack_from("<I", data, value)
            case 0x06:  # return
                return value
            case 0x15:  # equal
                at += if_true if held == value else if_false
            case 0x25:  # greater
                at += if_true if held > value else if_false
            case 0x45:  # any bit
                at += if_true if held & value else if_false
            case _:
                raise AssertionError(code)


@pytest.mark.parametrize("machine", MACHINES)
def test_call_is_denied(machine: str) -> None:
    """If a system call is none of reading, then the filter denies it."""
    old = OLD.split() if machine == "aarch64" else []
    numbers = denied_calls(machine)
    assert numbers.keys() == set(DENIED.split()) - set(old)
    assert judged_calls(machine).keys() == set(JUDGED) - set(old)
    for name, number in numbers.items():
        assert verdict(machine, number) == FAIL | errno.EPERM, name
    other = next(each for name, each in MACHINES.items() if name != machine)
    assert verdict(machine, 0, as_machine=other) == KILL
    for number in (LAST_KNOWN + 1, 0x4000_0000, 0xFFFF_FFFF):
        assert verdict(machine, number) == FAIL | errno.ENOSYS
    known = {*numbers.values(), *judged_calls(machine).values()}
    allowed = {n for n in range(LAST_KNOWN + 1) if verdict(machine, n) == ALLOW}
    assert allowed >= set(range(LAST_KNOWN + 1)) - known
    assert LAST_KNOWN == 462


def test_calls_of_another_machine_are_not_guessed() -> None:
    """If a machine is not known, then there is no filter of wrong numbers."""
    assert denied_calls("riscv64") == judged_calls("riscv64") == {}


OURS, PARENT = -1, -2  # the process itself, and its parent
THREAD = 0x0001_0000
JUDGEMENTS: list[tuple[str, tuple[int, ...], int]] = [
    ("open", (0, os.O_RDONLY), ALLOW),
    ("open", (0, os.O_WRONLY), FAIL | errno.EPERM),
    ("openat", (0, 0, os.O_RDONLY | os.O_CLOEXEC), ALLOW),
    *(
        ("openat", (0, 0, flag), FAIL | errno.EPERM)
        for flag in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_APPEND)
    ),
    ("openat2", (), FAIL | errno.ENOSYS),
    ("clone3", (), FAIL | errno.ENOSYS),
    ("clone", (THREAD | 0x100,), ALLOW),
    ("clone", (0x11,), FAIL | errno.EPERM),
    *(
        (name, (pid,), answer)
        for name in ("kill", "tkill", "tgkill")
        for pid, answer in [(OURS, ALLOW), (1, FAIL | errno.EPERM)]
    ),
    ("kill", (0,), FAIL | errno.EPERM),
    ("prlimit64", (0,), ALLOW),
    ("prlimit64", (OURS,), ALLOW),
    ("prlimit64", (PARENT,), FAIL | errno.EPERM),
]


@pytest.mark.parametrize(("name", "arguments", "answer"), JUDGEMENTS)
def test_call_is_judged_by_its_argument(
    name: str, arguments: tuple[int, ...], answer: int
) -> None:
    """If a call serves reading and other things, then its argument decides."""
    pids = {OURS: os.getpid(), PARENT: os.getppid()}
    arguments = tuple(pids.get(each, each) for each in arguments)
    for machine in MACHINES:
        if (number := judged_calls(machine).get(name)) is not None:
            assert verdict(machine, number, *arguments) == answer


def test_rights_are_given_up_as_far_as_the_kernel_knows_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a kernel knows a right of files, TCP or others, then it denies that."""
    asked: dict[int, Any] = {}

    def call(function: str, *arguments: Any) -> int:
        if function == "syscall" and arguments[0] == 444 and arguments[1] is not None:
            asked[version] = arguments[1][: arguments[2]]
        return os.dup(2) if function == "syscall" and arguments[0] == 444 else 0

    monkeypatch.setattr(confinement, "_call", call)
    for version in range(1, 8):
        monkeypatch.setattr(confinement, "_landlock_version", lambda: version)  # noqa: B023
        confinement._apply_landlock()
    files = {
        n: (1 << bits) - 1 & ~0b1100 for n, bits in {1: 13, 2: 14, 3: 15, 5: 16}.items()
    }
    assert asked == {
        1: files[1].to_bytes(8, "little"),
        2: files[2].to_bytes(8, "little"),
        3: files[3].to_bytes(8, "little"),
        4: files[3].to_bytes(8, "little") + (3).to_bytes(8, "little"),
        5: files[5].to_bytes(8, "little") + (3).to_bytes(8, "little"),
        **{
            n: b"".join(each.to_bytes(8, "little") for each in (files[5], 3, 3))
            for n in (6, 7)
        },
    }


class ScriptedKernel:
    """A kernel as `confinement` calls it.

    Attributes:
        calls: received requests.
        opened: descriptors of rulesets.
        refused: the thread that cannot have the filter.
    """

    def __init__(self, *, seccomp: int = 0, refused: int = 0) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.opened: list[int] = []
        self._seccomp = seccomp
        self._refused = refused

    def prctl(self, *arguments: int) -> int:
        """Set nothing; return whether there are filters."""
        self.calls.append(arguments)
        return self._seccomp if arguments[0] == 21 else 0

    def syscall(self, number: int, *arguments: Any) -> int:
        """Give the version of Landlock, a ruleset, or an answer about the filter."""
        if number == 444 and arguments[0] is None:
            return 1
        if number == 444:
            self.opened.append(os.dup(2))
            return self.opened[-1]
        return self._refused


NO_NEW_PRIVILEGES = (38, 1, 0, 0, 0)


def test_layers_come_with_their_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a layer is taken, then no program that is run later has more rights."""
    for take in (confinement._apply_landlock, confinement._apply_seccomp):
        kernel = ScriptedKernel()
        monkeypatch.setattr(confinement, "_c", lambda kernel=kernel: kernel)
        take()
        assert NO_NEW_PRIVILEGES in kernel.calls
        for each in kernel.opened:
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(each)
    monkeypatch.setattr(confinement, "_c", lambda: ScriptedKernel(refused=7))
    with pytest.raises(OSError, match="thread 7"):
        confinement._apply_seccomp()


def test_layers_are_those_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a kernel lacks a layer, or the machine is another, then it is not taken."""
    landlock, seccomp = confinement.LANDLOCK, confinement.SECCOMP
    for machine, answer, layers in [
        ("x86_64", 0, (landlock, seccomp)),
        ("aarch64", 0, (landlock, seccomp)),
        ("x86_64", -1, (landlock,)),
        ("riscv64", 0, (landlock,)),
    ]:
        kernel, names = ScriptedKernel(seccomp=answer), SimpleNamespace(machine=machine)
        monkeypatch.setattr(confinement, "_c", lambda kernel=kernel: kernel)
        monkeypatch.setattr(os, "uname", lambda names=names: names)
        assert confinement.kernel_layers() == layers
        assert (machine in confinement._SECCOMP) is (seccomp in layers or answer < 0)


def test_refusal_of_the_kernel_is_an_error() -> None:
    """If the kernel refuses a call, then the error has its number."""
    with pytest.raises(OSError) as refused:  # noqa: PT011 (the number is judged)
        confinement._call("prctl", 9999, 0, 0, 0, 0)
    assert refused.value.errno == errno.EINVAL
