"""Run the child process of the sandbox, which reads one document at a time.

See `messages` for the frames in its pipes.
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from isal import isal_zlib

from rdfcrawl.core.content import (
    RAW_DEFLATE,
    DeflatePiece,
    FoundLinks,
    QuadChunk,
    check_statements,
    digest_of,
)
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.environment import GC_THRESHOLDS, ContextDocument, ReaderContext
from rdfcrawl.rdf.extraction import confinement, messages
from rdfcrawl.rdf.extraction.messages import HEADER, Confinement, ReadingJob
from rdfcrawl.rdf.extraction.reading import DocumentReading
from rdfcrawl.rdf.html.extractors import CustomExtractor
from rdfcrawl.rdf.unpack.scratch import FileScratch
from rdfcrawl.uri.hosts import origin_of_link

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rdfcrawl.rdf.extraction.messages import BulkOutput
    from rdfcrawl.rdf.output import QuadLines


_LEVEL = 1  # of compression, as isal has them: 0 is the fastest, 3 the smallest
_PLAIN_BYTES: Final = 256 * 1024  # a store gathers documents up to here into a member


class BulkPacker:
    """Maker of the chunks of one document; the first ones are not packed.

    Each packed piece ends on a byte and refers to no other: a stream may have any
    pieces, in any order, and end after any of them.
    """

    def __init__(self, bulk: BulkOutput) -> None:
        self._bulk = bulk
        self._n_plain = 0
        self._deflate: Any = None
        self._host = b""  # that most links were to

    def chunk(self, lines: QuadLines) -> QuadChunk:
        """Return the next chunk.

        Raises:
            ValueError: the lines cannot be stored.
        """
        check_statements(lines)
        if self._deflate is None:
            self._n_plain += len(lines)
            if self._n_plain <= _PLAIN_BYTES:
                return QuadChunk(lines)
            self._deflate = isal_zlib.compressobj(
                _LEVEL, isal_zlib.DEFLATED, RAW_DEFLATE, isal_zlib.DEF_MEM_LEVEL
            )
        links, is_describing = self._scan(lines)
        found = FoundLinks.sort(links, self._host)
        if 2 * found.n_of_host < len(links):
            host = origin_of_link(next(iter(links)))
            self._host = host if host.endswith(b"/") else b""
        packed = self._deflate.compress(lines)
        packed += self._deflate.flush(isal_zlib.Z_FULL_FLUSH)
        crc, digest = isal_zlib.crc32(lines), digest_of(lines)
        piece = DeflatePiece(packed, crc, len(lines), digest)
        n_quads = lines.count(b"\n")
        return QuadChunk(b"", n_quads, found, piece, is_describing=is_describing)

    def _scan(self, lines: bytes) -> tuple[AbstractSet[bytes], bool]:
        bulk = self._bulk
        if not bulk.wants_links:
            return frozenset(), False
        if not bulk.follow.wants_datasets:
            return bulk.follow.scan(lines), False
        return bulk.follow.scan_bulk(lines)


# Events of PEP 578 that parsing does not need.
_DENIED_EVENTS = (
    *("socket.", "subprocess.", "urllib.", "ftplib.", "shutil.", "ctypes."),
    *("sqlite3.", "signal.pthread_kill"),
)
_DENIED_OS_EVENTS = frozenset(
    f"os.{call}"
    for call in (
        "chmod", "chown", "exec", "fork", "forkpty", "kill", "killpg", "link", "mkdir",
        "posix_spawn", "putenv", "remove", "removexattr", "rename", "rmdir",
        "setxattr", "spawn", "symlink", "system", "unsetenv", "utime",
    )
)  # fmt: skip


def main() -> None:
    """Serve jobs from standard input up to its end.

    Arguments of the process: bytes of memory; descriptor and largest size of the
    scratch file; a `Confinement`; paths of the user's extractors.
    """
    gc.set_threshold(*GC_THRESHOLDS)
    memory_bytes, scratch_fd, scratch_bytes = map(int, sys.argv[1:4])
    bounds = confinement.ProcessBounds(memory_bytes, scratch_bytes)
    child = _Child(bounds, FileScratch(scratch_fd, scratch_bytes))
    wanted, *paths = sys.argv[4:]
    for path in paths:
        # Before the bounds: libraries may need more memory during import. A failure
        # repeats when a document is read, and then becomes a fault.
        with suppress(Exception):
            CustomExtractor("", path).load()
    bounds.set()
    # The parent ends its children, after they have returned their statements.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.dont_write_bytecode = True
    layers = () if wanted == Confinement.PROCESS else confinement.confine()
    if wanted == Confinement.KERNEL and not layers:
        sys.exit("the kernel does not confine this process")
    # In addition to the kernel: it names the denied event, and sees Python's intent.
    sys.addaudithook(deny_side_effects)
    child.send(b"S", "+".join(layers or (confinement.NONE,)).encode())
    while child.serve():
        pass


def deny_side_effects(event: str, args: tuple[Any, ...]) -> None:
    """Deny network, processes and opening files for writing, as an audit hook.

    Raises:
        PermissionError: parsing does not need the event.
    """
    if event.startswith(_DENIED_EVENTS) or event in _DENIED_OS_EVENTS:
        raise PermissionError(event)
    if event == "os.truncate" and not isinstance(args[0], int):
        raise PermissionError("truncate by path")
    if event == "open":
        _, mode, flags = args
        if (
            isinstance(mode, str) and set(mode) & set("wax+")
        ) or flags & confinement.WRITING:
            raise PermissionError("open for writing")


class _Child:
    """The process as seen by its jobs; also a `ContextSource`."""

    def __init__(self, bounds: confinement.ProcessBounds, scratch: FileScratch) -> None:
        self._bounds = bounds
        self._scratch = scratch
        self._environment = ReaderContext(
            contexts=self, is_bounded=True, scratch=scratch, lift=bounds.lift_memory
        )
        self._jobs: BinaryIO = sys.stdin.buffer
        # Output that a library prints must not corrupt the frames.
        self._out: BinaryIO = os.fdopen(os.dup(1), "wb")
        with suppress(OSError, AttributeError):  # Linux only, and within a quota
            fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, messages.PIPE_BYTES)
        os.dup2(2, 1)

    def serve(self) -> bool:
        """Serve one job; return whether another may follow."""
        kind, payload = self._receive()
        if not kind:
            return False
        job = ReadingJob.from_bytes(payload)
        kind, payload = self._receive()
        source = Path(os.fsdecode(payload)) if kind == b"P" else payload
        n_bytes = source.stat().st_size if isinstance(source, Path) else len(source)
        used = confinement.used_secs()
        self._bounds.begin(job.limits.secs, job.limits.secs_per_mb)
        self._allow_cpu(used, job, n_bytes)
        self._scratch.refusal = 0
        reading = DocumentReading(source, job, environment=self._environment)
        sent = reading.outcome.reservations
        self.send(b"F", reading.outcome.to_json())
        packer = None if job.bulk is None else BulkPacker(job.bulk)
        for lines in reading:
            if reading.outcome.reservations is not sent:
                sent = reading.outcome.reservations
                self.send(b"F", reading.outcome.to_json())
            chunk = None if packer is None else packer.chunk(lines)
            if chunk is None or chunk.packed is None:
                self.send(b"C", lines, reading.n_quads)
            else:
                self.send(b"Z", messages.encode_chunk(chunk), reading.n_quads)
            n_bytes += reading.earned_bytes(lines)
            self._allow_cpu(used, job, n_bytes)
        is_last = self._bounds.end()
        if self._scratch.refusal:
            self.send(b"D", str(self._scratch.refusal).encode(), int(is_last))
        else:
            self.send(b"E", reading.outcome.to_json(), int(is_last))
        return not is_last

    def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Return a context from the parent."""
        del document_url  # the parent knows it, and does not trust this process
        self.send(b"L", url.encode(errors="replace"))
        kind, payload = self._receive()
        if kind == b"K":
            final_url, _, content = payload.partition(b"\n")
            return ContextDocument(url=final_url.decode(), content=content)
        raise SourceFault(Reason.REMOTE_CONTEXT, payload.decode())

    def _allow_cpu(self, used: float, job: ReadingJob, n_bytes: int) -> None:
        limits = job.limits
        allowed_secs = limits.secs + limits.secs_per_mb * n_bytes / 1e6
        self._bounds.allow_cpu(used + allowed_secs)

    def _receive(self) -> tuple[bytes, bytes]:
        header = self._jobs.read(HEADER.size)
        if len(header) < HEADER.size:
            return b"", b""
        kind, length, _ = HEADER.unpack(header)
        return kind, self._jobs.read(length)

    def send(self, kind: bytes, payload: bytes, n_quads: int = 0) -> None:
        """Send a frame to the parent."""
        self._out.write(HEADER.pack(kind, len(payload), n_quads))
        self._out.write(payload)
        self._out.flush()


if __name__ == "__main__":
    main()
