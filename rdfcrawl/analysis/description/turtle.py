"""Write nodes with their properties in Turtle, one after another."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias

from rdfcrawl.core.namespaces import DCAT, DCTERMS, FOAF, RC, SPDX, VOID, XSD
from rdfcrawl.rdf.terms import iri, literal

if TYPE_CHECKING:
    from collections.abc import Iterable

# Predicate and object, as Turtle.
Properties: TypeAlias = "Iterable[tuple[str, str]]"

_PREFIXES: Final = {
    "dcat": DCAT,
    "dcterms": DCTERMS,
    "foaf": FOAF,
    "rc": RC,
    "spdx": SPDX,
    "void": VOID,
    "xsd": XSD,
}
PREFIXES: Final = "".join(
    f"@prefix {prefix}: <{namespace}> .\n" for prefix, namespace in _PREFIXES.items()
)


def node(subject: str, properties: Properties) -> str:
    """Return a node with its properties; consecutive equal predicates are grouped."""
    return f"\n{subject} {_listed(properties, '    ')} .\n"


def blank(properties: Properties) -> str:
    """Return an anonymous blank node, as an object."""
    return f"[ {' ; '.join(f'{name} {value}' for name, value in properties)} ]"


def _listed(properties: Properties, indent: str) -> str:
    groups = groupby(properties, itemgetter(0))
    return f" ;\n{indent}".join(
        f"{name} " + f" ,\n{indent}    ".join(value for _, value in values)
        for name, values in groups
    )


def text(value: str) -> str:
    """Return a literal."""
    return literal(value)


def resource(value: str) -> str:
    """Return an absolute or relative IRI."""
    return iri(value)


def moment(unix_ms: int) -> str:
    """Return a time, in seconds.

    >>> moment(0)
    '"1970-01-01T00:00:00Z"^^xsd:dateTime'
    """
    time = datetime.fromtimestamp(unix_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f'"{time}"^^xsd:dateTime'
