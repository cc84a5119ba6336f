"""How much of one XML document is read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkupLimits:
    """Bounds on one XML document.

    Attributes:
        n_bytes: bytes of the document that are read, not compressed. The protocol
            allows 50 MiB.
        text_chars: of the text between two tags; a longer one is left out.
        tag_chars: of a tag or a DOCTYPE.
        n_attributes: of one tag; the others are left out.
        depth: of elements; deeper ones are left out.
        n_strays: `<` that begin no tag; what comes behind that many is left out.
        parse_secs: of CPU; what comes later is left out.
    """

    n_bytes: int = 50 * 2**20
    text_chars: int = 2**20
    tag_chars: int = 2**16
    n_attributes: int = 64
    depth: int = 64
    n_strays: int = 100_000
    parse_secs: float = 10.0
