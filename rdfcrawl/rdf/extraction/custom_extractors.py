"""Select the custom extractor for a document, and wrap the document for it.

See `docs/how-to/own-extractors.md`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from rdfcrawl.core import formats
from rdfcrawl.core.content import BUFFER_BYTES, ByteSource, PulledStream
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.unpack.members import ARCHIVES

if TYPE_CHECKING:
    from rdfcrawl.core.formats import DecidedBy, FormatDecision
    from rdfcrawl.rdf.html.extractors import CustomExtractor

MAX_CONTENT_BYTES: Final = 64 * 2**20  # in memory; a stream has no limit


class ExtractorClaim(NamedTuple):
    """An extractor for a document, and the criterion of its selection."""

    extractor: CustomExtractor
    decided_by: DecidedBy


def claim(
    custom: Sequence[CustomExtractor],
    source: ByteSource,
    decision: FormatDecision,
    *,
    media_type: str,
    name: str,
) -> ExtractorClaim | None:
    """Return the custom extractor for a document that is not a page; None if built-in.

    The media type selects first, then the extension, then the first bytes. The latter
    two only count if the document is in no built-in format; another `magic` always
    excludes.

    Args:
        custom: all custom extractors.
        source: the document.
        decision: on the format, among built-in ones.
        media_type: of the Content-Type, or empty.
        name: URL, or file name in an archive.
    """
    head = source.head()
    essence = media_type.partition(";")[0].strip().lower()
    fitting = [
        each
        for each in custom
        if not each.reads_pages
        and (each.begins(head) if each.magic else decision.packing in (None, *ARCHIVES))
    ]
    for each in fitting:
        if each.name == essence:
            return ExtractorClaim(each, "content-type")
    if not fitting or _is_ours(decision, head):
        return None
    file_name = formats.file_name(name)
    for each in fitting:
        # The prefix `._` marks macOS metadata.
        if file_name.endswith(each.name) and not file_name.startswith("._"):
            return ExtractorClaim(each, "extension")
    if decision.packing is None:
        for each in fitting:
            if each.magic:
                return ExtractorClaim(each, "content")
    return None


def _is_ours(decision: FormatDecision, head: bytes) -> bool:
    """Return whether a document has a built-in format; check declared pages."""
    if decision.format is formats.HTML and decision.decided_by == "content-type":
        # Servers declare unknown formats as HTML.
        return sniffing.decide("", "", head).format is formats.HTML
    return decision.format is not None


@dataclass(eq=False)
class DocumentContent:
    """The bytes of one document, with metadata.

    Attributes:
        url: after redirects, without fragment.
        media_type: of the Content-Type, in lower case.
        charset: of the Content-Type, or empty.
        is_cut: `data` or `text` was used, and the document is longer.
    """

    _source: ByteSource
    _note_read: Callable[[int], object]
    _: KW_ONLY
    url: str
    media_type: str
    charset: str
    is_cut: bool = field(default=False, init=False)
    _n_read: int = field(default=0, init=False)

    def open(self) -> BinaryIO:
        """Open all bytes as a stream."""
        counted: Any = _CountedStream(self._source.open(), self._note_place)
        return io.BufferedReader(counted, BUFFER_BYTES)

    @cached_property
    def data(self) -> bytes:
        """The bytes, at most the first 64 MiB."""
        with self.open() as stream:
            data = stream.read(MAX_CONTENT_BYTES + 1)
        self.is_cut = len(data) > MAX_CONTENT_BYTES
        return data[:MAX_CONTENT_BYTES]

    @cached_property
    def text(self) -> str:
        """The `data` decoded; UTF-8 if no other charset is declared or known."""
        try:
            return self.data.decode(self.charset or "utf-8-sig", "replace")
        except LookupError:
            return self.data.decode("utf-8-sig", "replace")

    def _note_place(self, n_bytes: int) -> None:
        """Report the bytes that were read for the first time."""
        if n_bytes > self._n_read:
            self._note_read(n_bytes - self._n_read)
            self._n_read = n_bytes


class _CountedStream(PulledStream):
    """Stream that reports its read position."""

    _file: BinaryIO

    def __init__(self, file: BinaryIO, note: Callable[[int], None]) -> None:
        self._file, self._note = file, note
        self._n = 0

    def seekable(self) -> bool:
        return self._file.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._n = self._file.seek(offset, whence)
        return self._n

    def _pull(self, n_bytes: int) -> bytes:
        data = self._file.read(n_bytes)
        self._n += len(data)
        self._note(self._n)
        return data
