"""A document as a user's extractor gets it; see `docs/how-to/own-extractors.md`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from rdfcrawl.bytesource import ByteSource

MAX_CONTENT_BYTES: Final = 64 * 2**20  # in memory; a stream has all of them


class DocumentContent:
    """The bytes of one document, and what is known of them.

    Attributes:
        url: after redirects, without fragment.
        media_type: of the Content-Type, in lower case.
        charset: of the Content-Type, or empty.
        is_cut: `data` or `text` was used, and the document is longer.
    """

    def __init__(
        self, source: ByteSource, *, url: str, media_type: str, charset: str
    ) -> None:
        self._source = source
        self.url = url
        self.media_type = media_type
        self.charset = charset
        self.is_cut = False

    def open(self) -> BinaryIO:
        """Return all bytes as a stream; close it."""
        return self._source.open()

    @cached_property
    def data(self) -> bytes:
        """The bytes, at most the first 64 MiB."""
        with self.open() as stream:
            data = stream.read(MAX_CONTENT_BYTES + 1)
        self.is_cut = len(data) > MAX_CONTENT_BYTES
        return data[:MAX_CONTENT_BYTES]

    @cached_property
    def text(self) -> str:
        """The `data` decoded; UTF-8, if no other charset is declared or known."""
        try:
            return self.data.decode(self.charset or "utf-8-sig", "replace")
        except LookupError:
            return self.data.decode("utf-8-sig", "replace")
