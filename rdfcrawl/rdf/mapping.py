"""Map a document into memory, to be read in any order."""

from __future__ import annotations

import io
import mmap
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from rdfcrawl.errors import Reason, SourceFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.bytesource import ByteSource
    from rdfcrawl.rdf.environment import ReaderContext


@contextmanager
def mapped(
    source: ByteSource, *, environment: ReaderContext, max_bytes: int
) -> Iterator[memoryview]:
    """Yield the bytes of a source as one buffer; a stream is spooled first.

    Raises:
        SourceFault: `TOO_LARGE`: more than `max_bytes`, or no room to spool a stream.
        NeedsSandbox: there is no scratch space to spool a stream.
    """
    if source.data is not None:
        _demand(len(source.data), max_bytes)
        yield memoryview(source.data)
        return
    with source.open() as file:
        if isinstance(file, io.BufferedReader) and isinstance(file.raw, io.FileIO):
            yield from _map_file(file, environment, max_bytes)
        else:
            yield from _map_stream(file, environment, max_bytes)


def _map_file(
    file: BinaryIO, environment: ReaderContext, max_bytes: int
) -> Iterator[memoryview]:
    n_bytes = os.fstat(file.fileno()).st_size
    _demand(n_bytes, max_bytes)
    environment.lift(n_bytes)
    buffer = mmap.mmap(file.fileno(), n_bytes, prot=mmap.PROT_READ)
    try:
        with memoryview(buffer) as view:
            yield view
    finally:
        # Arrays over the buffer may live on in an exception; they close it then.
        with suppress(BufferError):
            buffer.close()


def _map_stream(
    file: BinaryIO, environment: ReaderContext, max_bytes: int
) -> Iterator[memoryview]:
    if environment.scratch is None:
        environment.demand_bounds("spooling a stream")
        raise SourceFault(Reason.TOO_LARGE, "no room to read it out of order")
    held = environment.scratch.hold(file, max_bytes=max_bytes)
    try:
        environment.lift(held.n_bytes)
        view = held.map()
        try:
            yield view
        finally:
            with suppress(BufferError):
                view.release()
    finally:
        with suppress(BufferError):
            held.close()


def _demand(n_bytes: int, max_bytes: int) -> None:
    if n_bytes > max_bytes:
        raise SourceFault(Reason.TOO_LARGE, f"{n_bytes} bytes, and it cannot be cut")
