"""Addresses of this machine, and those that the operator denies."""

from __future__ import annotations

import errno
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from rdfcrawl.uri.guard.gate import ConnectionGate, GuardBlocked
from rdfcrawl.uri.guard.policy import (
    Guard,
    RefusalCause,
    parse_networks,
)
from tests.support.namespaces import machines

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.downloader.options import FetchOptions

    MakeOptions = Callable[..., FetchOptions]


OWN = ["93.184.216.37", "2a00:1450:4001:81b::200e"]
ROUTED = ["93.185.7.7", "2a00:1451::7"]
SHARED = {"93.186.0.255": "broadcast", "2a00:1452::1": "anycast"}
HOLDERS = ["64:ff9b::5db8:d825", "2606:4700::5efe:93.184.216.37"]  # of the first


def change(word: str) -> None:
    """Add or delete addresses of this machine, in a namespace of the test's own."""
    for address in OWN:
        ip("addr", word, address, "dev", "lo")
    for network in ("93.185.0.0/16", "2a00:1451::/32"):
        ip("route", word, "local", network, "dev", "lo")
    for address, kind in SHARED.items():
        ip("route", word, kind, address, "dev", "lo")
    while ("local" in ip("route", "get", OWN[1])) != (word == "add"):
        time.sleep(0.01)  # the kernel adds those of IPv6 in the background


def ip(*words: str) -> str:
    """Run the command `ip`; return its output, empty if it fails for `get`."""
    is_strict = "get" not in words
    done = subprocess.run(["ip", *words], check=is_strict, capture_output=True)
    return done.stdout.decode()


@pytest.mark.parametrize("has_netlink", [True, False])
def test_own_addresses_are_refused_while_they_are_there(
    monkeypatch: pytest.MonkeyPatch, *, has_netlink: bool
) -> None:
    """If an address is added to this machine, then it is refused from then on."""
    if not has_netlink:  # as in a service that may not use it, or not on Linux
        monkeypatch.delattr(socket, "AF_NETLINK")
    guard = Guard()
    # Addresses of a routed network of IPv6 cannot be bound to, nor shared ones.
    shared = list(SHARED) if has_netlink else []
    addresses = [*OWN, *ROUTED[: 1 + has_netlink], *shared, *HOLDERS]
    with machines(0):
        assert not any(map(guard.refuses_address, addresses))
        change("add")
        found = {guard.refuses_address(address) for address in addresses}
        assert found == {RefusalCause.OWN}
        allowing = Guard(parse_networks(["93.184.216.37"]))
        allowed = [allowing.refuses_address(address) is None for address in addresses]
        assert allowed == [True] + [False] * (len(addresses) - 1)
        change("del")
        assert not any(map(guard.refuses_address, addresses))


def test_own_address_without_a_route_is_refused() -> None:
    """If rules of this machine hide the route to an address of its own, it is known."""
    with machines(0):
        ip("addr", "add", OWN[0], "dev", "lo")
        ip("rule", "add", "pref", "9", "lookup", "local")
        ip("rule", "add", "pref", "8", "to", OWN[0], "prohibit")
        ip("rule", "del", "pref", "0")
        assert "local" not in ip("route", "get", OWN[0])
        assert Guard().refuses_address(OWN[0]) is RefusalCause.OWN
        assert Guard().refuses_address(ROUTED[0]) is None


LACKING = [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM]


@pytest.mark.parametrize("code", [*LACKING, errno.EACCES, errno.EAFNOSUPPORT])
@pytest.mark.parametrize("is_netlink", [True, False])
def test_addresses_are_not_judged_without_descriptors_or_memory(
    monkeypatch: pytest.MonkeyPatch, code: int, *, is_netlink: bool
) -> None:
    """If a machine lacks the resources for the check, then there is no verdict."""

    class ScarceSocket(socket.socket):
        def __init__(self, family: int = -1, *args: int, **more: int) -> None:
            is_lacking = (family == socket.AF_NETLINK) is is_netlink
            if is_lacking or family == socket.AF_NETLINK:
                raise OSError(code if is_lacking else errno.EACCES, "no socket")
            super().__init__(family, *args, **more)

    monkeypatch.setattr(socket, "socket", ScarceSocket)
    guard = Guard()
    if code in LACKING:
        with pytest.raises(OSError, match="no socket"):
            guard.refuses_address("1.1.1.1")
        assert not guard.allows_address("1.1.1.1")
    else:  # other refusals are lasting: a system without netlink, or without IPv6
        is_refused = code == errno.EACCES and not is_netlink
        why = RefusalCause.OWN if is_refused else None
        assert guard.refuses_address("1.1.1.1") is why


def test_denied_networks_go_before_allowed_ones() -> None:
    """If a network is denied, then neither its addresses nor holders of them pass."""
    given = {"GUARD_DENY_NETS": "93.184.216.37,2606:4700::/32", "GUARD_MAX_PORTS": 1}
    guard = Guard.from_settings(
        Settings(given | {"GUARD_ALLOW_NETS": "93.184.216.0/24"})
    )
    denied = [OWN[0], *HOLDERS, "2606:4700::1111"]
    assert {guard.refuses_address(x) for x in denied} == {RefusalCause.DENIED}
    assert guard.refuses_address("93.184.216.38") is None
    with pytest.raises(GuardBlocked, match=r"is in a network of GUARD_DENY_NETS$"):
        ConnectionGate(guard).check(OWN[0], 80)
