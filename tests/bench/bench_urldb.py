"""Cost of the memory of URIs: CPU time, peak memory, and bytes for each URI.

Logs are written as a crawl writes them: each URI is listed by a sitemap, fetched once,
and named by ten documents. Then a later run, which fetches one URI in a hundred again.

Run: `python -m tests.bench.bench_urldb [N_URIS ...]`, e.g. `1000000 10000000`.
"""

from __future__ import annotations

import asyncio
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from binascii import b2a_base64
from hashlib import shake_128
from pathlib import Path
from typing import TYPE_CHECKING

from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.core.namespaces import DCTERMS, RC, XSD
from rdfcrawl.core.records import Document, FetchedResponse, ReadResult, Record
from rdfcrawl.pipelines.provenance import activity_of
from rdfcrawl.stores.crawl_folder import ensure_identity
from rdfcrawl.stores.nquads import document_mark
from rdfcrawl.stores.provenance.blocks import ActivityBlock, encode_block
from rdfcrawl.stores.provenance.records import WorkerAgent
from rdfcrawl.stores.segments import QuadSegments
from rdfcrawl.uri import NormalForm
from tests.bench.figures import Figure, judge
from tests.support.url_events import HYPERLINK, TURTLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfcrawl.stores.provenance.records import Activity

SIZES = (20_000, 200_000)
LISTED = 1000  # by one sitemap
LINKS = 10  # of one document
BLOCK = 1000  # activities
N_HOSTS = 5000
MOST_MB = 900.0
MOST_BYTES = 150.0
MOST_US = 300.0  # of CPU for a URI, on a machine that does other things as well
MOST_SLOPE = 1.3
_T0 = 1_790_000_000_000
_AGENT = WorkerAgent("bench", "bench", version="0")


def url_of(number: int) -> str:
    """Return the URL of a page: hosts of very different sizes."""
    host = min(number % N_HOSTS, number * 7919 % N_HOSTS)
    return f"http://www.host{host}.example/resource/items/{number}"


