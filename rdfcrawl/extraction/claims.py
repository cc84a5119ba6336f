"""Which extractor of the user's reads a document that is no page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rdfcrawl import formats
from rdfcrawl.unpack.members import ARCHIVES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfcrawl.formats import DecidedBy, FormatDecision
    from rdfcrawl.html.extractors import CustomExtractor


class ExtractorClaim(NamedTuple):
    """An extractor, and what told that the document is for it."""

    extractor: CustomExtractor
    decided_by: DecidedBy


def claim(
    custom: Iterable[CustomExtractor],
    *,
    media_type: str,
    name: str,
    head: bytes,
    decision: FormatDecision,
) -> ExtractorClaim | None:
    """Return the extractor that a document is for; None leaves it to ours.

    The media type tells first, then the extension, then the first bytes. The latter
    two count where the document is in none of our formats; a `magic` that does not fit
    always excludes.

    Args:
        custom: all extractors of the user's.
        media_type: of the Content-Type, or empty.
        name: URL, or file name in an archive.
        head: first bytes.
        decision: what we take the document for.
    """
    essence = media_type.partition(";")[0].strip().lower()
    fitting = [
        each
        for each in custom
        if not each.reads_pages
        and (each.begins(head) if each.magic else not _is_compressed(decision))
    ]
    for each in fitting:
        if each.name == essence:
            return ExtractorClaim(each, "content-type")
    if not fitting or _is_ours(decision, head):
        return None
    file_name = formats.file_name(name)
    for each in fitting:
        # What begins so is what macOS knows of a file of this name.
        if file_name.endswith(each.name) and not file_name.startswith("._"):
            return ExtractorClaim(each, "extension")
    if decision.packing is None:
        for each in fitting:
            if each.magic:
                return ExtractorClaim(each, "content")
    return None


def _is_compressed(decision: FormatDecision) -> bool:
    """Tell whether the document is to be decompressed before it is read."""
    return decision.packing is not None and decision.packing not in ARCHIVES


def _is_ours(decision: FormatDecision, head: bytes) -> bool:
    """Tell whether it is in a format of ours; a page by the look of it, too."""
    if decision.format is formats.HTML and decision.decided_by == "content-type":
        # Servers call whatever they do not know a page.
        return formats.decide("", "", head).format is formats.HTML
    return decision.format is not None
