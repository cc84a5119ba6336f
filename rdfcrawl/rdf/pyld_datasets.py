"""Terms of pyoxigraph as PyLD has them in datasets."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox


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
