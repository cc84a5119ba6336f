"""A large dump through a complete crawl: unpacked, parsed, stored, scanned for links.

CPU is that of all processes of the crawl (worker, parser child, Redis), the web server
excluded, so the rate is that of one core. The reference is a bare loop over
`pyoxigraph.parse` on the same file, before the crawl and after it. The crawl keeps two
processes busy, and where two CPUs share a core, or its cache, a second of each is worth
less: the ratio to two such loops in parallel is printed as well.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean

from tests.bench.figures import Figure, judge
from tests.bench.measured import count_lines, run_measured
from tests.support.processes import children, peak_bytes

BASE = "http://data.example.org/resource/"
VOCABULARY = "http://data.example.org/ontology#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
LABEL = "A resource with a label of usual length, number"
BARE = """
import sys, resource, pyoxigraph as ox
n = 0
for _ in ox.parse(path=sys.argv[1], format=ox.RdfFormat.from_extension(sys.argv[2])):
    n += 1
usage = resource.getrusage(resource.RUSAGE_SELF)
print(n, usage.ru_utime + usage.ru_stime)
"""


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print a row per serialization; return ratios and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=0.5, help="size, unpacked")
    options = parser.parse_args(arguments)
    print(
        f"{'dump':8}{'GB':>6}{'triples':>10}{'wall s':>8}{'CPU s':>8}{'k/CPU s':>9}"
        f"{'bare k/CPU s':>14}{'ratio':>7}{'two bare':>10}{'ratio':>7}"
        f"{'worker MB':>11}{'child MB':>10}"
    )
    figures = []
    for name in ("dump.nt", "dump.nt.gz", "dump.ttl.gz", "dump.rdf.gz"):
        with tempfile.TemporaryDirectory() as folder:
            figures += _measure(Path(folder), name, int(options.gb * 10**9))
    return figures


def _measure(folder: Path, name: str, n_bytes: int) -> list[Figure]:
    plain = folder / name.removesuffix(".gz")
    n_triples = _write_dump(plain, n_bytes)
    dump = folder / name
    if dump != plain:
        with plain.open("rb") as source, gzip.open(dump, "wb", 1) as packed:
            shutil.copyfileobj(source, packed, 2**20)
    handler = partial(_Quiet, directory=str(folder))
    bare_secs, pair_secs = [_bare_secs(plain, 1)], [_bare_secs(plain, 2)]
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    # Of `make bench` too, whose own processes are spawned.
    process = get_context("fork").Process(target=server.serve_forever)
    process.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/{dump.name}"
        wall, cpu, worker_mb, child_mb = _crawl(folder, url)
    finally:
        process.terminate()
        process.join()
        server.server_close()
    n_stored = count_lines(folder / "crawl" / "linkeddata" / "quads", "-v '^#'")
    if n_stored != n_triples:
        print(f"stored {n_stored} of {n_triples} triples")
    pair_secs.append(_bare_secs(plain, 2))
    bare_secs.append(_bare_secs(plain, 1))
    bare_rate = n_triples / fmean(bare_secs) / 1000
    pair_rate = n_triples / fmean(pair_secs) / 1000
    rate = n_triples / cpu / 1000
    print(
        f"{name[5:]:8}{plain.stat().st_size / 1e9:6.2f}{n_triples:10}{wall:8.1f}"
        f"{cpu:8.1f}{rate:9.0f}{bare_rate:14.0f}{rate / bare_rate:7.2f}"
        f"{pair_rate:10.0f}{rate / pair_rate:7.2f}"
        f"{worker_mb:11.0f}{child_mb:10.0f}"
    )
    least = 0.35 if plain.suffix == ".rdf" else 0.4
    return [
        Figure(name, rate / bare_rate, "x bare parser", at_least=least),
        Figure(f"{name}, memory of the worker", worker_mb, "MB", at_most=150),
        Figure(f"{name}, memory of the child", child_mb, "MB"),
    ]


def _bare_secs(plain: Path, n_at_once: int) -> float:
    """Return the CPU seconds of one bare loop, of several that run in parallel."""
    line = [sys.executable, "-c", BARE, str(plain), plain.suffix[1:]]
    loops = [
        subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        for _ in range(n_at_once)
    ]
    printed = [loop.communicate()[0] for loop in loops]
    return fmean(float(text.split()[1]) for text in printed)


def _crawl(folder: Path, url: str) -> tuple[float, float, float, float]:
    """Return wall and CPU seconds, peak MB of the worker and of its parser."""
    crawl = folder / "crawl"
    line = [
        *(sys.executable, "-m", "scrapy", "crawl", "linkeddata"),
        *("-a", f"seeds={url}", "-a", "scope=host"),
        *("-s", f"CRAWL_DIR={crawl}", "-s", "PROGRESS=off"),
        *("-s", "GUARD_ALLOW_NETS=127.0.0.1"),
    ]
    worker_bytes = child_bytes = 0

    def look(worker: int) -> None:
        nonlocal worker_bytes, child_bytes
        worker_bytes = max(worker_bytes, peak_bytes(worker))
        child_bytes = max([child_bytes, *map(peak_bytes, children(worker))])

    # The worker waits for its parser: its usage holds that of the child too.
    usage = run_measured(line, look)
    return usage.wall_secs, usage.cpu_secs, worker_bytes / 1e6, child_bytes / 1e6


def _write_dump(path: Path, n_bytes: int) -> int:
    """Write a dump of resources with types, labels, numbers and links."""
    head, describe, tail = _SYNTAXES[path.suffix]
    resource = 0
    with path.open("w", buffering=1 << 20) as file:
        file.write(head)
        while file.tell() < n_bytes:
            file.write(describe(resource, resource * 7919 % 10**9))
            resource += 1
        file.write(tail)
    return 6 * resource


def _turtle(number: int, other: int) -> str:
    return (
        f'r:item{number:09} a o:Item ; o:label "{LABEL} {number}"@en ; '
        f"o:number {number} ;\n  o:part r:item{other:09} , r:item{other:09}a ; "
        f'o:note "a\\nb {number}" .\n'
    )


def _ntriples(number: int, other: int) -> str:
    subject, part = f"<{BASE}item{number:09}>", f"<{BASE}item{other:09}"
    return (
        f"{subject} <{RDF}type> <{VOCABULARY}Item> .\n"
        f'{subject} <{VOCABULARY}label> "{LABEL} {number}"@en .\n'
        f'{subject} <{VOCABULARY}number> "{number}"^^<{XSD}integer> .\n'
        f"{subject} <{VOCABULARY}part> {part}> .\n"
        f"{subject} <{VOCABULARY}part> {part}a> .\n"
        f'{subject} <{VOCABULARY}note> "a\\nb {number}" .\n'
    )


def _rdf_xml(number: int, other: int) -> str:
    return (
        f'<o:Item rdf:about="{BASE}item{number:09}">'
        f'<o:label xml:lang="en">{LABEL} {number}</o:label>\n'
        f'<o:number rdf:datatype="{XSD}integer">{number}</o:number>'
        f'<o:part rdf:resource="{BASE}item{other:09}"/>'
        f'<o:part rdf:resource="{BASE}item{other:09}a"/>\n'
        f"<o:note>a\nb {number}</o:note></o:Item>\n"
    )


# Begin of a file, description of a resource, and end of a file.
_SYNTAXES = {
    ".nt": ("", _ntriples, ""),
    ".ttl": (
        f"@prefix o: <{VOCABULARY}> .\n@prefix r: <{BASE}> .\n",
        _turtle,
        "",
    ),
    ".rdf": (
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:o="{VOCABULARY}">\n',
        _rdf_xml,
        "</rdf:RDF>\n",
    ),
}


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def guess_type(self, path: object) -> str:
        del path
        return "application/octet-stream"

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    sys.exit(judge(main()))
