"""Cost of reading and writing HDT, next to the bare parser on the same statements.

Run: `python -m tests.bench.bench_hdt [N_TRIPLES]`.
"""

from __future__ import annotations

import io
import mmap
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import RdfFormat

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf.environment import DEFAULT_LIMITS
from rdfcrawl.rdf.hdt import read_hdt, write_hdt
from rdfcrawl.rdf.text import iter_line_blocks
from tests.bench.figures import Figure, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = ("resources", "graph", "typed", "text")
_ALL_IN_MEMORY, _LITTLE = 256 * 2**20, 32 * 2**20


def write_lines(path: Path, kind: str, n: int) -> None:
    """Write N-Triples of a kind of data."""
    with path.open("wb") as file:
        file.writelines(_lines(kind, n))


def _lines(kind: str, n: int) -> Iterator[bytes]:
    dice = random.Random(0)
    for i in range(n // 4):
        s = b"<http://n1.example/resource/Entity_%d>" % i
        for j in range(4):
            p = b"<http://n1.example/ontology/p%d>" % j
            yield b"%s %s %s .\n" % (s, p, _object(kind, i, j, n // 4, dice))


def _object(kind: str, i: int, j: int, n: int, dice: random.Random) -> bytes:
    number = dice.randrange(n)
    if kind == "graph":  # as links between resources at random
        return b"<http://n1.example/resource/Entity_%d>" % number
    if kind == "typed":
        date = b"http://www.w3.org/2001/XMLSchema#integer"
        return b'"%d"^^<%b>' % (number % 100_000, date)
    if kind == "text":
        return b'"A \\"text\\", and a line\\nmore, %d of %d."@en' % (j, number)
    if j == 0:  # as a dump of resources: a class, links, a label
        return b"<http://n1.example/ontology/C%d>" % (number % 50)
    if j == 1:
        return b'"resource %d"' % i
    return b"<http://n%d.example/resource/Entity_%d>" % (j, number // 10)


def measure(kind: str, n: int, folder: Path) -> list[Figure]:
    """Return the rates of one kind of data."""
    lines, file = folder / f"{kind}.nt", folder / f"{kind}.hdt"
    write_lines(lines, kind, n)
    start = time.process_time()
    pyoxigraph.serialize(
        pyoxigraph.parse(path=lines, format=RdfFormat.N_TRIPLES),
        io.BytesIO(),
        RdfFormat.N_QUADS,
    )
    bare = time.process_time() - start
    texts = [f"{kind}, {n} triples: parser alone {n / bare / 1e3:.0f} k/s"]
    figures = []
    for what in f"write:{_ALL_IN_MEMORY}", f"write:{_LITTLE}", "read":
        program = [sys.executable, "-m", "tests.bench.bench_hdt"]
        done = subprocess.run(
            [*program, what, lines, file], check=True, capture_output=True, text=True
        )
        secs, peak_mb, note = done.stdout.split(maxsplit=2)
        rate = n / float(secs) / 1e3
        name = f"{kind}, {what.partition(':')[0]}, {peak_mb} MB"
        figures.append(Figure(name, bare / float(secs), "x bare parser"))
        texts.append(
            f"{what.partition(':')[0]} {rate:.0f} k/s "
            f"({bare / float(secs):.2f} of it), peak RSS {peak_mb} MB, {note.strip()}"
        )
    print("; ".join(texts), flush=True)
    lines.unlink()
    file.unlink()
    return figures


def run(what: str, lines: Path, file: Path) -> None:
    """Write or read one file; print seconds, peak memory and a note."""
    start = time.process_time()
    if what == "read":
        note = f"{_read(file)} statements"
    else:
        note = _write(lines, file, int(what.partition(":")[2]))
    secs = time.process_time() - start
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{secs:.3f} {peak_mb} {note}")


def _write(lines: Path, file: Path, memory_bytes: int) -> str:
    with lines.open("rb") as source, file.open("wb") as out:
        blocks = iter_line_blocks(source.read, max_line_bytes=2**20, log=FaultLog())
        base = "http://n1.example/"
        write_hdt(blocks, out, base=base, memory_bytes=memory_bytes)
    return f"{memory_bytes >> 20} MB allowed, file {file.stat().st_size / 1e6:.1f} MB"


def _read(file: Path) -> int:
    with file.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        blocks = read_hdt(memoryview(mapped), limits=DEFAULT_LIMITS, log=FaultLog())
        return sum(block.count(b"\n") for block in blocks)


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Run all, each in a separate process."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) == 3:
        run(given[0], Path(given[1]), Path(given[2]))
        return []
    n = int(given[0]) if given else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        return [each for kind in KINDS for each in measure(kind, n, Path(folder))]


if __name__ == "__main__":
    sys.exit(judge(main()))
