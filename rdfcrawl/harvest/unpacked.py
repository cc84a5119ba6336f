"""The bytes of an answer, out of what they are packed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl import formats
from rdfcrawl.bytesource import ByteSource, body_of
from rdfcrawl.unpack.documents import iter_documents
from rdfcrawl.unpack.limits import UnpackLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.faultlog import FaultLog
    from rdfcrawl.records import Document

_LIMITS = UnpackLimits(n_bytes=2**30, n_members=1000)


def iter_unpacked(document: Document, log: FaultLog) -> Iterator[ByteSource]:
    """Yield the files that an answer is or has; read one before the next.

    Args:
        document: with a body; without one there is nothing.
        log: takes what is wrong with an archive.
    """
    body = body_of(document.response)
    if body is None:
        return
    source = ByteSource.of(body)
    decision = formats.decide(document.media_type, document.url, source.head())
    if decision.packing is None:
        yield source
        return
    for packed in iter_documents(
        source,
        decision.packing,
        url=document.url,
        media_type=document.media_type,
        limits=_LIMITS,
        scratch=None,
        log=log,
        is_read=lambda *_: True,
    ):
        yield packed.source
