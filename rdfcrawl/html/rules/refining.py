"""Take the steps from a selected text to the text of a term."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.html.rules.names import resolved
from rdfcrawl.html.rules.selectors import JsonValue
from rdfcrawl.html.rules.texts import collapsed
from rdfcrawl.rdf.namespaces import XSD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rdfcrawl.html.rules.model import ValueRule
    from rdfcrawl.html.rules.selectors import Found

# An expression may go over a text once for each of its characters.
MAX_PATTERN_TEXT_CHARS: Final = 10_000


def refined(
    value: ValueRule, raw: str, *, values: Mapping[str, str], base: str
) -> Iterator[str]:
    """Yield the texts made of a raw one, which is empty for a value without selector.

    `values` are for templates; IRIs are resolved against `base`.
    """
    for piece in raw.split(value.split) if value.split else (raw,):
        text = piece if value.keeps_space else collapsed(piece)
        if (text or value.selector is None) and (
            text := _refined(value, text, values, base)
        ):
            yield text


def _refined(value: ValueRule, text: str, values: Mapping[str, str], base: str) -> str:
    if value.pattern is not None:
        match = value.pattern.search(text, 0, MAX_PATTERN_TEXT_CHARS)
        if match is None:
            return ""
        values = {**values, **match.groupdict("")}
        text = (match[1] if match.re.groups else match[0]) or ""
    if value.mapping is not None:
        text = value.mapping.get(text, "")
    if value.template is not None:
        values = {**values, "value": text}
        text = value.template.fill(values, is_iri=value.is_iri) or ""
    return resolved(text, base) if value.is_iri else text


def datatype_of(value: ValueRule, found: Found | None) -> str:
    """Return the datatype of a literal; numbers of JSON have their own."""
    if value.datatype or value.language or not value.is_plain:
        return value.datatype
    if not isinstance(found, JsonValue):
        return ""
    if isinstance(found.value, bool):
        return XSD + "boolean"
    if isinstance(found.value, int):
        return XSD + "integer"
    return XSD + "double" if isinstance(found.value, float) else ""
