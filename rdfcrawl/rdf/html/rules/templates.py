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
_RESERVED = ":/?#[]@!$&'()*+,;=%"  # RFC 6570 3.2.3: not escaped in "{+name}"


class CompleteIri(str):
    """A complete IRI: not escaped."""

    __slots__ = ()


class UrlPart(str):
    """A part of a URL: already escaped."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """A text with placeholders, each a name with or without `+`."""

    parts: tuple[str | tuple[str, bool], ...]

    @classmethod
    def parse(cls, text: str, names: Collection[str]) -> TextTemplate:
        """Parse a template; only `names` are allowed.

        `{name}` is a placeholder, `{+name}` one that does not escape reserved
        characters, `{{` and `}}` are braces.

        Raises:
            ValueError: a single brace, or an unknown name.
        """
        parts: list[str | tuple[str, bool]] = []
        for found in _PARTS.finditer(text):
            if name := found[2]:
                if name not in names:
                    known = ", ".join(sorted(names))
                    raise ValueError(f"{{{name}}} is not known; there are {known}")
                parts.append((name, bool(found[1])))
            elif found[0] in {"{", "}"}:
                raise ValueError(f"a literal brace must be doubled: {text!r}")
            else:
                parts.append({"{{": "{", "}}": "}"}.get(found[0], found[0]))
        if len(parts) > 2 * MAX_PLACES:
            raise ValueError(f"more than {MAX_PLACES} places")
        return cls(tuple(parts))

    @property
    def head(self) -> str:
        """Text before the first placeholder."""
        return self.parts[0] if self.parts and isinstance(self.parts[0], str) else ""

    def with_head(self, head: str) -> TextTemplate:
        """Return the template with another text before the first placeholder."""
        return TextTemplate((head, *self.parts[1:]))

    def fill(self, values: Mapping[str, str], *, is_iri: bool) -> str | None:
        """Return the text with values filled in; None if a value is missing.

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
    if isinstance(value, CompleteIri) or not is_iri:
        return str(value)
    # UTF-8 has no surrogates.
    text = value.encode("utf-8", "replace").decode()
    return quote(text, safe=_RESERVED if is_kept else "")
