"""Writes HDT: statements as a file, sorted outside of memory where they are many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.faultlog import FaultLog
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
from rdfcrawl.rdf.hdt.intake import iter_triples
from rdfcrawl.rdf.hdt.numbering import DictionaryWriter
from rdfcrawl.rdf.hdt.runs import iter_runs
from rdfcrawl.rdf.hdt.spill import SpillFolder
from rdfcrawl.rdf.hdt.triples_writer import KeyCodec, TriplesWriter, sort_triples
from rdfcrawl.rdf.namespaces import HDT, RDF_TYPE, VOID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from rdfcrawl.errors import Fault
    from rdfcrawl.rdf.hdt.runs import SortedRun
    from rdfcrawl.rdf.hdt.sorting import Places

MEMORY_BYTES: Final = 256 * 2**20
_ORDER_SPO = "1"
_MAPPING = "1"  # as hdt-cpp writes; all readers number objects after shared terms


@dataclass(frozen=True, slots=True, kw_only=True)
class HdtReport:
    """What was written.

    Attributes:
        n_triples: different statements in the file.
        faults: statements left out; the names of graphs always are, and are not
            counted. `BAD_TERM` for what is no statement, or one about a triple term;
            `NUL_CHARACTER` for statements with U+0000 in a literal.
    """

    n_triples: int
    faults: tuple[Fault, ...]


def write_hdt(
    lines: Iterable[bytes],
    out: BinaryIO,
    *,
    base: str,
    temp_dir: Path | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> HdtReport:
    """Write statements as an HDT file; each stands there once.

    Args:
        lines: of N-Triples or N-Quads, or blocks of whole lines.
        out: only ever written to, in order, once all lines were taken.
        base: IRI of the dataset, which the header is about.
        temp_dir: where files without a name take what memory does not; about twice
            the size of the lines at worst.
        memory_bytes: about what is taken beside the interpreter and its libraries.

    Returns:
        What was written and what was not.

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
    """Yield the final numbers of the statements of a run by role."""
    s, p, o = run.columns()
    yield dictionary.resolve(s)
    yield p
    yield dictionary.resolve(o)


def _write(
    out: BinaryIO, base: str, dictionary: DictionaryWriter, triples: TriplesWriter
) -> None:
    header = _header(base, dictionary, triples.n_triples)
    out.write(ControlInformation(HdtPart.GLOBAL, GLOBAL_FORMAT).encode())
    length = {"length": str(len(header))}
    out.write(
        ControlInformation(HdtPart.HEADER, HEADER_FORMAT, length).encode() + header
    )
    sections = (
        *(dictionary.shared, dictionary.subjects),
        *(dictionary.predicates, dictionary.objects),
    )
    n_bytes = sum(section.string_bytes for section in sections)
    properties = {"mapping": _MAPPING, "sizeStrings": str(n_bytes)}
    out.write(
        ControlInformation(HdtPart.DICTIONARY, DICTIONARY_FORMAT, properties).encode()
    )
    dictionary.write(out)
    properties = {"numTriples": str(triples.n_triples), "order": _ORDER_SPO}
    out.write(ControlInformation(HdtPart.TRIPLES, TRIPLES_FORMAT, properties).encode())
    triples.write(out)


def _header(base: str, dictionary: DictionaryWriter, n_triples: int) -> bytes:
    """Return what the header says of the dataset, as N-Triples."""
    about = terms.iri(base)
    is_a = terms.iri(RDF_TYPE)
    counts = {
        "triples": n_triples,
        "properties": dictionary.counts["p"],
        "distinctSubjects": dictionary.counts["s"],
        "distinctObjects": dictionary.counts["o"],
    }
    lines = [
        terms.statement(about, is_a, terms.iri(HDT + "Dataset")),
        terms.statement(about, is_a, terms.iri(VOID + "Dataset")),
    ]
    for name, count in counts.items():
        count_term = terms.literal(str(count))
        lines.append(terms.statement(about, terms.iri(VOID + name), count_term))
    return "".join(lines).encode()
