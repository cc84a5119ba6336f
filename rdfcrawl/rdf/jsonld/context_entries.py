"""Right and wrong entries of JSON-LD contexts, and of definitions of terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

_PARTS: Final = {  # of a definition, by the error that it causes
    "invalid container mapping": "@container",
    "invalid type mapping": "@type",
    "invalid language mapping": "@language",
    "invalid base direction": "@direction",
    "invalid @nest value": "@nest",
    "invalid @prefix value": "@prefix",
    "invalid @protected value": "@protected",
    "invalid scoped context": "@context",
    "invalid reverse property": "@container @id @nest",
}
_ENTRIES: Final = frozenset(
    {"@id", "@type", "@reverse", "@container", "@language", "@direction", "@context"}
    | {"@index", "@nest", "@prefix", "@protected"}
)


def is_text(value: Any) -> bool:
    """Return whether a value is a string or null."""
    return value is None or isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_direction(value: Any) -> bool:
    """Return whether a value is a base direction or null."""
    return value in (None, "ltr", "rtl")


OF_CONTEXTS: Final[dict[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("@base", "@language", "@vocab"), is_text),
    **dict.fromkeys(("@propagate", "@protected"), _is_flag),
    "@direction": is_direction,
    "@import": lambda value: isinstance(value, str),
    "@version": lambda value: value == 1.1,
}


def is_context(value: Any) -> bool:
    """Return whether a value may be a context, a reference, or false."""
    return value is None or value is False or isinstance(value, str | dict | list)


def without_wrong_part(definition: Any, code: str) -> Any:
    """Return a definition without the part that causes an error; None if unknown."""
    if not isinstance(definition, dict):
        return None
    part = _PARTS.get(code, "")
    unknown: Iterable[str] = definition.keys() & part.split()
    if code == "invalid term definition":
        unknown = definition.keys() - _ENTRIES or {"@index", "@prefix"}
    kept = {key: definition[key] for key in definition if key not in unknown}
    if part == "@prefix":
        kept[part] = True
        return kept
    return kept if len(kept) < len(definition) else None


def has_several_values(element: Any) -> bool:
    """Return whether a value object has an array of values, and no JSON literal."""
    if not isinstance(element, dict) or not isinstance(element.get("@value"), list):
        return False
    return "@json" not in element.values()  # of `@type` or an alias


def can_take_key(value: Any, key: str) -> bool:
    """Return whether a value in a map can take its key, which is `@id` or another one.

    Literals have no `@id` and no `@type`; in a map by `@type`, strings are references.
    """
    if key not in ("@id", "@type"):
        return True
    if isinstance(value, dict):
        return value.keys().isdisjoint(("@value", "@list"))
    return not (isinstance(value, int | float) or (key == "@id" and is_text(value)))
