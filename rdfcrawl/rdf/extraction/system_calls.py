"""System calls that reading does not need, and their numbers.

Left column: x86-64; right: the table shared by newer architectures
(`asm-generic/unistd.h`), including aarch64. A dash: the architecture lacks the call.
"""

from __future__ import annotations

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
