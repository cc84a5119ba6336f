"""Cost of parsing: small documents, dumps, blank nodes, the sandbox.

Run: `python -m tests.bench.bench_rdf [N_TRIPLES]`.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph

from rdfcrawl.core import formats
from rdfcrawl.rdf.extraction.messages import ReadingJob
from rdfcrawl.rdf.extraction.sandbox import Sandbox
from rdfcrawl.rdf.parse import parse
from tests.bench.figures import Figure, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

URL = "http://n1.example/dump"
SMALL = b"""<http://n1.example/r/1> a <http://orca.example/C> ;
  <http://orca.example/p> <http://n2.example/r/2>, <http://n3.example/r/3> ;
  <http://orca.example/label> "resource one" .
"""


def small_documents(n: int = 20_000) -> list[Figure]:
    """Return the cost of one document of four triples."""
    figures = []
    for name, media_type, body in (
        ("Turtle", "text/turtle", SMALL),
        ("Turtle, no type", "", SMALL),
        ("Turtle, blank nodes", "text/turtle", SMALL + b"_:a <p:p> [ <q> 5 ] ."),
    ):
        best = min(_small(media_type, body, n) for _ in range(3))
        figures.append(Figure(f"small, {name}", best / n * 1e6, "us"))
    return figures


def _small(media_type: str, body: bytes, n: int) -> float:
    start = time.process_time()
    for _ in range(n):
        for _ in parse(body, url=URL, graph=URL, media_type=media_type):
            pass
    return time.process_time() - start


def write_dump(path: Path, n: int) -> None:
    """Write N-Triples, Turtle or N-Triples with blank nodes, by the name."""
    with path.open("wb") as file:
        file.writelines(_lines(path.stem, n))


def _lines(kind: str, n: int) -> Iterator[bytes]:
    if kind == "turtle":
        yield b"@prefix r: <http://n1.example/r/> .\n"
        yield b"@prefix o: <http://orca.example/> .\n"
    for i in range(n // 2):
        if kind == "turtle":
            yield b'r:%d o:p%d r:%d ; o:label "resource %d" .\n' % (i, i % 7, i * 7, i)
            continue
        s = b"_:r%d" % i if kind == "blank" else b"<http://n1.example/r/%d>" % i
        yield b"%s <http://orca.example/p%d> <http://n%d.example/r/%d> .\n" % (
            *(s, i % 7),
            *(i % 50, i * 7),
        )
        yield b'%s <http://orca.example/label> "resource %d" .\n' % (s, i)


def dump(path: Path) -> Figure:
    """Return the rate of one dump."""
    fmt = next(f for f in formats.FORMATS if path.suffix[1:] in f.extensions)
    start = time.process_time()
    n = sum(1 for _ in pyoxigraph.parse(path=path, format=fmt.parser))
    bare = time.process_time() - start
    start = time.process_time()
    document = parse(path, url=URL, graph=URL)
    for _ in document:
        pass
    ours = time.process_time() - start
    assert document.n_quads == n
    start = time.process_time() + _children_secs()
    assert asyncio.run(_sandboxed(path)) == n
    sandboxed = time.process_time() + _children_secs() - start
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    child_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"{path.name}, {n} triples, {path.stat().st_size / 1e6:.0f} MB: "
        f"bare parse {n / bare / 1e3:.0f} k/s, parse() {n / ours / 1e3:.0f} k/s "
        f"({bare / ours:.2f} of bare), "
        f"Sandbox {n / sandboxed / 1e3:.0f} k/s of both processes; "
        f"peak RSS {peak_mb:.0f} MB, child {child_mb:.0f} MB"
    )
    return Figure(f"parse() of {path.name}", bare / ours, "x bare parser")


def _children_secs() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


async def _sandboxed(path: Path) -> int:
    async with Sandbox() as sandbox:
        reading = await sandbox.read(path, ReadingJob(url=URL, graph=URL))
        async for _ in reading:
            pass
        return reading.outcome.n_quads


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Return the costs of small documents, and ratios to the bare parser."""
    given = sys.argv[1:] if arguments is None else arguments
    n = int(given[0]) if given else 2_000_000
    figures = small_documents()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("triples.nt", "turtle.ttl", "blank.nt"):
            path = Path(folder, name)
            write_dump(path, n)
            figures.append(dump(path))
            path.unlink()
    return figures


if __name__ == "__main__":
    sys.exit(judge(main()))
