"""Machines of the tests' own: network namespaces whose cables can be cut silently.

Each has a cable to one in the middle, where the test itself is as long as it has them.
Nothing in it is reachable from outside, and it reaches nothing there.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NOBODY = "02:00:00:00:00:01"  # hardware address of no machine
_PRIORITY = "10"  # of packets dropped between machines


@dataclass(frozen=True, slots=True)
class Machine:
    """A separate machine, at one end of a cable.

    Attributes:
        number: from 1.
        middle, name: the namespaces at both ends.
    """

    number: int
    middle: str
    name: str

    @property
    def address(self) -> str:
        """Where it is reached."""
        return f"10.77.{self.number}.1"

    @property
    def prefix(self) -> tuple[str, ...]:
        """Prefix of a command that runs it there."""
        return ("ip", "netns", "exec", self.name)

    @property
    def _cable(self) -> str:
        return f"v{self.number}"

    @property
    def _other_end(self) -> str:
        return f"10.77.{self.number}.254"

    def connect(self) -> None:
        """Lay the cable."""
        names = self._cable, "type", "veth", "peer", "name", "eth0", "netns", self.name
        _ip("netns", "add", self.name)
        _ip("-n", self.middle, "link", "add", *names)
        ends = (
            (self.middle, self._cable, self._other_end),
            (
                self.name,
                "eth0",
                self.address,
            ),
        )
        for space, device, address in ends:
            _ip("-n", space, "addr", "add", f"{address}/24", "dev", device)
            _ip("-n", space, "link", "set", device, "up")
        _ip("-n", self.name, "link", "set", "lo", "up")
        _ip("-n", self.name, "route", "add", "default", "via", self._other_end)

    def cut(self) -> None:
        """Drop all packets of the cable; neither end is notified."""
        way = "lladdr", _NOBODY, "nud", "permanent", "dev"
        _ip("-n", self.middle, "neigh", "replace", self.address, *way, self._cable)
        _ip("-n", self.name, "neigh", "replace", self._other_end, *way, "eth0")

    def mend(self) -> None:
        """Let all through again."""
        for space, address, device in (
            (self.middle, self.address, self._cable),
            (self.name, self._other_end, "eth0"),
        ):
            with suppress(subprocess.CalledProcessError):
                _ip("-n", space, "neigh", "del", address, "dev", device)

    def part_from(self, others: list[Machine]) -> None:
        """Drop packets between it and others; from the middle, it is reachable."""
        rule = "-n", self.middle, "rule", "add", "priority", _PRIORITY
        for other in others:
            for source, target in ((self, other), (other, self)):
                _ip(*rule, "dev", source._cable, "to", target.address, "blackhole")

    def join_again(self) -> None:
        """Drop nothing between any machines from now on."""
        with suppress(subprocess.CalledProcessError):
            while True:
                _ip("-n", self.middle, "rule", "del", "priority", _PRIORITY)


def add_addresses(machine: Machine, addresses: Sequence[str]) -> None:
    """Give the middle further addresses, which all machines reach."""
    for address in addresses:
        _ip("-n", machine.middle, "addr", "add", f"{address}/32", "dev", "lo")


@contextmanager
def machines(n: int) -> Iterator[list[Machine]]:
    """Make machines, and be in the middle of them; else skip the test."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root, and the command ip")
    middle = f"rc{os.getpid()}"
    with ExitStack() as stack:
        _ip("netns", "add", middle)
        stack.callback(_ip, "netns", "del", middle)
        _ip("-n", middle, "link", "set", "lo", "up")
        stack.enter_context(_inside(middle))
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        found = [Machine(i, middle, f"{middle}-{i}") for i in range(1, n + 1)]
        for machine in found:
            machine.connect()
            stack.callback(_ip, "netns", "del", machine.name)
        yield found


@contextmanager
def _inside(namespace: str) -> Iterator[None]:
    """Be in a namespace with this thread, and with all processes that it starts."""
    with (
        Path("/proc/thread-self/ns/net").open("rb") as before,
        Path("/run/netns", namespace).open("rb") as here,
    ):
        _enter(here.fileno())
        try:
            yield
        finally:
            _enter(before.fileno())


def _enter(descriptor: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, 0):
        raise OSError(ctypes.get_errno(), "setns")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
