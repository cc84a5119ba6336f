"""Documents of 2 to 20 KB with blank nodes, lists and several languages.

The unit is the least that a program does with the bytes of the same documents: it
parses them, writes N-Quads and compresses these with Python's `gzip`. The same with
isal's fastest level, as in our log, is shown, too. The CPU of a crawl of one document,
which is that of its start and its end, is subtracted. Each is the median of rounds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import zlib
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

import pyoxigraph as ox
from isal import isal_zlib

from tests.bench.budgets import line
from tests.bench.documents.server import served
from tests.bench.documents.sites import linked_data
from tests.bench.figures import Figure, judge
from tests.bench.measured import crawl

if TYPE_CHECKING:
    from tests.bench.documents.server import Documents

_NAMES: Final = {
    "text/turtle": "Turtle",
    "application/rdf+xml": "RDF/XML",
    "application/ld+json": "JSON-LD",
}
_ROUNDS: Final = 5  # one differs from the next by a tenth
_WITHOUT: Final = ("-s", "FACTS=False", "-s", "LINKS_LOG=False")


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Return the lines of each syntax."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--a-host", type=int, default=100, help="documents of 20 hosts")
    options = parser.parse_args(arguments)
    shares, prices = [], []
    for media_type, name in _NAMES.items():
        with served(
            lambda port, kind=media_type: linked_data(  # type: ignore[misc]
                port, kind, a_host=options.a_host
            )
        ) as documents:
            bare, fastest, ours, without = _measure(documents, media_type)
        cells = f"{ours:.3f} ms", f"{bare:.3f} ms; {fastest:.3f} ms with isal"
        shares.append(line(f"{name} of 2 to 20 KB", ours / bare, *cells))
        cells = f"{ours:.3f} ms", f"{without:.3f} ms"
        prices.append(line(f"facts and links of {name}", ours / without, *cells))
        print(shares[-1], prices[-1], sep="\n", flush=True)
    return [*shares, *prices]


def _measure(documents: Documents, media_type: str) -> list[float]:
    """Return milliseconds per document, the medians of rounds in turns.

    Of the unit, of the unit with isal, of a crawl, of one without facts and links.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seeds, one = folder / "seeds.txt", folder / "one.txt"
        urls = [url for url in documents if url.endswith("/id/0")]
        seeds.write_text("\n".join(urls))
        one.write_text(urls[0])
        start = crawl(folder, one, "-a", "depth=0").cpu_secs
        rounds = [
            (
                *_bare_secs(documents, media_type),
                _crawl_secs(folder, seeds, len(documents)) - start,
                _crawl_secs(folder, seeds, len(documents), *_WITHOUT) - start,
            )
            for _ in range(_ROUNDS)
        ]
    return [median(secs) * 1000 / len(documents) for secs in zip(*rounds, strict=True)]


def _crawl_secs(folder: Path, seeds: Path, n_documents: int, *words: str) -> float:
    run = crawl(folder, seeds, "-a", "scope=host", *words)
    if run.n_documents != n_documents:
        print(f"crawled {run.n_documents} of {n_documents} documents")
    return run.cpu_secs


def _bare_secs(documents: Documents, media_type: str) -> tuple[float, float]:
    """Return seconds with `gzip`, and with isal's fastest level."""
    form = ox.RdfFormat.from_media_type(media_type)
    began = time.process_time()
    parts = []
    for url, (_, body) in documents.items():
        statements = ox.parse(body, format=form, base_iri=url)
        parts.append(ox.serialize(statements, format=ox.RdfFormat.N_QUADS) or b"")
    parsed = time.process_time() - began
    secs = []
    for compressor in (zlib.compressobj(9), isal_zlib.compressobj(1)):
        began = time.process_time()
        out = [compressor.compress(part) for part in parts]
        out.append(compressor.flush())
        secs.append(parsed + time.process_time() - began)
    return secs[0], secs[1]


if __name__ == "__main__":
    sys.exit(judge(main()))
