"""How the page is served: address, prefix, token, control; its socket."""

from __future__ import annotations

import errno
import ipaddress
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.uri import host_of_address

TOKEN: Final = "RDFCRAWL_PAGE_TOKEN"  # noqa: S105 (a name)
ADDRESS: Final = "127.0.0.1"
PORT: Final = 6824
_LEAST_TOKEN: Final = 16
_is_prefix = re.compile(r"(?:/[A-Za-z0-9._~-]+)+").fullmatch
SOCKET: Final = "CRAWL_PAGE_SOCKET"
"""Setting by which a command with `--page` passes its socket; internal."""
_MOST_TRIES: Final = 20  # ports from the default one
_BACKLOG: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """How the page is served.

    Attributes:
        address: to listen at.
        port: 0 chooses a free one; None: the default one, or the next that is free.
        prefix: of all paths, as `/crawls/one`; empty: none.
        token: password of the page; empty: none.
        has_control: visitors may steer the crawl.
    """

    address: str = ADDRESS
    port: int | None = None
    prefix: str = ""
    token: str = ""
    has_control: bool = False

    @classmethod
    def checked(
        cls,
        *,
        address: str = ADDRESS,
        port: int | None = None,
        prefix: str = "",
        has_control: bool = False,
        environment: Mapping[str, str],
    ) -> PageOptions:
        """Return the options of a command.

        Raises:
            ConfigError: the address is open to others and no token is set, the token is
                too short, or the prefix is no path.
        """
        token = environment.get(TOKEN, "")
        if token and (len(token) < _LEAST_TOKEN or not token.isascii()):
            raise ConfigError(
                f"{TOKEN}: must have {_LEAST_TOKEN} characters of ASCII or more"
            )
        if not token and not is_loopback(address):
            raise ConfigError(
                f"--address {address}: others can reach it, so set a token: {TOKEN}=..."
                " in the environment"
            )
        prefix = prefix.rstrip("/")
        if prefix and not _is_prefix(prefix):
            raise ConfigError(f"--prefix {prefix[:100]!a}: must be a path, as /crawl")
        return cls(
            address=address,
            port=port,
            prefix=prefix,
            token=token,
            has_control=has_control,
        )


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine alone: `localhost`, 127.0.0.0/8 or ::1."""
    name = host.strip("[]").lower().removesuffix(".")
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def page_socket(options: PageOptions) -> socket.socket:
    """Return a listening socket: at the requested port, or a free one.

    Raises:
        ConfigError: the address or the port cannot be used.
    """
    ports = range(PORT, PORT + _MOST_TRIES) if options.port is None else [options.port]
    family = socket.AF_INET6 if ":" in options.address else socket.AF_INET
    for port in ports:
        try:
            return socket.create_server(
                (options.address, port), family=family, backlog=_BACKLOG
            )
        except (OSError, UnicodeError) as error:
            is_taken = getattr(error, "errno", 0) == errno.EADDRINUSE
            if is_taken and port != ports[-1]:
                continue
            ports_tried = f"{ports[0]} to {port}" if len(ports) > 1 else str(port)
            where = f"--address {options.address} --port {ports_tried}"
            why = getattr(error, "strerror", None) or error
            raise ConfigError(f"{where}: {why}") from error
    raise AssertionError


def url_of(bound: socket.socket, options: PageOptions) -> str:
    """Return the URL of a page at a socket."""
    port = bound.getsockname()[1]
    host = host_of_address(options.address)
    return f"http://{host}:{port}{options.prefix}/"
