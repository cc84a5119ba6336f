"""The lease of a store: only one process at a time compares and writes.

A store cannot compare the version of a document and replace its graph in one request of
any length. So a process first inserts a statement into the store, if there is none. The
holder renews this statement. Another process takes the lease over if the statement has
not changed for `LEASE_SECS`, by its own clock, or if the holder was on the same machine
and has died. Before each request, the holder checks when it last renewed the lease, and
stops writing if that was too long ago.

A request may be in flight for longer than that. So each turn has a separate graph, its
*fence*, which is dropped when the lease is released or taken over. If the store reports
an error for `CLEAR` of a missing graph (SPARQL 1.1 Update 3.1.5), each update begins by
clearing the fence: a late update then fails completely. In other stores, and for
requests of the Graph Store Protocol, only the time protects.

A waiting process takes a *ticket*, a statement with a number above all others, and the
lowest ticket is next. So a process that writes batch after batch lets others have
their turns.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import threading
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

from rdfcrawl.core.errors import RdfcrawlError, StoreFault
from rdfcrawl.core.namespaces import RC
from rdfcrawl.stores.followers.sparql.records import RECORDS, change
from rdfcrawl.stores.followers.sparql.store import SparqlStore
from rdfcrawl.stores.followers.sparql.writing import JOINT, PREFIX, drop

LEASE_SECS: Final = 30.0
_POLL_SECS: Final = 0.5
_NEXT_POLL_SECS: Final = 0.1  # of the process that is next
_TURN_SECS: Final = 5.0  # within which the next process must take the lease
_HELD: Final = f"<{RECORDS}> <{RC}heldBy>"
_AWAITED: Final = f"<{RECORDS}> <{RC}awaitedBy>"
_FENCED: Final = f'<{RC}heldBy> "1" .'
_NUMBER_CHARS: Final = 13  # of a ticket, and a space
_is_ticket: Final = re.compile(r"[0-9]{12} [^\"\\]*").fullmatch
_is_token: Final = re.compile(r"[0-9a-f]+-[0-9]+").fullmatch


class _UnchangedTimer:
    """Time since a value was last changed."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._since = time.monotonic()

    def secs(self, texts: list[str]) -> float:
        now = time.monotonic()
        if texts != self._texts:
            self._texts, self._since = texts, now
        return now - self._since