def activity(url: str, ms: int) -> Activity:
    """Return the activity of a fetch, with its facts."""
    name = url.rpartition("/")[2]
    record = Record(url, depth=2, parent=url_of(0))
    response = FetchedResponse(
        requested=(url,),
        status=200,
        media_type="text/turtle",
        n_bytes=1000,
        etag=f'"{hash((url, ms)) & 0xFFFFFFFF:x}"',
        last_modified="Tue, 01 Sep 2026 10:00:00 GMT",
        started_ms=ms,
        ended_ms=ms + 9,
    )
    reading = ReadResult(format=TURTLE, decided_by="content-type")
    document = Document(
        record=record, url=url, response=response, reading=reading, n_quads=20
    )
    text = int(name) - (int(name) % 20 == 0)  # one page in twenty is a copy
    digest = shake_128(b"%d %d" % (text, ms // 10**9)).hexdigest(16)
    return activity_of(document, _AGENT)._replace(
        content_hash=digest,
        text_hash=digest[::-1],
        sketch=sketch(text, ms // 10**9),
        run=0,
    )


def sketch(text: int, version: int) -> str:
    """Return a sketch: of 20 statements, or of a long page."""
    digest = shake_128(b"%d %d!" % (text, version)).digest(48)
    parts = list(b2a_base64(digest, newline=False).decode())
    for n in range(64):
        if n % 3 if text % 2 else n % 8 == 0:
            parts[n] = "."  # nothing lies in this part
    return "".join(parts)


def sitemap(number: int, urls: Iterable[str], ms: int) -> bytes:
    """Return a version of a sitemap."""
    name = f"http://www.host{number % N_HOSTS}.example/sitemap-{number}.xml"
    lines = "".join(
        f"<{name}> <{RC}lists> <{url}> <{name}> .\n"
        f'<{url}> <{DCTERMS}modified> "2026-09-01T10:00:00Z"^^<{XSD}dateTime>'
        f" <{name}> .\n"
        for url in urls
    )
    return document_mark(name, ms) + lines.encode()


async def write(root: Path, n_uris: int, begin: int, step: int) -> None:
    """Write the logs of a run: every `step`th URI is listed and fetched, and links."""
    dice = random.Random(begin)
    worker = f"w{begin}"
    quads = QuadSegments(root / "quads", worker)
    provenance = QuadSegments(root / "provenance", worker, form="jsonl")
    links = QuadSegments(root / "links", worker, form="txt")
    block: list[Activity] = []
    ensure_identity(root / "quads")
    listed: list[str] = []
    for number in range(0, n_uris, step):
        url, ms = url_of(number), _T0 + begin * 10**9 + number
        listed.append(url)
        if len(listed) == LISTED or number + step >= n_uris:
            quads.write_document(sitemap(number // LISTED, listed, ms))
            listed.clear()
        block.append(activity(url, ms))
        if len(block) == BLOCK or number + step >= n_uris:
            provenance.write_document(encode_block(ActivityBlock(_AGENT, block)))
            block.clear()
        targets = (
            # Half of all links go to few pages.
            url_of(int(n_uris * dice.random() ** (8 if n % 2 else 1)))
            for n in range(LINKS)
        )
        lines = "".join(f"<{HYPERLINK}> <{target}>\n" for target in targets)
        links.write_document(document_mark(url, ms) + lines.encode())
        if number % 100_000 == 0:
            for each in (quads, provenance, links):
                await each.flush(sync=False)
    for each in (quads, provenance, links):
        await each.close()


def run(action: str, root: Path, n_uris: int) -> None:
    """Write logs or build; print seconds of CPU, peak memory, and the result."""
    start = time.process_time()
    n_records = n_bytes = 0
    if action == "build":
        report = build(root, NormalForm(), scratch=root)
        n_records, n_bytes = report.n_records, report.n_bytes
    else:
        is_first = action == "write"
        asyncio.run(write(root, n_uris, int(not is_first), 1 if is_first else 100))
    secs = time.process_time() - start
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{secs:.3f} {peak_mb} {n_records} {n_bytes}")


def measured(action: str, root: Path, n_uris: int) -> tuple[float, int, int, int]:
    """Run in a separate process."""
    program = [sys.executable, "-m", "tests.bench.bench_urldb", action, str(root)]
    done = subprocess.run(
        [*program, str(n_uris)], check=True, capture_output=True, text=True
    )
    secs, peak_mb, n_records, n_bytes = done.stdout.split()
    found = float(secs), int(peak_mb), int(n_records), int(n_bytes)
    print(
        f"{action} {n_uris}: {found[0]:.1f} s of CPU, peak RSS {found[1]} MB"
        + (f", {found[2]} URIs, {found[3]} bytes" if found[2] else ""),
        flush=True,
    )
    return found


def measure(root: Path, n_uris: int) -> tuple[list[Figure], float]:
    """Return the cost of logs of a size, and microseconds for a URI."""
    measured("write", root, n_uris)
    secs, peak_mb, n_records, n_bytes = measured("build", root, n_uris)
    measured("write-later", root, n_uris)
    later_secs, later_mb, _, _ = measured("build", root, n_uris)
    name = f"urldb {n_uris:,}"
    us = secs / n_records * 1e6
    return [
        Figure(f"{name}, build", us, "µs/URI", at_most=MOST_US),
        Figure(f"{name}, 1 % fetched again", later_secs / secs, "x build", at_most=0.7),
        Figure(f"{name}, memory", max(peak_mb, later_mb), "MB", at_most=MOST_MB),
        Figure(f"{name}, size", n_bytes / n_records, "B/URI", at_most=MOST_BYTES),
    ], us


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Run all sizes, each step in a separate process."""
    given = sys.argv[1:] if arguments is None else arguments
    if given and not given[0].isdigit():
        run(given[0], Path(given[1]), int(given[2]))
        return []
    sizes = [int(each) for each in given] or [*SIZES]
    figures: list[Figure] = []
    costs: list[float] = []
    for n_uris in sizes:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name) / "crawl"
            found, us = measure(root, n_uris)
            shutil.rmtree(root)
        figures += found
        costs.append(us)
    if len(costs) > 1:
        slope = Figure("urldb, slope", costs[-1] / costs[0], "x", at_most=MOST_SLOPE)
        figures.append(slope)
    return figures


if __name__ == "__main__":
    sys.exit(judge(main()))
