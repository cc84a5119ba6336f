"""Terms of pyoxigraph as PyLD has them in datasets; a warning of those it has not."""

from __future__ import annotations

import logging
from typing import Any

import pyoxigraph as ox

from rdfcrawl.core.messages import counted

logger = logging.getLogger(__name__)


def pyld_term(term: Any) -> dict[str, str] | None:
    """Return a term of a dataset; None for a triple term, which PyLD has not."""
    if isinstance(term, ox.NamedNode):
        return {"type": "IRI", "value": term.value}
    if isinstance(term, ox.BlankNode):
        return {"type": "blank node", "value": f"_:{term.value}"}
    if isinstance(term, ox.Triple):
        return None
    found = {"type": "literal", "value": term.value, "datatype": term.datatype.value}
    return found | ({"language": term.language} if term.language else {})


def pyld_statement(quad: ox.Quad) -> dict[str, dict[str, str]] | None:
    """Return a statement of a dataset; None if it has a triple term."""
    obj = pyld_term(quad.object)
    subject, predicate = pyld_term(quad.subject), pyld_term(quad.predicate)
    if obj is None or subject is None or predicate is None:
        return None
    return {"subject": subject, "predicate": predicate, "object": obj}


def warn_of_triple_terms(n_left_out: int, target: str) -> None:
    """Log the number of statements with triple terms, which a library does not have."""
    if n_left_out:
        count = counted(
            n_left_out,
            "statement with a triple term is",
            "statements with triple terms are",
        )
        logger.warning("%s left out: %s cannot express them", count, target)
