"""Read old N3, and RDF/XML from before 2004, with rdflib.

rdflib is thirty times slower than the parser, keeps everything in memory, takes
quadratic time for some texts and recurses: it only reads small documents, in a bounded
process.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final
from xml.parsers import expat

from rdfcrawl.core import formats
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import RDF
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.n3 import has_logic

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ReaderContext

# RDF/XML section 6.1.4: attributes that may lack a namespace.
_OLD_ATTRIBUTES: Final = frozenset({"ID", "about", "resource", "parseType", "type"})
_PARSE_TYPE: Final = f"{RDF} parseType"
_NAMES: Final = {formats.N3: "n3", formats.RDF_XML: "xml"}


def is_worth_trying(document: bytes, document_format: formats.Format) -> bool:
    """Return whether rdflib may read a document that the parser refused.

    These are N3 without logic, for the older syntax, and RDF/XML with attributes
    without namespace.
    """
    if document_format is formats.N3:
        return not has_logic(document)
    return document_format is formats.RDF_XML and _is_old_rdf_xml(document)


def read_with_rdflib(
    document: bytes,
    document_format: formats.Format,
    *,
    base: str,
    environment: ReaderContext,
    log: FaultLog,
) -> list[str]:
    """Return the statements of N3 or RDF/XML, unchecked, in no particular order.

    Statements with a variable or formula are logged as `N3_FORMULA` and left out.

    Raises:
        NeedsSandbox: the process is not bounded.
        ValueError: rdflib also refuses the document; the message has the reason.
    """
    import logging  # noqa: PLC0415 (a child has no log, and starts for each crawl)

    environment.demand_bounds("rdflib")
    import rdflib  # noqa: PLC0415 (takes 0.2 s, and few documents need it)

    rdflib.NORMALIZE_LITERALS = False  # keeps "01"^^xsd:integer unchanged
    logging.getLogger("rdflib").setLevel(logging.CRITICAL)
    graph = rdflib.Graph()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            graph.parse(data=document, format=_NAMES[document_format], publicID=base)
        except MemoryError:
            raise
        except Exception as error:  # rdflib raises any class
            raise ValueError(f"{type(error).__name__}: {error}") from error
    return list(_lines(graph, log))


def _lines(graph: Any, log: FaultLog) -> Iterator[str]:
    for triple in graph:
        subject, predicate, obj = map(_term, triple)
        if subject and predicate and obj:
            yield terms.statement(subject, predicate, obj)
        else:
            log.note(Reason.N3_FORMULA, "variables are not allowed in regular RDF")


def _term(term: Any) -> str:
    """Return an rdflib term in N-Quads form; empty if not RDF."""
    match type(term).__name__:
        case "URIRef":
            return terms.iri(str(term))
        case "BNode":
            return terms.blank(str(term))
        case "Literal":
            datatype = str(term.datatype or "")
            language = term.language or ""
            return terms.literal(
                str(term), datatype="" if language else datatype, language=language
            )
    return ""


def _is_old_rdf_xml(document: bytes) -> bool:
    """Return whether XML is RDF/XML except for old attributes without namespace.

    rdflib would make properties of all other names without namespace. XML literals are
    refused: rdflib takes 4 s for 1,000 elements in one, and 75 s for 4,000.
    """
    parser = expat.ParserCreate("utf-8", " ")
    is_old = True

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal is_old
        bare = {each for each in attributes if " " not in each}
        kinds = {attributes.get("parseType"), attributes.get(_PARSE_TYPE)}
        is_old = (
            is_old
            and " " in name
            and bare <= _OLD_ATTRIBUTES
            and kinds <= {None, "Resource", "Collection"}
        )

    parser.StartElementHandler = start
    try:
        parser.Parse(document, True)
    except expat.ExpatError:
        return False
    return is_old
