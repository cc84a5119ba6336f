"""Read old N3 with rdflib.

rdflib is thirty times slower than the parser, keeps everything in memory, takes
quadratic time for some texts and recurses: it only reads small documents, in a bounded
process.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf import terms

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ReaderContext


def read_with_rdflib(
    document: bytes, *, base: str, environment: ReaderContext, log: FaultLog
) -> list[str]:
    """Return the statements of N3, unchecked, in no particular order.

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
            graph.parse(data=document, format="n3", publicID=base)
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