class StoreLease:
    """The right of one process to write to a store.

    Args:
        store: to write to.
        lease_secs: time after which a lease that is not renewed is void.
    """

    def __init__(self, store: SparqlStore, lease_secs: float = LEASE_SECS) -> None:
        self._store, self._lease_secs = store, lease_secs
        self._process = f"{_machine()} {os.getpid()} {_start_time(os.getpid())}"
        self._process += f" {secrets.token_hex(8)}"
        self._turn = self._count = 0
        self._ticket = ""
        self._text: str | None = None  # of the held lease
        self._renewed = 0.0
        self._lock = threading.Lock()
        self._has_ended = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self) -> None:
        """Wait until the lease is free and it is our turn, and take it.

        Raises:
            StoreFault: another process holds it for too long.
        """
        self._turn += 1
        renewal, holder, head = _UnchangedTimer(), _UnchangedTimer(), _UnchangedTimer()
        while True:
            held, tickets = self._read()
            is_next = not tickets or tickets[0] == self._ticket
            if not held and is_next and self._claim():
                self._start_renewing()
                return
            is_void = renewal.secs(held) > self._lease_secs
            void = [x for x in held if is_void or self._is_ours(x) or _is_dead(x)]
            first = [] if held or is_next else tickets[:1]
            is_late = head.secs(first) > _TURN_SECS
            void += [x for x in first if is_late or _is_dead(x[_NUMBER_CHARS:])]
            self._remove(void)
            held_secs = holder.secs([each.rpartition(" ")[0] for each in held])
            if held and held_secs > 2 * self._lease_secs:
                self._remove([self._ticket])
                raise StoreFault(
                    f"{self._store.options.name}: another process writes to it",
                    may_pass=True,
                )
            if held or not is_next:
                self._queue(tickets)
            time.sleep(_NEXT_POLL_SECS if is_next or void else _POLL_SECS)

    def _is_ours(self, held: str) -> bool:
        return held.startswith(f"{self._process}-")

    def _queue(self, tickets: list[str]) -> None:
        """Take a ticket, unless we have one."""
        if self._ticket not in tickets:
            number = 1 + max((int(x[:_NUMBER_CHARS]) for x in tickets), default=0)
            self._ticket = f"{number:012} {self._process}"
            self._update(change([], [_awaited_line(self._ticket)]))

    def _remove(self, texts: list[str]) -> None:
        """Remove leases with their fences, and tickets."""
        for text in filter(None, texts):
            fence = _fence_of(text)
            lines = [_held_line(text), _awaited_line(text)]
            self._update(
                JOINT.join([*([drop(fence)] if fence else []), change(lines, [])])
            )

    def renew(self) -> None:
        """Renew the lease now.

        Raises:
            RefusedRequest: the store refuses the update.
            StoreFault: the store does not respond, or the lease is lost.
        """
        with self._lock:
            if self._text is not None:
                self._renew(self._text)

    def keep(self) -> None:
        """Check that the lease is still held, if it was acquired.

        While a store takes a long graph, it may do nothing else: then the lease is
        renewed first.

        Raises:
            StoreFault: the lease may be lost.
        """
        if self._text is not None and self._is_late:
            self.renew()
        if self._text is not None and self._is_late:
            raise self._lost()

    def _lost(self) -> StoreFault:
        return StoreFault(
            f"{self._store.options.name}: the lease of this process was lost",
            may_pass=True,
        )

    @property
    def _is_late(self) -> bool:
        return time.monotonic() - self._renewed > self._lease_secs * 0.75

    def release(self) -> None:
        """Let others write."""
        self._has_ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        with self._lock:
            text, self._text = self._text, None
        self._store.fence = b""
        if text is not None:
            self._remove([text])

    def _update(self, text: bytes) -> None:
        self._store.update(text, is_of_lease=True)

    def _read(self) -> tuple[list[str], list[str]]:
        """Return the texts of leases, and the tickets in order."""
        rows = self._store.select(
            f"SELECT ?p ?x WHERE {{ GRAPH <{RECORDS}> {{ <{RECORDS}> ?p ?x }} }}"
        )
        held = sorted(row["x"] for row in rows if row["p"] == f"{RC}heldBy")
        tickets = sorted(row["x"] for row in rows if row["p"] == f"{RC}awaitedBy")
        tickets = [each for each in tickets if _is_ticket(each)]
        return held, tickets

    def _claim(self) -> bool:
        """Insert a claim if there is none; return whether it is the only one.

        If two processes do so at the same time, the later one sees both, and withdraws.
        """
        self._count += 1
        text = f"{self._process}-{self._turn} {self._count}"
        began, fence = time.monotonic(), f"<{_fence_of(text)}>"
        create = f"INSERT DATA {{ GRAPH {fence} {{ {fence} {_FENCED} }} }}".encode()
        claim = (
            f"INSERT {{ GRAPH <{RECORDS}> {{ {_held_line(text)} }} }} WHERE {{"
            f" FILTER NOT EXISTS {{ GRAPH <{RECORDS}> {{ {_HELD} ?x }} }} }}"
        ).encode()
        ticket = [_awaited_line(self._ticket)] if self._ticket else []
        updates = [change(ticket, []), create if self._has_fence else b"", claim]
        self._update(JOINT.join(filter(None, updates)))
        found, _ = self._read()
        if found == [text]:
            self._text, self._renewed = text, began
            self._ticket = ""
            if self._has_fence:
                clear = f"CLEAR GRAPH {fence}".encode()
                self._store.fence = JOINT.join([clear, create, b""])
            return True
        if not found:
            raise StoreFault(
                f"{self._store.options.name}: reported success for an insert, but does"
                " not have the statement",
                may_pass=True,
            )
        self._remove([text])
        time.sleep(_POLL_SECS * secrets.randbelow(1000) / 1000)
        return False

    @property
    def _has_fence(self) -> bool:
        return self._store.options.profile.has_fence

    def _start_renewing(self) -> None:
        """Renew the lease until it is released."""
        self._has_ended = threading.Event()
        self._thread = threading.Thread(
            target=self._renew_often, args=(self._has_ended,), daemon=True
        )
        self._thread.start()

    def _renew_often(self, has_ended: threading.Event) -> None:
        while not has_ended.wait(self._lease_secs / 5):
            with suppress(RdfcrawlError):  # `keep` raises if it fails for too long
                self.renew()

    def _renew(self, old: str) -> None:
        began = time.monotonic()
        self._count += 1
        text = f"{old.rpartition(' ')[0]} {self._count}"
        graph = f"GRAPH <{RECORDS}>"
        self._update(
            f"DELETE {{ {graph} {{ {_held_line(old)} }} }} INSERT {{ {graph} {{"
            f" {_held_line(text)} }} }}"
            f" WHERE {{ {graph} {{ {_held_line(old)} }} }}".encode()
        )
        found, _ = self._read()
        if text not in found:
            raise self._lost()
        if found == [text]:
            self._text, self._renewed = text, began


def _held_line(text: str) -> str:
    return f'{_HELD} "{text}" .\n'


def _awaited_line(text: str) -> str:
    return f'{_AWAITED} "{text}" .\n'


def _fence_of(held: str) -> str:
    """Return the fence of a lease; empty if the text is not a lease of ours."""
    token = held.split(" ")[-2] if held.count(" ") == 4 else ""
    return f"{PREFIX}lease:{token}" if _is_token(token) else ""


def _machine() -> str:
    """Return a name of this machine; containers have different names."""
    found = [socket.gethostname()]
    with suppress(OSError):
        found.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii"))
        found.append(str(Path("/proc/self/ns/pid").readlink()))
    return blake2b(" ".join(found).encode(), digest_size=8).hexdigest()


def _start_time(pid: int) -> str:
    """Return the start time of a process; empty if it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def _is_dead(holder: str) -> bool:
    """Return whether the holder is a process of this machine that has ended."""
    fields = holder.split(" ")
    if (
        len(fields) not in {4, 5}
        or fields[0] != _machine()
        or not Path("/proc/self").exists()
    ):
        return False
    return fields[1].isdigit() and _start_time(int(fields[1])) != fields[2]
