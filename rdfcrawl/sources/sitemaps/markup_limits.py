"""The limits of XML documents, apart from the tokenizer, which takes long to import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkupLimits:
    """Limits on an XML document, beyond which all is left out.

    `tag_chars` are of a tag or a DOCTYPE, `n_strays` are `<` without a tag,
    `text_chars` of the text between two tags. The protocol allows 50 MiB, not
    compressed.
    """

    n_bytes: int = 50 * 2**20
    text_chars: int = 2**20
    tag_chars: int = 2**16
    n_attributes: int = 64
    depth: int = 64
    n_strays: int = 100_000
    parse_secs: float = 10.0
