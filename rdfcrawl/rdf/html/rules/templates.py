"""Fill templates: `{url}#dataset`, `https://example.org/id/{id}`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

MAX_PLACES: Final = 50

PAGE_NAMES: Final = frozenset({"url", "base", "host", "path", "query", "label", "n"})

_PARTS = re.compile(r"\{\{|\}\}|\{(\+?)([A-Za-z_][A-Za-z0-9_]*)\}|[{}]|[^{}]+")
_RESERVED = ":/?#[]@!$&'()*+,;=%"  # RFC 6570 3.2.3: kept by "{+name}"


class WholeIri(str):
    """A value that is a whole IRI, and is not escaped."""

    __slots__ = ()


class UrlPart(str):
    """A part of a URL, which is escaped already."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """A text with places for values, each a name with or without `+`."""

    parts: tuple[str | tuple[str, bool], ...]

    @classmethod
    def parse(cls, text: str, names: Collection[str]) -> TextTemplate:
        """Parse a template that may use some names.

        `{name}` is a place, `{+name}` one that keeps the characters that separate the
        parts of a URL, `{{` and `}}` are braces.

        Raises:
            ValueError: a brace is alone, or a name is unknown.
        """
        parts: list[str | tuple[str, bool]] = []
        for found in _PARTS.finditer(text):
            if name := found[2]:
                if name not in names:
                    known = ", ".join(sorted(names))
                    raise ValueError(f"{{{name}}} is not known; there are {known}")
                parts.append((name, bool(found[1])))
            elif found[0] in {"{", "}"}:
                raise ValueError(f"a brace is written twice: {text!r}")
            else:
                parts.append({"{{": "{", "}}": "}"}.get(found[0], found[0]))
        if len(parts) > 2 * MAX_PLACES:
            raise ValueError(f"more than {MAX_PLACES} places")
        return cls(tuple(parts))

    @property
    def head(self) -> str:
        """Text before the first place."""
        return self.parts[0] if self.parts and isinstance(self.parts[0], str) else ""

    def with_head(self, head: str) -> TextTemplate:
        """Return the template with another text before the first place."""
        return TextTemplate((head, *self.parts[1:]))

    def fill(self, values: Mapping[str, str], *, is_iri: bool) -> str | None:
        """Return the text with values in the places; None if a value is missing.

        Source: RFC 6570, sections 3.2.2 and 3.2.3, for IRIs.
        """
        filled: list[str] = []
        for part in self.parts:
            if isinstance(part, str):
                filled.append(part)
                continue
            name, is_kept = part
            value = values.get(name)
            if not value:
                return None
            filled.append(_inserted(value, is_iri=is_iri, is_kept=is_kept))
        return "".join(filled)


def _inserted(value: str, *, is_iri: bool, is_kept: bool) -> str:
    if isinstance(value, UrlPart):
        return str(value) if is_iri else unquote(value)
    if isinstance(value, WholeIri) or not is_iri:
        return str(value)
    # UTF-8 has no surrogates.
    text = value.encode("utf-8", "replace").decode()
    return quote(text, safe=_RESERVED if is_kept else "")
