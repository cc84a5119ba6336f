"""Write statements as an HDT file, with external sorting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.core.namespaces import HDT, RDF_TYPE, VOID
from rdfcrawl.core.sorting import SpillFolder
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.graphs import check_iri
from rdfcrawl.rdf.hdt.control import (
    DICTIONARY_FORMAT,
    GLOBAL_FORMAT,
    HEADER_FORMAT,
    TRIPLES_FORMAT,
    ControlInformation,
    HdtPart,
)
from rdfcrawl.rdf.hdt.dictionary_writer import DictionaryWriter
from rdfcrawl.rdf.hdt.runs import iter_runs, iter_triples
from rdfcrawl.rdf.hdt.triples import KeyCodec, TriplesWriter, sort_triples

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from rdfcrawl.core.errors import Fault
    from rdfcrawl.rdf.hdt.runs import SortedRun
    from rdfcrawl.rdf.hdt.sorting import Places

MEMORY_BYTES: Final = 256 * 2**20
_ORDER_SPO = "1"
_MAPPING = "1"  # same as hdt-cpp; all readers number objects after shared terms


@dataclass(frozen=True, slots=True, kw_only=True)
class HdtReport:
    """Result of writing."""

    n_triples: int  # distinct statements in the file
    # of statements left out: `BAD_TERM` for lines that are not a statement or contain a
    # triple term; `NUL_CHARACTER` for U+0000 in a literal. Graph names are always
    # dropped, and not counted.
    faults: tuple[Fault, ...]


def write_hdt(
    lines: Iterable[bytes],
    out: BinaryIO,
    *,
    base: str,
    temp_dir: Path | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> HdtReport:
    """Write the distinct statements as an HDT file.

    Args:
        lines: of N-Triples or N-Quads, or blocks of complete lines.
        out: written in order, after all lines were consumed.
        base: IRI of the dataset, described in the header.
        temp_dir: for unnamed files, at most twice the size of the lines.
        memory_bytes: approximate use, without the interpreter and its libraries.

    Raises:
        SourceFault: the base is not an IRI, or the parser failed on more than a line.

    Source: https://www.rdfhdt.org/hdt-binary-format/
    """
    base = check_iri(base)
    log = FaultLog()
    with SpillFolder(temp_dir) as spills:
        spill = spills.new()
        runs = list(iter_runs(iter_triples(lines, log), spill, memory_bytes))
        dictionary = DictionaryWriter(runs, spills, memory_bytes)
        triples = TriplesWriter(dictionary.counts, spills)
        codec = KeyCodec(dictionary.counts)
        columns = (_columns(run, dictionary) for run in runs)
        for window in sort_triples(columns, codec, spill, memory_bytes):
            triples.add(window)
        _write(out, base, dictionary, triples)
    return HdtReport(n_triples=triples.n_triples, faults=tuple(log.all()))


def _columns(run: SortedRun, dictionary: DictionaryWriter) -> Iterator[Places]:
    """Yield the final numbers of the terms in the statements of a run, by role."""
    s, p, o = run.columns()
    yield dictionary.resolve(s)
    yield p
    yield dictionary.resolve(o)


def _write(
    out: BinaryIO, base: str, dictionary: DictionaryWriter, triples: TriplesWriter
) -> None:
    def begin(part: HdtPart, name: str, **properties: object) -> None:
        texts = {key: str(value) for key, value in properties.items()}
        out.write(ControlInformation(part, name, texts).encode())

    begin(HdtPart.GLOBAL, GLOBAL_FORMAT)
    header = _header(base, dictionary, triples.n_triples)
    begin(HdtPart.HEADER, HEADER_FORMAT, length=len(header))
    out.write(header)
    n_bytes = sum(section.string_bytes for section in dictionary.sections)
    begin(HdtPart.DICTIONARY, DICTIONARY_FORMAT, mapping=_MAPPING, sizeStrings=n_bytes)
    dictionary.write(out)
    n_triples = triples.n_triples
    begin(HdtPart.TRIPLES, TRIPLES_FORMAT, numTriples=n_triples, order=_ORDER_SPO)
    triples.write(out)


def _header(base: str, dictionary: DictionaryWriter, n_triples: int) -> bytes:
    """Return the description of the dataset as N-Triples."""
    about = terms.iri(base)
    is_a = terms.iri(RDF_TYPE)
    counts = {
        "triples": n_triples,
        "properties": dictionary.counts["p"],
        "distinctSubjects": dictionary.counts["s"],
        "distinctObjects": dictionary.counts["o"],
    }
    rows = [(is_a, terms.iri(HDT + "Dataset")), (is_a, terms.iri(VOID + "Dataset"))]
    rows += (
        (terms.iri(VOID + name), terms.literal(str(count)))
        for name, count in counts.items()
    )
    return "".join(terms.statement(about, *row) for row in rows).encode()
