"""Limits of the process that reads documents, soft and hard.

A process can raise its soft limits to the hard ones. So the hard limits are as low as
the largest allowed document permits, and hold even for a compromised process:
`confinement` drops the capability to raise them.
"""

from __future__ import annotations

import resource
from typing import Final

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
