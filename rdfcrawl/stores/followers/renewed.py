"""Stores that keep documents in a table, and publish them to readers from it.

They publish files for hosts and documents: with safe, bounded and unique names.
"""

from __future__ import annotations

import re
import time
from abc import abstractmethod
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from rdfcrawl.core.errors import ConfigError, StoreFault
from rdfcrawl.stores.followers.document_table import DocumentTable
from rdfcrawl.stores.followers.local_disk import (
    LOCK_SECS,
    LocalFollower,
    disk_faults,
    key_of,
)
from rdfcrawl.uri.hosts import host_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rdfcrawl.stores.crawl_folder import LogIdentity
    from rdfcrawl.stores.log.documents import Checkpoint, LogDocument

RENEW_SECS: Final = 30.0
"""Default time after which readers see new statements."""

_SHARE: Final = 4  # renewing takes at most a fifth of the time
_MAX_SECS: Final = 86_400
_MAX_HOST: Final = 200  # characters; file systems have 255 for a name
_MAX_TAIL: Final = 60
_HALF_ESCAPE: Final = re.compile("%.?$")
_UNSAFE: Final = re.compile("[^A-Za-z0-9._-]+")
NO_HOST: Final = "no-host"
"""Name for documents without a host."""


class Renewals:
    """Clock for publishing: limits its share of the time, however long it takes.

    Args:
        renew_secs: least time between two renewals.
    """

    def __init__(self, renew_secs: float) -> None:
        self._renew_secs = renew_secs
        self._due = 0.0

    def begin(self) -> None:
        """Start the clock."""
        self._due = time.monotonic() + self._renew_secs

    @property
    def is_due(self) -> bool:
        """Whether it is time to renew."""
        return time.monotonic() >= self._due

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure one renewal, and delay the next by a multiple of its duration."""
        began = time.monotonic()
        try:
            yield
        finally:
            now = time.monotonic()
            self._due = now + max(self._renew_secs, _SHARE * (now - began))


def path_of(uri: str) -> Path:
    """Return the path of a URI, absolute.

    Raises:
        ConfigError: there is none.
    """
    scheme, _, rest = uri.partition(":")
    path = rest.removeprefix("//").rstrip("/")
    if not path:
        raise ConfigError(f"must be {scheme}:PATH")
    return Path(path).expanduser().absolute()


def checked_options(
    options: Mapping[str, object], choices: Mapping[str, Sequence[object]]
) -> dict[str, object]:
    """Return the options of a store that is renewed.

    Args:
        options: as given.
        choices: values of each option other than `renew_secs`.

    Raises:
        ConfigError: an option or a value is unknown.
    """
    for name, value in options.items():
        if name == "renew_secs":
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 <= float(str(value)) <= _MAX_SECS:
                raise ConfigError(f"renew_secs={value!r}: must be 0 to {_MAX_SECS}")
        elif name not in choices:
            known = ", ".join(sorted([*choices, "renew_secs"]))
            raise ConfigError(f"has no option {name!r}, only {known}")
        elif value not in choices[name]:
            shown = ", ".join(map(str, choices[name]))
            raise ConfigError(f"{name}={value!r}: must be one of {shown}")
    return dict(options)


class TableFollower(LocalFollower):
    """Follower whose documents are in a table; see `protocol.Follower`.

    Args:
        path: for readers.
        state: folder of the table and its lock.
        layout: how documents are published; fixed when the store is created.
        renew_secs: least time between two renewals.
        lock_secs: longest wait for another process that has the store open.
    """

    def __init__(
        self,
        path: Path,
        state: Path,
        layout: dict[str, str],
        *,
        renew_secs: float,
        lock_secs: float = LOCK_SECS,
    ) -> None:
        super().__init__(path, lock_secs)
        self._state, self._layout = state, layout
        self._renewals = Renewals(renew_secs)

    def open(self, log: LogIdentity) -> Checkpoint | None:
        """Open the table of documents; return the checkpoint of the last commit.

        Raises:
            ConfigError: something else is at the path, or the layout differs.
            StoreFault: another process has the store open, or it is damaged.
        """
        try:
            self._prepare()
            self._take_lock(self._state / "lock")
        except OSError as error:
            raise StoreFault(f"{self._path}: {error}", may_pass=True) from error
        with self._opening():
            self._file = self._table = DocumentTable(
                self._state / "documents.sqlite", self._part_of, self._layout
            )
            self._resume()
            checkpoint = self._table.checkpoint(log.log)
        self._log = log
        self._renewals.begin()
        return checkpoint

    @abstractmethod
    def _prepare(self) -> None:
        """Create the folder of the state; check that nothing else is at the path."""

    @abstractmethod
    def _resume(self) -> None:
        """Create further tables; finish an interrupted renewal."""

    @abstractmethod
    def _part_of(self, graph: str, version_ms: int) -> str:
        """Return the part of a document."""

    @abstractmethod
    def _renew(self) -> None:
        """Publish the changed documents."""

    def apply(self, documents: Sequence[LogDocument]) -> None:
        """Replace documents with these versions, unless the store has later ones.

        Raises:
            DocumentRefused: a document is not valid N-Quads.
            StoreFault: the disk is full.
        """
        with disk_faults(self._path):
            self._table.put(documents, self._log)

    def commit(self, checkpoint: Checkpoint) -> None:
        """Make the documents and the checkpoint durable on disk.

        Raises:
            StoreFault: the disk is full.
        """
        with disk_faults(self._path):
            self._table.commit(checkpoint)

    def renew(self, *, at_once: bool) -> None:
        """Publish committed documents, if that is due.

        Raises:
            StoreFault: the disk is full.
        """
        if not (at_once or self._renewals.is_due):
            return
        with disk_faults(self._path):
            if self._table.has_changes:
                with self._renewals.measured():
                    self._renew()


def host_name(iri: str) -> str:
    """Return the host of an IRI as a name, as Hive writes it; empty if there is none.

    >>> host_name("http://Data.example:80/x"), host_name("http://[::1]/")
    ('data.example', '%5B%3A%3A1%5D')
    """
    host = host_of(iri)
    name = quote(host, safe="")
    if len(name) > _MAX_HOST:
        digest = blake2b(host.encode(), digest_size=8).hexdigest()
        return f"{_HALF_ESCAPE.sub('', name[:_MAX_HOST])}~{digest}"
    return name.replace(".", "%2E") if not name.strip(".") else name


def document_name(iri: str) -> str:
    """Return the path of a document in a common folder, without an extension.

    The name has the end of the IRI for readability, and a digest that makes it unique.

    >>> document_name("http://data.example/people/alice")
    'data.example/46/people-alice-46e06679e64c1449f0dbaa941031bd15'
    """
    digest = key_of(iri.encode()).hex()
    rest = iri.partition("://")[2].partition("/")[2] or iri
    tail = _UNSAFE.sub("-", rest)[-_MAX_TAIL:].strip("-.")
    name = f"{tail}-{digest}" if tail else digest
    return f"{host_name(iri) or NO_HOST}/{digest[:2]}/{name}"
