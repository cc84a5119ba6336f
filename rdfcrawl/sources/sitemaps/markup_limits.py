"""The limits of XML documents, separate from the tokenizer, which is slow to import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkupLimits:
    """Limits of an XML document; further content is skipped.

    `tag_chars` is for a tag or a DOCTYPE, `n_strays` counts `<` without a tag,
    `text_chars` is for the text between two tags. The protocol allows 50 MiB
    uncompressed.
    """

    n_bytes: int = 50 * 2**20
    text_chars: int = 2**20
    tag_chars: int = 2**16
    n_attributes: int = 64
    depth: int = 64
    n_strays: int = 100_000
    parse_secs: float = 10.0
