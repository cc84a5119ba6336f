"""The guard at the moment of each connection: the dialled address is judged.

Neither a redirect nor a name that changes its address meanwhile (DNS rebinding)
bypasses it, since the judged address is dialled. A reused connection was judged when it
was opened. URLs of the operator are also checked before the crawl begins, which shows a
forgotten setting.
"""

from __future__ import annotations

import errno
import re
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.uri import host_of, is_of_web
from rdfcrawl.uri.guard.policy import (
    ConnectionUse,
    Guard,
    RefusalCause,
    literal_address,
)
from rdfcrawl.uri.hosts import port_of

if TYPE_CHECKING:
    from aiohappyeyeballs import AddrInfoType


MAX_ADDRESSES: Final = 10_000  # least recently used ones are dropped

_WORDS: Final = {
    RefusalCause.LOOPBACK: "a loopback address",
    RefusalCause.PRIVATE: "in a private network",
    RefusalCause.LINK_LOCAL: "a link-local address",
    RefusalCause.SHARED: "in the shared network of a provider",
    RefusalCause.CLOUD: "an internal address of a cloud",
    RefusalCause.DOCUMENTATION: "a documentation address",
    RefusalCause.BENCHMARK: "a benchmark address",
    RefusalCause.MULTICAST: "a multicast address",
    RefusalCause.UNSPECIFIED: "an unspecified address",
    RefusalCause.TUNNEL: "a tunnel to another address",
    RefusalCause.RESERVED: "not an address of the public internet",
    RefusalCause.OWN: "an address of this machine",
    RefusalCause.DENIED: "in a network of GUARD_DENY_NETS",
}
EXIT_CODE: Final = 3  # the crawl finished, but the guard refused a seed
MAX_NAMES: Final = 20  # to look up
LOOKUP_SECS: Final = 3.0  # for all of them
# All other URLs are names with a default port, which need a lookup.
_needs_no_lookup = re.compile(
    r"[a-z]+://[^/?#]*(?:[0-9\]]|localhost)\.?(?:[/?#]|$)"
).match


class GuardBlocked(OSError):
    """The guard refuses a connection.

    Attributes:
        is_of_name: all addresses of a name are refused, not the name itself.
    """

    def __init__(
        self, why: RefusalCause, text: str, *, is_of_name: bool = False
    ) -> None:
        super().__init__(errno.EACCES, text)
        self.why = why
        self.is_of_name = is_of_name

    @property
    def fault(self) -> Fault:
        """The fault of the request."""
        reason = Reason.DNS_BLOCKED if self.is_of_name else Reason.GUARD_BLOCKED
        return Fault(reason, self.detail[: Fault.MAX_DETAIL])

    @property
    def detail(self) -> str:
        """The refused target, and the setting that would allow it."""
        return str(self.strerror)


