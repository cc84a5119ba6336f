"""Screens XML for entity declarations that grow or reach out.

The RDF/XML parser expands internal entities, wherever in the document they are
declared. Ontologies use them to shorten namespaces, so declarations that only name
a short text are let through and all others refused before the parser sees them.
"""

from __future__ import annotations

import re

from rdfcrawl.errors import Reason, SourceFault

MAX_VALUE_BYTES = 1024
MAX_ALL_VALUES_BYTES = 64 * 1024
_MAX_DECLARATION_BYTES = 2 * MAX_VALUE_BYTES

_ENTITY = b"<!ENTITY"
_PLAIN_ENTITY = re.compile(
    rb"<!ENTITY\s+(?P<name>[^\s%\"'<>&;]+)\s+"
    rb"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')\s*>"
)
# Predefined entities and characters (XML 1.0 section 4.6) do not grow.
_REFERENCE = re.compile(rb"&(?!(?:lt|gt|amp|apos|quot|#\d{1,7}|#x[0-9A-Fa-f]{1,6});)")


class EntityScreen:
    """Passes XML on block by block; `SourceFault` for a dangerous declaration."""

    def __init__(self) -> None:
        self._rest = b""
        self._n_bytes = 0

    def feed(self, block: bytes, is_last: bool) -> bytes:
        """Return what may be parsed of the blocks so far.

        Raises:
            SourceFault: `ENTITY_EXPANSION`, for an entity that is external, a
                parameter entity, made of other entities, or too long.
        """
        block, self._rest = self._rest + block, b""
        if not is_last:
            start = block.rfind(b"<")
            if start >= 0 and len(block) - start <= _MAX_DECLARATION_BYTES:
                block, self._rest = block[:start], block[start:]
        return self._check(block) if _ENTITY in block else block

    def _check(self, block: bytes) -> bytes:
        parts: list[bytes] = []
        done = 0
        while (start := block.find(_ENTITY, done)) >= 0:
            match = _PLAIN_ENTITY.match(block, start, start + _MAX_DECLARATION_BYTES)
            if match is None:
                raise _refusal("it is external, too long or a parameter entity")
            parts += block[done:start], self._declare(match)
            done = match.end()
        parts.append(block[done:])
        return b"".join(parts)

    def _declare(self, match: re.Match[bytes]) -> bytes:
        value = match["double"] if match["single"] is None else match["single"]
        self._n_bytes += len(value)
        if _REFERENCE.search(value):
            raise _refusal("it is made of other entities")
        if len(value) > MAX_VALUE_BYTES or self._n_bytes > MAX_ALL_VALUES_BYTES:
            raise _refusal("it is too long")
        # The parser knows double quotes only.
        return b'<!ENTITY %s "%s">' % (match["name"], value.replace(b'"', b"&#34;"))


def _refusal(why: str) -> SourceFault:
    return SourceFault(Reason.ENTITY_EXPANSION, f"entity declaration refused: {why}")
