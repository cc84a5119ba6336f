"""The process that runs one query: `python -m rdfcrawl.monitor.page.query_child`.

A query of Oxigraph cannot be interrupted, but a process can. The store is first brought
up to date, as far as time allows; then it is opened read-only, so that several
processes can query it, and network, other processes and writing to files are disabled
for good.

In: one job as JSON. Out: a line when the query begins, and a line with its answer; or
a line with `refusal`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyoxigraph as ox

from rdfcrawl.core.errors import ConfigError, RdfcrawlError, StoreFault
from rdfcrawl.monitor.page.child_jobs import ChildOutput, begin_job
from rdfcrawl.monitor.page.query_rules import BUSY, check_query
from rdfcrawl.monitor.page.query_texts import answer_of
from rdfcrawl.rdf.extraction.confinement import SECCOMP, confine
from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.followers.oxigraph import LOCK_NAME, OxigraphFollower
from rdfcrawl.stores.followers.stored_once import StoredOnce
from rdfcrawl.stores.log.crawl_log import CrawlLog

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NICE: Final = 5
_MEMORY_BYTES: Final = 2 * 1024 * 1024 * 1024  # of address space, during the query
_LOCK_SECS: Final = 1.0  # to wait for another process


class StoreLag(NamedTuple):
    """Lag of a store behind its log.

    Attributes:
        n_behind: documents, estimated; -1: not known.
        note: why the store was not brought up to date; empty if that was tried.
    """

    n_behind: int
    note: str = ""


def main() -> None:
    """Answer one query."""
    output = ChildOutput()
    try:
        job = begin_job(_NICE)
        lag = _bring_up_to_date(job)
        with _opened(Path(job["root"]) / "oxigraph") as store:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
            layers = confine()
            check_query(job["query"], is_confined=SECCOMP in layers)
            output.send(begun=lag._asdict())
            output.send(answer=answer_of(store, job))
    except RdfcrawlError as error:
        output.send(refusal=str(error))
    except (OSError, MemoryError, RuntimeError) as error:  # the latter of RocksDB
        output.send(refusal=_refusal_of(error))
    os._exit(0)  # nothing needs cleaning up, and the store may be large


def _refusal_of(error: Exception) -> str:
    if os.strerror(errno.EPERM) in str(error):
        return "query: requests to other endpoints are not allowed"
    return f"query: {' '.join(str(error).split()) or 'it needed too much memory'}"


def _bring_up_to_date(job: Mapping[str, Any]) -> StoreLag:
    """Apply new documents of the log, within the time of the job."""
    root = Path(job["root"])
    log = CrawlLog(root)
    follower = OxigraphFollower(root / "oxigraph", lock_secs=_LOCK_SECS)
    once = StoredOnce(root / "oxigraph" / "rdfcrawl.once", log)
    following = LogFollowing(
        log,
        follower,
        patience_secs=0,
        ends_if_unusable=True,
        once=once if job["is_once"] else None,
    )
    deadline = time.monotonic() + job["update_secs"]
    try:
        following.open()
        try:
            following.catch_up(lambda: time.monotonic() > deadline)
        finally:
            following.close()
    except StoreFault as fault:  # its present content can be queried nevertheless
        if not fault.may_pass:
            raise
        return StoreLag(-1, str(fault).replace(f"{root}/", ""))
    n_bytes = log.n_unread_bytes(following.checkpoint)
    return StoreLag(-int(-n_bytes // following.counts.bytes_per_document))


@contextmanager
def _opened(path: Path) -> Iterator[ox.Store]:
    """Open a store for reading, while no process writes it.

    Raises:
        ConfigError: another process has it open, or there is none.
    """
    try:
        fd = os.open(path / LOCK_NAME, os.O_RDWR)
    except FileNotFoundError as error:
        raise ConfigError(f"{path.name}: there is no store yet") from error
    try:
        deadline = time.monotonic() + _LOCK_SECS
        while not _is_shared(fd):
            if time.monotonic() > deadline:
                raise ConfigError(BUSY)
            time.sleep(0.05)
        yield ox.Store.read_only(str(path))
    finally:
        os.close(fd)


def _is_shared(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    main()
