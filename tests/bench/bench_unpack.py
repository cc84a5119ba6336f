"""Cost of unpacking: each packing alone, and dumps in gzip to N-Quads.

Run: `python -m tests.bench.bench_unpack [N_TRIPLES]`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import resource
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import brotli  # type: ignore[import-untyped]
import lz4.frame
import py7zr
import pyoxigraph
from backports import zstd
from pyoxigraph import RdfFormat

from rdfcrawl.core import formats
from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.environment import ReaderContext
from rdfcrawl.rdf.extraction.messages import ReadingJob
from rdfcrawl.rdf.extraction.reading import DocumentReading
from rdfcrawl.rdf.unpack.documents import iter_documents
from rdfcrawl.rdf.unpack.limits import UnpackLimits
from rdfcrawl.rdf.unpack.scratch import MemoryScratch
from tests.bench.figures import Figure, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

URL = "http://n1.example/dump"
_FORMATS = {
    "nt": RdfFormat.N_TRIPLES,
    "ttl": RdfFormat.TURTLE,
    "rdf": RdfFormat.RDF_XML,
}
_XML_BEGIN = b"""<?xml version="1.0" encoding="utf-8"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:o="http://orca.example/">
"""


def _lines(kind: str, n: int) -> Iterator[bytes]:
    if kind == "ttl":
        yield b"@prefix r: <http://n1.example/r/> .\n"
        yield b"@prefix o: <http://orca.example/> .\n"
    if kind == "rdf":
        yield _XML_BEGIN
    for i in range(n // 2):
        numbers = (i, i % 7, i * 7, i * 7919 % 99991)
        if kind == "ttl":
            yield b'r:%d o:p%d r:%d ; o:label "resource %d" .\n' % numbers
        elif kind == "rdf":
            yield (
                b'<rdf:Description rdf:about="http://n1.example/r/%d">'
                b'<o:p%d rdf:resource="http://n1.example/r/%d"/>'
                b"<o:label>resource %d</o:label></rdf:Description>\n"
            ) % numbers
        else:
            s = b"<http://n1.example/r/%d>" % i
            yield b"%s <http://orca.example/p%d> <http://n1.example/r/%d> .\n" % (
                *(s, i % 7),
                i * 7,
            )
            yield b'%s <http://orca.example/label> "resource %d" .\n' % (s, numbers[3])
    if kind == "rdf":
        yield b"</rdf:RDF>\n"


def _secs(act: Callable[[], int]) -> tuple[float, int]:
    start = time.process_time()
    n = act()
    return time.process_time() - start, n


def dump(kind: str, n: int, folder: Path) -> Figure:
    """Return the rates of one dump in gzip, end to end, and of the bare parser."""
    path = folder / f"dump.{kind}.gz"
    content = b"".join(_lines(kind, n))
    path.write_bytes(gzip.compress(content, 6))

    def bare() -> int:
        stream = io.BytesIO(content)
        return sum(1 for _ in pyoxigraph.parse(stream, _FORMATS[kind], base_iri=URL))

    def ours() -> int:
        job = ReadingJob(
            url=f"{URL}.{kind}.gz", graph=URL, media_type="application/gzip"
        )
        reading = DocumentReading(path, job, environment=ReaderContext(is_bounded=True))
        for _ in reading:
            pass
        assert not reading.outcome.faults
        return reading.outcome.n_quads

    bare_secs, n_bare = min(_secs(bare) for _ in range(3))
    our_secs, n_ours = min(_secs(ours) for _ in range(3))
    assert n_bare == n_ours
    print(
        f"{path.name}, {n_ours} triples, {len(content) / 1e6:.0f} MB, "
        f"{path.stat().st_size / 1e6:.0f} MB packed: bare parse of the plain bytes "
        f"{n_bare / bare_secs / 1e3:.0f} k/s, Reading of the file "
        f"{n_ours / our_secs / 1e3:.0f} k/s ({bare_secs / our_secs:.2f} of bare)"
    )
    return Figure(f"parse {path.name}", bare_secs / our_secs, "x bare parser")


def _tar(content: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo("dump.nt")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def _zip(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("dump.nt", content)
    return out.getvalue()


def _seven_zip(content: bytes) -> bytes:
    out = io.BytesIO()
    filters = [{"id": py7zr.FILTER_LZMA2, "preset": 1}]
    with py7zr.SevenZipFile(out, "w", filters=filters) as archive:
        archive.writestr(content, "dump.nt")
    return out.getvalue()


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=1),
    "zst": lambda data: bytes(zstd.compress(data)),
    "br": lambda data: bytes(brotli.compress(data, quality=5)),
    "lz4": lambda data: bytes(lz4.frame.compress(data)),
    "zip": _zip,
    "tar": _tar,
    "7z": _seven_zip,
    "tar.gz": lambda data: gzip.compress(_tar(data)),
    "zip.gz": lambda data: gzip.compress(_zip(data), 1),
}
BARE: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress,
    "bz2": bz2.decompress,
    "xz": lzma.decompress,
    "zst": zstd.decompress,
    "br": brotli.decompress,
    "lz4": lz4.frame.decompress,
    "zip": lambda data: zipfile.ZipFile(io.BytesIO(data)).read("dump.nt"),
}


def unpacking(extension: str, content: bytes) -> list[Figure]:
    """Return the rate of one packing, in units of its bare library if it has one."""
    packed = PACKINGS[extension](content)
    url = f"{URL}.nt.{extension}"

    def ours() -> int:
        decision = sniffing.decide("", url, packed[: formats.HEAD_BYTES])
        assert decision.packing is not None
        n_bytes = 0
        for each in iter_documents(
            ByteSource(packed),
            decision.packing,
            url=url,
            media_type="",
            limits=UnpackLimits(),
            scratch=MemoryScratch(2**28),
            log=FaultLog(),
            is_read=lambda *_: False,
        ):
            with each.source.open() as stream:
                while data := stream.read(2**17):
                    n_bytes += len(data)
        return n_bytes

    secs, n_bytes = min(_secs(ours) for _ in range(3))
    assert n_bytes == len(content)
    print(f"{extension}: {n_bytes / secs / 1e6:.0f} MB/s")
    if extension not in BARE:
        return []
    bare, _ = min(_secs(lambda: len(BARE[extension](packed))) for _ in range(3))
    return [Figure(f"unpack {extension}", bare / secs, "x bare library")]


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Return ratios to bare libraries and to the bare parser."""
    given = sys.argv[1:] if arguments is None else arguments
    n = int(given[0]) if given else 1_000_000
    content = b"".join(_lines("nt", n // 2))
    print(f"N-Triples, {len(content) / 1e6:.0f} MB, one core:")
    figures = [each for name in PACKINGS for each in unpacking(name, content)]
    with tempfile.TemporaryDirectory() as folder:
        figures += [dump(kind, n, Path(folder)) for kind in _FORMATS]
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak RSS {peak_mb:.0f} MB, the content to compare with included")
    return figures


if __name__ == "__main__":
    sys.exit(judge(main()))
