"""Cost of exports relative to reading the log alone: CPU time, and peak memory.

Run: `python -m tests.bench.bench_export [N_QUADS [FOLDER]]`; a folder keeps the log.
"""

from __future__ import annotations

import asyncio
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.stores.export.exporting import export
from rdfcrawl.stores.export.plan import ExportPlan
from rdfcrawl.stores.export.selection import DocumentSelection
from rdfcrawl.stores.log.crawl_log import CrawlLog
from rdfcrawl.stores.nquads import NQuadsStore
from tests.bench.figures import Figure, judge
from tests.support.written_logs import put

if TYPE_CHECKING:
    from collections.abc import Iterator

QUADS_OF_DOCUMENT = 20
# Format -> its budget, as a multiple of reading.
FORMATS = {
    "nq.gz": 2.5,
    "nt": 3.5,
    "ttl.gz": 4.0,
    "jsonld": 5.0,
    "parquet": 6.0,
    "hdt": 9.0,
}
MOST_MB = 600.0
_FLUSHED_THINGS = 500


def write_log(
    root: Path,
    n_quads: int,
    n_quads_of_document: int = QUADS_OF_DOCUMENT,
    *,
    has_blank_nodes: bool = True,
) -> None:
    """Write a log as a crawl would: documents of some hosts that link to each other."""
    n_things = n_quads // QUADS_OF_DOCUMENT
    label = "_:b{:x}n0" if has_blank_nodes else "<http://e.example/address/{}>"
    n_of_document = n_quads_of_document // QUADS_OF_DOCUMENT
    asyncio.run(_write(root, n_things, n_of_document, label))


async def _write(root: Path, n_things: int, n_of_document: int, label: str) -> None:
    store = NQuadsStore(root / "quads", "bench")
    await store.open()
    dice = random.Random(0)
    for first in range(0, n_things, n_of_document):
        graph = f"http://h{first % 97}.example/page/{first}"
        version_ms = 1_790_000_000_000 + first
        things = range(first, min(first + n_of_document, n_things))
        chunks = (
            "".join(_lines(graph, n, n_things, dice, label)).encode() for n in things
        )
        if n_of_document == 1:
            await put(store, graph, version_ms, next(chunks))
        else:
            writer = await store.begin(graph, version_ms)
            for chunk in chunks:
                await writer.write(QuadChunk(chunk))
            await writer.end()
        if first % _FLUSHED_THINGS == 0:
            await store.flush()
    await store.close()


def _lines(
    graph: str, n: int, n_documents: int, dice: random.Random, label: str
) -> Iterator[str]:
    it = f"<http://h{n % 97}.example/page/{n}#it>"
    yield f'{it} <http://xmlns.com/foaf/0.1/name> "Name of {n}"@en <{graph}> .\n'
    yield f"{it} <http://schema.org/address> {label.format(n)} <{graph}> .\n"
    yield f'{label.format(n)} <http://schema.org/postalCode> "{n % 9999}" <{graph}> .\n'
    for i in range(QUADS_OF_DOCUMENT - 3):
        other = dice.randrange(n_documents)
        term = (
            f"<http://h{other % 97}.example/page/{other}#it>"
            if i % 3 == 0
            else f'"{other % 100_000}"^^<http://www.w3.org/2001/XMLSchema#integer>'
            if i % 3 == 1
            else f'"Some text about {other} and {n}, \\"quoted\\""'
        )
        yield f"{it} <http://schema.org/property{i}> {term} <{graph}> .\n"


def run(name: str, root: Path, folder: Path) -> None:
    """Read the log, or export it; print seconds, peak memory and statements."""
    start = time.process_time()
    log = CrawlLog(root)
    selection = DocumentSelection()
    if name == "read":
        documents = selection.iter_documents(log, folder)
        n_quads = sum(
            piece.count(b"\n") for each in documents for piece in selection.pieces(each)
        )
    else:
        plan = ExportPlan.of(str(folder / f"out.{name}"), selection=selection)
        n_quads = export(log, plan).n_quads
    secs = time.process_time() - start
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{secs:.3f} {peak_mb} {n_quads}")


def _measured(name: str, root: Path, folder: Path) -> tuple[float, int, int]:
    program = [sys.executable, "-m", "tests.bench.bench_export"]
    done = subprocess.run(
        [*program, name, root, folder], check=True, capture_output=True, text=True
    )
    secs, peak_mb, n_quads = done.stdout.split()
    return float(secs), int(peak_mb), int(n_quads)


def measure(root: Path, folder: Path) -> list[Figure]:
    """Return the cost of each format."""
    read_secs, _, n_read = _measured("read", root, folder)
    print(f"{n_read} quads: read at {n_read / read_secs / 1e3:.0f} k/s", flush=True)
    figures = []
    for name, most in FORMATS.items():
        start = time.monotonic()
        secs, peak_mb, n_quads = _measured(name, root, folder)
        path = folder / f"out.{name}"
        print(
            f"{name}: {n_quads} statements, {n_read / secs / 1e3:.0f} k/s,"
            f" {secs:.0f} s of CPU, {time.monotonic() - start:.0f} s, peak RSS"
            f" {peak_mb} MB, file {path.stat().st_size / 1e6:.1f} MB",
            flush=True,
        )
        path.unlink()
        ratio = secs / read_secs
        figures += [
            Figure(f"export {name}", ratio, "x reading", at_most=most),
            Figure(f"export {name}, memory", peak_mb, "MB", at_most=MOST_MB),
        ]
    return figures


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Run all, each in a separate process."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) == 3:
        run(given[0], Path(given[1]), Path(given[2]))
        return []
    n_quads = int(given[0]) if given else 300_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(given[1]) if len(given) > 1 else Path(name)
        root = folder / "crawl"
        if not root.exists():
            write_log(root, n_quads)
        return measure(root, folder)


if __name__ == "__main__":
    sys.exit(judge(main()))
