"""Dumps: the same descriptions in each serialization, and packed in each way."""

from __future__ import annotations

import gzip
import random
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import py7zr

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf.hdt import write_hdt
from rdfcrawl.rdf.text import iter_line_blocks
from tests.bench.documents.resources import resource
from tests.bench.documents.writers import (
    write_n_quads,
    write_n_triples,
    write_rdf_xml,
    write_turtle,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.bench.documents.resources import Node

BASE: Final = "http://data.example.org/id/"
_A_GRAPH: Final = 50  # resources
WRITERS: Final[dict[str, Callable[[Iterable[Node]], Iterator[str]]]] = {
    ".nt": write_n_triples,
    ".ttl": write_turtle,
    ".rdf": write_rdf_xml,
}


def descriptions(n: int) -> Iterator[Node]:
    """Yield resources with labels, links, blank nodes, lists and long literals."""
    rng = random.Random(n)

    def link() -> str:
        return f"{BASE}{rng.randrange(n)}"

    return (resource(rng, f"{BASE}{number}", link) for number in range(n))


def write_dump(path: Path, n_resources: int, *, graphs: str) -> None:
    """Write a dump in the serialization of its suffix; about 16 statements each.

    Args:
        path: ends with `.nq` or a suffix of `WRITERS`.
        n_resources: described in it.
        graphs: begin of the names of graphs of N-Quads.
    """

    def graph_of(iri: str) -> str:
        return f"{graphs}{int(iri.removeprefix(BASE)) // _A_GRAPH}"

    nodes = descriptions(n_resources)
    with path.open("w", buffering=1 << 20) as file:
        if path.suffix == ".nq":
            file.writelines(write_n_quads(nodes, graph_of))
        else:
            file.writelines(WRITERS[path.suffix](nodes))


def pack(plain: Path, suffix: str) -> Path:
    """Return a new file with `.gz`, `.zip` or `.7z` behind the name of another one."""
    packed = plain.with_name(plain.name + suffix)
    if suffix == ".gz":
        packed.write_bytes(gzip.compress(plain.read_bytes(), 6))
    elif suffix == ".zip":
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(plain, plain.name)
    else:
        quick = [{"id": py7zr.FILTER_LZMA2, "preset": 1}]
        with py7zr.SevenZipFile(packed, "w", filters=quick) as archive:
            archive.write(plain, plain.name)
    return packed


def to_hdt(n_triples: Path) -> Path:
    """Return a new file with the statements of N-Triples as HDT."""
    packed = n_triples.with_suffix(".hdt")
    with n_triples.open("rb") as source, packed.open("wb") as out:
        blocks = iter_line_blocks(source.read, max_line_bytes=2**20, log=FaultLog())
        write_hdt(blocks, out, base=BASE, memory_bytes=256 * 2**20)
    return packed
