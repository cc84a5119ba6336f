"""Blocked hosts, which get no requests.

A file names them, one per line: `www.example.org` is that host, `.example.org` the
domain and all hosts below it. `#` begins a comment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError, Fault, Reason
from rdfcrawl.core.records import refused
from rdfcrawl.uri import BadUri, host_of
from rdfcrawl.uri.hosts import NO_HOSTS, HostNames

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit

MAX_FILE_BYTES: Final = 16 * 1024 * 1024


class BlockedHosts:
    """The hosts blocked in a worker, for all its requests.

    Each function of `changed` is called after a change.
    """

    def __init__(self) -> None:
        self.hosts = NO_HOSTS
        self.has_any = False
        self.changed: list[Callable[[], None]] = []

    def covers(self, url: str) -> bool:
        """Return whether the host of a URL is blocked."""
        return self.has_any and self.hosts.covers(url)

    def fault(self, url: str) -> Fault | None:
        """Return the fault of a URL whose host is blocked."""
        return Fault(Reason.HOST_LEFT, host_of(url)) if self.covers(url) else None

    def replace(self, entries: Iterable[str]) -> bool:
        """Set the blocked hosts; return whether any has changed."""
        hosts = parse_hosts(entries)
        if hosts == self.hosts:
            return False
        self.hosts, self.has_any = hosts, bool(hosts)
        for call in self.changed:
            call()
        return True

    def strike_out(self, visit: Visit) -> None:
        """Refuse the records of a visit whose hosts are blocked.

        A visit without further records sends no request, and starts no delay.
        """
        pending = []
        for index in visit.pending:
            record = visit.records[index]
            fault = self.fault(record.url)
            if fault is None:
                pending.append(index)
            else:
                visit.documents.append(refused(record, [fault]))
        visit.is_unrequested = not pending
        visit.pending[:] = pending


def parse_hosts(entries: Iterable[str]) -> HostNames:
    """Return the hosts named by entries.

    Raises:
        BadUri: one is not a host.

    >>> parse_hosts([".B.example"]).covers("http://b.example/x")
    True
    """
    names: list[str] = []
    for entry in entries:
        if entry.startswith("."):
            names += (entry[1:], f"*{entry}")
        else:
            names.append(entry)
    return HostNames.parse(names)


def read_file(path: Path) -> tuple[str, ...]:
    """Return the entries of a file of hosts; raise `ConfigError` for any other line."""
    try:
        with path.open("rb") as file:
            octets = file.read(MAX_FILE_BYTES + 1)
        if len(octets) > MAX_FILE_BYTES:
            raise ConfigError(f"LEAVE_HOSTS={path}: more than {MAX_FILE_BYTES} bytes")
        text = octets.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"LEAVE_HOSTS={path}: cannot be read: {error}") from None
    entries: dict[str, None] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        entry = line.partition("#")[0].strip()
        if not entry:
            continue
        try:
            parse_hosts([entry])
        except BadUri:
            raise ConfigError(
                f"LEAVE_HOSTS={path}: line {number}: {entry[:100]!r} is not a host;"
                " it must be www.example.org, or .example.org for a domain"
            ) from None
        entries[entry] = None
    return tuple(entries)
