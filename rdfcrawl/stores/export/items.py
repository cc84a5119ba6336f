"""Items of an export: lines of JSON, a JSON array, or a table."""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from contextlib import closing, contextmanager
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import SourceFault
from rdfcrawl.rdf.items.building import DocumentItems, ItemRule
from rdfcrawl.rdf.items.description import MAX_STATEMENTS, Descriptions
from rdfcrawl.rdf.items.table import ItemTable
from rdfcrawl.rdf.serializing import packer
from rdfcrawl.rdf.text import gathered
from rdfcrawl.stores.export.plan import CSV
from rdfcrawl.stores.log.crawl_log import CrawlLog, iter_latest_documents
from rdfcrawl.stores.log.documents import DocumentPlace, read_places
from rdfcrawl.stores.scratch_table import scratch_table

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator

    import pyoxigraph as ox

    from rdfcrawl.stores.export.plan import FileFormat
    from rdfcrawl.stores.log.documents import LogDocument

TOO_LARGE: Final = "of a document that is too large for items"
_REMEMBERED: Final = 64  # documents whose statements are in memory
_PIECE_BYTES: Final = 2**20
_PLACES: Final = """
CREATE TABLE places (key BLOB PRIMARY KEY, segment TEXT, offset INTEGER,
    n_bytes INTEGER, ordinal INTEGER) WITHOUT ROWID
"""


def iter_item_lines(
    document: LogDocument,
    pieces: Iterable[bytes],
    rule: ItemRule,
    *,
    find: Callable[[str], Descriptions | None] | None,
    left_out: Counter[str],
    cut: Counter[str],
) -> Iterator[bytes]:
    """Yield the items of a document, a line of JSON each.

    Args:
        document: with the items.
        pieces: its statements.
        rule: for the items.
        find: of `OtherDocuments`.
        left_out: gets the statements of a document that is too large.
        cut: gets the items that lack something, by reason.
    """
    quads = _quads(pieces)
    try:
        known = Descriptions(quads, document.graph)
    except SourceFault:
        left_out[TOO_LARGE] += MAX_STATEMENTS + 1 + sum(1 for _ in quads)
        return
    items = DocumentItems(known, rule, find)
    for item in items:
        yield f"{json.dumps(item, ensure_ascii=False)}\n".encode()
    cut.update({str(reason): number for reason, number in items.cut.items()})


def _quads(pieces: Iterable[bytes]) -> Iterator[ox.Quad]:
    import pyoxigraph as ox  # noqa: PLC0415 (slow to import)

    return chain.from_iterable(
        ox.parse(piece, format=ox.RdfFormat.N_QUADS, lenient=True) for piece in pieces
    )


def write_items(
    pieces: Iterable[bytes],
    write: Callable[[bytes], object],
    file_format: FileFormat,
    scratch: Path | None,
) -> int:
    """Write lines of JSON as an array or as a table; return the number of items.

    Args:
        pieces: complete lines.
        write: writes bytes.
        file_format: of the file.
        scratch: folder of a temporary file.
    """
    pack, n_items = packer(file_format.packing), 0

    def lines() -> Iterator[bytes]:
        nonlocal n_items
        for line in chain.from_iterable(map(bytes.splitlines, pieces)):
            n_items += 1
            yield line

    written = _table(lines(), scratch) if file_format.name == CSV else _array(lines())
    # At least one piece, as a compressed file of nothing is not empty.
    for each in gathered(chain([b""], written), _PIECE_BYTES):
        write(pack(each))
    return n_items


def _array(lines: Iterable[bytes]) -> Iterator[bytes]:
    before = b"[\n"
    for line in lines:
        yield before + line
        before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"


def _table(lines: Iterable[bytes], scratch: Path | None) -> Iterator[bytes]:
    table = ItemTable(scratch)
    with closing(table):
        for line in lines:
            table.add(json.loads(line))
        yield from table.pieces()


class OtherDocuments:
    """The latest documents of a log by their URLs; see `other_documents`."""

    def __init__(self, places: sqlite3.Connection, folder: Path) -> None:
        self._places, self._folder = places, folder
        self._known: OrderedDict[str, Descriptions | SourceFault | None] = OrderedDict()

    def find(self, iri: str) -> Descriptions | None:
        """Return the statements of the document at an IRI, without its fragment.

        Raises:
            SourceFault: `TOO_LARGE`.
        """
        url = iri.partition("#")[0]
        if url not in self._known:
            self._known[url] = self._read(url)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(url)
        found = self._known[url]
        if isinstance(found, SourceFault):
            raise found
        return found

    def _read(self, url: str) -> Descriptions | SourceFault | None:
        query = "SELECT segment, offset, n_bytes, ordinal FROM places WHERE key = ?"
        row = self._places.execute(query, [_key(url)]).fetchone()
        if row is None:
            return None
        for _, document in read_places(self._folder, [DocumentPlace(*row)]):
            if document.graph == url:
                try:
                    return Descriptions(_quads(document.pieces()), url)
                except SourceFault as fault:
                    return fault
        return None


@contextmanager
def other_documents(log: CrawlLog, scratch: Path | None) -> Iterator[OtherDocuments]:
    """Yield the latest documents of a log.

    It reads the log, and writes some 100 bytes for each document to the scratch folder.

    Raises:
        OSError: a disk cannot be read, or is full.
    """
    with scratch_table(scratch, _PLACES) as places:
        places.executemany(
            "INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?)",
            (
                (_key(each.graph), *each.place)
                for each in iter_latest_documents(log, scratch=scratch)
                if not each.is_tombstone
            ),
        )
        yield OtherDocuments(places, log.root / "quads")


def _key(url: str) -> bytes:
    return blake2b(url.encode(), digest_size=16).digest()
