"""Read a document as text, in pieces, up to the first failure."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from rdfcrawl.core.errors import SourceFault
from rdfcrawl.rdf.text import Utf8Stream

if TYPE_CHECKING:
    from rdfcrawl.core.content import ByteSource
    from rdfcrawl.core.errors import FaultLog

PIECE_BYTES: Final = 64 * 1024


def iter_text(
    source: ByteSource,
    *,
    log: FaultLog,
    charset: str = "",
    n_bytes: int,
) -> Generator[str]:
    """Yield a document as text, in pieces of about `PIECE_BYTES`.

    An invalid byte sequence becomes `rdf.encoding.MARK`. The fault of a failing source
    is logged, and ends the text.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        file: Any = _UpToFault(source.open(), log)
    except SourceFault as error:
        log.note(error.fault.reason, error.fault.detail)
        return
    with Utf8Stream(
        file, charset=charset, is_xml=True, max_bytes=n_bytes, log=log
    ) as stream:
        while piece := stream.read(PIECE_BYTES):
            yield decoder.decode(piece)


class _UpToFault:
    """A file that ends at the first read failure."""

    def __init__(self, file: BinaryIO, log: FaultLog) -> None:
        self._file, self._log = file, log
        self._read: Callable[[int], bytes] = getattr(file, "read1", file.read)
        self._is_over = False
        self.close = file.close

    def read(self, size: int) -> bytes:
        parts, left = [], size
        while left > 0 and not self._is_over:
            try:
                part = self._read(left)
            except SourceFault as error:
                self._log.note(error.fault.reason, error.fault.detail)
                part = b""
            self._is_over = not part
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
