"""Read the captures of one WARC file on this machine, as `inspect` reads a document."""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.core.records import Kind, Record, refused
from rdfcrawl.core.source_tasks import url_of_file
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.warc.captures import (
    CaptureLimits,
    CaptureReader,
    check_library,
)
from rdfcrawl.downloader.warc.part import FilePart, read_dictionary
from rdfcrawl.pipelines.callbacks.inspection import (
    InspectionReport,
    InspectionRequest,
    inspect,
)
from rdfcrawl.sources.harvest.warc import (
    MAX_RATIO,
    document_of_capture,
    is_readable,
    iter_captures,
)


async def inspect_archive(
    request: InspectionRequest, write: Callable[[bytes], object], log: FaultLog
) -> AsyncGenerator[InspectionReport]:
    """Yield a report for each capture with a readable format, in their order.

    Args:
        request: its target is the path of the file.
        write: gets the statements of each capture before its report.
        log: receives the faults of the file.

    Raises:
        ConfigError: the extra `warc` is not installed.
        OSError: the file cannot be read.
        SourceFault: it is damaged at its beginning.
    """
    check_library()
    path = Path(request.target)
    shared = replace(request, shares_children=True)
    of_file = refused(Record(url_of_file(path), Kind.WARC), [])
    with tempfile.TemporaryDirectory() as folder, path.open("rb") as file:  # noqa: ASYNC230
        dictionary = read_dictionary(file)
        file.seek(0)
        reader = CaptureReader(
            part=FilePart(file, 0, is_last=True, dictionary=dictionary),
            log=log,
            limits=CaptureLimits(
                lambda _: request.fetch.max_dump_bytes,
                request.fetch.spool_bytes,
                MAX_RATIO,
            ),
            until_ms=int(time.time() * 1000),
            is_wanted=is_readable,
            new_file=Spool(Path(folder), memory_limit_bytes=0).new_path,
        )
        async for capture in iter_captures(reader, log):
            document = document_of_capture(capture, of_file)
            document.record = Record(document.url)
            yield await inspect(shared, write, document=document)