class ConnectionGate:
    """Apply the guard to all connections of a process.

    Args:
        count: called with the reason of each refusal.
    """

    def __init__(
        self, guard: Guard, *, count: Callable[[RefusalCause], None] = lambda _: None
    ) -> None:
        self.guard = guard
        self._count = count
        self._ports: OrderedDict[str, tuple[int, ...]] = OrderedDict()
        self._lock = Lock()  # FTP connects in threads

    def check_port(
        self, host: str, port: int, use: ConnectionUse = ConnectionUse.WEB
    ) -> None:
        """Check that a port may be connected to, before any name is looked up.

        Raises:
            GuardBlocked: it may not.
        """
        if (why := self.guard.refuses_port(port, use)) is not None:
            raise self.blocked(host, "", port, why, use)

    def check_literal(
        self, host: str, port: int, use: ConnectionUse = ConnectionUse.WEB
    ) -> None:
        """Check that a host, without brackets, may be connected to.

        Names are not looked up.

        Raises:
            GuardBlocked: it may not.
        """
        self.check_port(host, port, use)
        address = literal_address(host)
        if address:
            self.allowed(host, port, [address])

    def allowed(self, host: str, port: int, addresses: list[str]) -> list[str]:
        """Return the addresses of a name that may be connected to.

        Raises:
            GuardBlocked: all are refused.
        """
        refuses = self.guard.refuses_address
        allowed = [address for address in addresses if refuses(address) is None]
        if addresses and not allowed:
            address = addresses[0]
            why = refuses(address) or RefusalCause.RESERVED
            raise self.blocked(host, address, port, why)
        return allowed

    def check(
        self, address: str, port: int, use: ConnectionUse = ConnectionUse.WEB
    ) -> None:
        """Check that an address may be dialled now, and count the port.

        Raises:
            GuardBlocked: it may not.
        """
        why = self.guard.refusal(address, port, use)
        if (
            why is None
            and use is not ConnectionUse.FTP_DATA
            and self._is_scan(address, port)
        ):
            why = RefusalCause.PORT_SCAN
        if why is not None:
            raise self.blocked(address, address, port, why, use)

    def open_socket(self, info: AddrInfoType) -> socket.socket:
        """Return a socket for the address that is about to be dialled.

        Raises:
            GuardBlocked: it is refused.
        """
        family, kind, protocol, _, address = info
        self.check(str(address[0]), int(address[1]))
        return socket.socket(family, kind, protocol)

    def blocked(
        self,
        host: str,
        address: str,
        port: int,
        why: RefusalCause,
        use: ConnectionUse = ConnectionUse.WEB,
    ) -> GuardBlocked:
        """Return the refusal of a connection, and count it."""
        self._count(why)
        is_of_name = False
        if why is RefusalCause.PORT and use is ConnectionUse.FTP_DATA:
            text = f"port {port} of {host} is not a port for FTP data"
        elif why is RefusalCause.PORT:
            text = f"port {port} of {host} is not among GUARD_PORTS"
            text += f"; GUARD_PORTS=80,443,{port} would allow it"
        elif why is RefusalCause.PORT_SCAN:
            most = self.guard.max_ports
            # Identical for all addresses of a name, so that one error is raised.
            text = f"port {port} is beyond the {most} of its address (GUARD_MAX_PORTS)"
        elif why is RefusalCause.NO_CONTACT:
            text = f"{host} is on the open web, and USER_AGENT names no contact"
        else:
            is_of_name = not literal_address(host)
            name = host if host == address else f"{host} ({address})"
            mask = 128 if ":" in address else 32
            net = f"{address.partition('%')[0]}/{mask}"
            text = f"{name} is {_WORDS[why]}"
            if why is not RefusalCause.DENIED:
                text += f"; GUARD_ALLOW_NETS={net} would allow it"
        return GuardBlocked(why, text, is_of_name=is_of_name)

    def _is_scan(self, address: str, port: int) -> bool:
        with self._lock:
            ports = self._ports.pop(address, ())
            is_scan = port not in ports and len(ports) >= self.guard.max_ports
            if port not in ports and not is_scan:
                ports += (port,)  # a set of one takes four times the memory
            self._ports[address] = ports
            if len(self._ports) > MAX_ADDRESSES:
                self._ports.popitem(last=False)
            return is_scan


def refusal_of(url: str, guard: Guard) -> str:
    """Return why a requestable URL would be refused, without a lookup; empty if not.

    >>> from rdfcrawl.uri.guard.policy import Guard
    >>> refusal_of("http://a.org:22/", Guard())
    'port 22 of a.org is not among GUARD_PORTS; GUARD_PORTS=80,443,22 would allow it'
    """
    if not (_needs_no_lookup(url) and is_of_web(url)):
        return ""
    host, port, use = _parts(url)
    try:
        ConnectionGate(guard).check_literal(host, port, use)
    except GuardBlocked as blocked:
        return blocked.detail
    except OSError:  # judged when it is connected to
        return ""
    return ""


def looked_up_refusal(
    urls: Iterable[str], guard: Guard, *, looks_up: bool = True
) -> str:
    """Return the first requestable URL that would be refused, and why; else "".

    With `looks_up`, the first names are looked up; names without an address pass.
    """
    names: dict[str, list[str]] = {}
    urls = [url for url in urls if is_of_web(url)]
    for url in urls:
        if detail := refusal_of(url, guard):
            return f"{url}: {detail}"
        host, _, _ = _parts(url)
        if not literal_address(host) and len(names) < MAX_NAMES:
            names[host] = []
    if looks_up:
        _look_up(names)
    for url in urls:
        host, port, _ = _parts(url)
        try:
            ConnectionGate(guard).allowed(host, port, list(names.get(host, ())))
        except GuardBlocked as blocked:
            return f"{url}: {blocked.detail}"
        except OSError:
            return ""
    return ""


def _look_up(names: dict[str, list[str]]) -> None:
    """Fill in the addresses of names, within `LOOKUP_SECS`."""

    def look_up(host: str) -> None:
        with suppress(OSError, UnicodeError):
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            names[host] = [str(address[0]) for *_, address in found]

    # Not a pool, which would wait at exit for a lookup that hangs.
    threads = [Thread(target=look_up, args=(each,), daemon=True) for each in names]
    for thread in threads:
        thread.start()
    ends_at = time.monotonic() + LOOKUP_SECS
    for thread in threads:
        thread.join(max(0.0, ends_at - time.monotonic()))


def _parts(url: str) -> tuple[str, int, ConnectionUse]:
    use = ConnectionUse.FTP if url.startswith("ftp") else ConnectionUse.WEB
    return host_of(url).strip("[]"), port_of(url), use
