"""Literals as values of JSON."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.namespaces import XSD
from rdfcrawl.rdf.items.names import canonical_iri, short_name

if TYPE_CHECKING:
    import pyoxigraph as ox

_INTEGERS: Final = frozenset(
    f"{XSD}{name}"
    for name in (
        *("integer", "long", "int", "short", "byte", "nonNegativeInteger"),
        *("positiveInteger", "nonPositiveInteger", "negativeInteger"),
        *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
    )
)
_DECIMAL: Final = f"{XSD}decimal"
_DOUBLES: Final = frozenset({f"{XSD}double", f"{XSD}float"})
_BOOLEAN: Final = f"{XSD}boolean"
_STRING: Final = f"{XSD}string"
_TRUTH: Final = {"true": True, "1": True, "false": False, "0": False}
_MAX_DIGITS: Final = 15  # those of a decimal number that each double keeps
_MAX_EXACT: Final = 2**53  # integers that each double keeps (RFC 8259 6)
_is_term = re.compile(r"https://schema\.org/[A-Za-z0-9]{1,100}").fullmatch
_is_integer = re.compile(r"[+-]?[0-9]{1,18}").fullmatch
_is_number = re.compile(
    r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?"
).fullmatch


def plain_value(literal: ox.Literal) -> str | bool | float:
    """Return a literal as text, number or boolean, without its language.

    Text has no white space around it. The IRI of a term of schema.org is that of the
    term also as text, which JSON-LD has in place of many IRIs.
    A number that JSON cannot express exactly stays text, as the document has it.
    Numbers that are equal have the same value, whatever their datatypes.
    """
    datatype = literal.datatype.value
    text: str = literal.value.strip()
    found: str | bool | float | None = None
    if literal.language or datatype == _STRING:
        return canonical_iri(text) if _is_term(text) else text
    if datatype == _BOOLEAN:
        found = _TRUTH.get(text)
    elif datatype in _INTEGERS:
        found = int(text) if _is_integer(text) else None
    elif datatype in _DOUBLES or datatype == _DECIMAL:
        found = _real(text, is_decimal=datatype == _DECIMAL)
    return text if found is None else found


def _real(text: str, *, is_decimal: bool) -> float | None:
    if not _is_number(text):  # also INF and NaN, which JSON has not
        return None
    if is_decimal and len(text.strip("+-0.").replace(".", "")) > _MAX_DIGITS:
        return None
    number = float(text)
    if not math.isfinite(number):
        return None
    is_whole = number.is_integer() and abs(number) <= _MAX_EXACT
    return int(number) if is_whole else number


def full_value(literal: ox.Literal) -> str | dict[str, Any]:
    """Return a literal with its language or datatype, as in expanded JSON-LD."""
    if literal.language:
        found = {"@value": literal.value, "@language": literal.language}
        if literal.direction is not None:
            found["@direction"] = str(literal.direction)
        return found
    datatype = literal.datatype.value
    if datatype == _STRING:
        text: str = literal.value
        return text
    return {"@value": literal.value, "@type": short_name(datatype)}
