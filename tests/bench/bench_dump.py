"""Mixed dumps through a complete crawl: unpacked, parsed, stored, scanned for links.

They have labels, links, blank nodes, lists and long literals. CPU is that of all
processes of the crawl (worker, parser child, Redis); that of a crawl of a dump of one
resource is subtracted. The reference is a loop over `pyoxigraph.parse` on the unpacked
file, before the crawl and after it. Other programs read the same file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Final

from tests.bench.budgets import line
from tests.bench.documents import dumps
from tests.bench.documents.server import free_port, host, served
from tests.bench.figures import Figure, judge
from tests.bench.measured import CrawlCost, count_lines, crawl
from tests.bench.others.programs import Program, installed

_BARE: Final = """
import sys, resource, pyoxigraph as ox
n = 0
for _ in ox.parse(path=sys.argv[1], format=ox.RdfFormat.from_extension(sys.argv[2])):
    n += 1
usage = resource.getrusage(resource.RUSAGE_SELF)
print(n, usage.ru_utime + usage.ru_stime)
"""
_PACKED: Final = {
    ".nt": ("dump.nt.gz", "dump.hdt", "dump.nt.zip", "dump.nt.7z"),
    ".ttl": ("dump.ttl.gz",),
    ".rdf": ("dump.rdf.gz",),
    ".nq": ("dump.nq.gz",),
}


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Return ratios of each serialization and packing, and the memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resources", type=int, default=50_000)
    options = parser.parse_args(arguments)
    programs = installed()
    shares: list[Figure] = []
    others: list[Figure] = []
    mbytes = [0.0]
    with tempfile.TemporaryDirectory() as folder:
        start_secs = _start_secs(Path(folder))
    for suffix, names in _PACKED.items():
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder, f"dump{suffix}")
            port = free_port()
            graphs = f"{host(0, port)}/graph/"  # of the origin of the dump
            dumps.write_dump(plain, options.resources, graphs=graphs)
            for name in names:
                share, run = _measure(plain, name, start_secs, port)
                shares.append(share)
                mbytes += [run.worker_mb, run.child_mb]
                if name.endswith(".gz"):
                    ours = run.cpu_secs - start_secs
                    others += _beside(programs, plain, name, ours)
    return [*shares, *others, line("dumps, memory of a process", max(mbytes))]


def _measure(
    plain: Path, name: str, start_secs: float, port: int
) -> tuple[Figure, CrawlCost]:
    if name == "dump.hdt":
        packed = dumps.to_hdt(plain)
    else:
        packed = dumps.pack(plain, f".{name.rpartition('.')[2]}")
    bare = [_bare(plain)]
    run = _crawl(packed, port)
    bare.append(_bare(plain))
    n_stored = count_lines(plain.parent / "crawl/linkeddata/quads", "-v '^#'")
    if n_stored != bare[0][0]:
        print(f"{name}: stored {n_stored} of {bare[0][0]} statements")
    packed.unlink()
    secs, bare_secs = run.cpu_secs - start_secs, fmean(secs for _, secs in bare)
    millions = bare[0][0] / 1e6
    cells = [f"{millions / x:.2f} M statements/s" for x in (secs, bare_secs)]
    share = line(name, bare_secs / secs, *cells)
    print(f"{share} ({run.worker_mb:.0f} MB, child {run.child_mb:.0f} MB)", flush=True)
    return share, run


def _start_secs(folder: Path) -> float:
    plain = folder / "dump.nt"
    dumps.write_dump(plain, 1, graphs="")
    return _crawl(dumps.pack(plain, ".gz"), 0).cpu_secs


def _crawl(packed: Path, port: int) -> CrawlCost:
    body = packed.read_bytes()

    def documents(port: int) -> dict[str, tuple[str, bytes]]:
        return {f"{host(0, port)}/{packed.name}": ("application/octet-stream", body)}

    seeds = packed.with_name("seeds.txt")
    with served(documents, port=port) as found:
        seeds.write_text("\n".join(found))
        return crawl(packed.parent, seeds, "-a", "scope=host", "-a", "depth=0")


def _bare(plain: Path) -> tuple[int, float]:
    """Return statements, and CPU seconds of the reference."""
    loop = [sys.executable, "-c", _BARE, str(plain), plain.suffix[1:]]
    done = subprocess.run(loop, stdout=subprocess.PIPE, text=True, check=True)
    n_statements, secs = done.stdout.split()
    return int(n_statements), float(secs)


def _beside(
    programs: list[Program], plain: Path, name: str, ours: float
) -> list[Figure]:
    """Return our CPU in units of the fastest other program that reads the file."""
    found = {program.name: program.cpu_secs(plain) for program in programs}
    read = {program: secs for program, secs in found.items() if secs}
    if not read:
        return []
    texts = ", ".join(f"{program} {secs:.1f} s" for program, secs in read.items())
    figure = line(
        f"{name}, other programs", ours / min(read.values()), f"{ours:.1f} s", texts
    )
    print(f"{figure} ({texts})", flush=True)
    return [figure]


if __name__ == "__main__":
    sys.exit(judge(main()))
