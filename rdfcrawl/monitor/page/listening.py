"""The socket of a page, bound before the page is served."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.monitor.page.options import PORT
from rdfcrawl.uri import host_of_address

if TYPE_CHECKING:
    from rdfcrawl.monitor.page.options import PageOptions

SOCKET: Final = "CRAWL_PAGE_SOCKET"
"""Setting by which a command with `--page` passes its socket; internal."""
_MOST_TRIES: Final = 20  # ports from the default one
_BACKLOG: Final = 128


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
