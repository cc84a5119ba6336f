"""URLs of the operator, checked before the crawl begins.

Each connection is judged again when it is made. This early check shows a forgotten
setting before the crawl starts.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from threading import Thread
from typing import Final

from rdfcrawl.uri import host_of, is_of_web
from rdfcrawl.uri.guard.gate import ConnectionGate, GuardBlocked
from rdfcrawl.uri.guard.policy import ConnectionUse, Guard, literal_address
from rdfcrawl.uri.origin import port_of

EXIT_CODE: Final = 3  # the crawl finished, but the guard refused a seed
MAX_NAMES: Final = 20  # to look up
LOOKUP_SECS: Final = 3.0  # for all of them
# All other URLs are names with a default port, which need a lookup.
_needs_no_lookup = re.compile(
    r"[a-z]+://[^/?#]*(?:[0-9\]]|localhost)\.?(?:[/?#]|$)"
).match


def refusal_of(url: str, guard: Guard) -> str:
    """Return why a requestable URL would be refused, without a lookup; empty if not.

    >>> from rdfcrawl.uri.guard.policy import Guard
    >>> refusal_of("http://example.org:22/", Guard())
    'port 22 of example.org is not among GUARD_PORTS'
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
