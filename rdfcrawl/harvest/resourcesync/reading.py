"""Which resources are read as RDF; the others are described."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl import formats

if TYPE_CHECKING:
    from rdfcrawl.records import Document


def is_rdf(document: Document, head: bytes) -> bool:
    """Tell whether a resource is of a format that is read, or may be packed in one.

    Args:
        document: with media type and URL.
        head: first bytes of the resource.
    """
    decision = formats.decide(document.media_type, document.url, head)
    return decision.format is not None or decision.packing is not None
