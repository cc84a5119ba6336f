"""Records of WARC and ARC files, parsed by warcio; damage between them is repaired.

Sources: The WARC Format 1.1 (IIPC), clause 4; Burner and Kahle, "Arc File Format"
(1996).
"""

from __future__ import annotations

import sys
from typing import Any, Final

from warcio.archiveiterator import ArchiveIterator

from rdfcrawl.downloader.warc.part import (
    MAX_LINE_BYTES,
    READ_BYTES,
    BadMember,
    FilePart,
    PackedRecords,
    begins_arc,
    begins_warc,
    without_version_2,
)

MAX_HEAD_BYTES: Final = 1024 * 1024  # of a record, including that of its message


class ArchiveRecords(ArchiveIterator):  # type: ignore[misc]  # it has no types
    """The records of a stream, of ARC if the first one is.

    Attributes:
        err_count: records that no empty line follows, which ARC does not demand.
    """

    INC_RECORD = ""  # warcio would print it to the terminal

    def __init__(self, stream: BoundedHeads) -> None:
        super().__init__(stream)
        self._is_arc = begins_arc(stream.first_line())
        self.known_format = "arc" if self._is_arc else "warc"
        load = self.loader.load_http_headers
        # warcio fails for a record without URI; it is skipped later.
        self.loader.load_http_headers = lambda kind, uri, *rest: load(
            kind, uri or "", *rest
        )
        parse = self.loader.arc_parser.parse
        self.loader.arc_parser.parse = lambda file, line=None: parse(
            file, without_version_2(line or file.readline())
        )

    def _consume_blanklines(self) -> tuple[Any, int]:
        """Return the first line of the next record, and the bytes before it.

        A line that begins a record ends the record before; warcio would skip it.
        """
        n_bytes, is_first = 0, True
        while line := self.reader.readline():
            if line.strip():
                is_next = begins_arc(line) if self._is_arc else begins_warc(line)
                self.err_count += is_first and not (is_next and self._is_arc)
                if is_next or not is_first:
                    return line, n_bytes
            n_bytes += len(line)
            is_first = False
        return None, n_bytes


class BoundedHeads:
    """A stream of records with bounded heads: warcio reads lines of any length.

    Args:
        stream: of the records, at the start of one.
    """

    def __init__(self, stream: FilePart | PackedRecords) -> None:
        self._stream = stream
        self._n_bytes = 0
        self._ahead = b""

    def first_line(self) -> bytes:
        """Return the first line, or its beginning; nothing is consumed."""
        while b"\n" not in self._ahead[:MAX_LINE_BYTES] and (
            content := self._stream.read()
        ):
            self._ahead += content
            if len(self._ahead) > MAX_LINE_BYTES:
                break
        line, end, _ = self._ahead[:MAX_LINE_BYTES].partition(b"\n")
        return line + end

    def rest(self) -> bytes:
        """Return the bytes that were read ahead."""
        ahead, self._ahead = self._ahead, b""
        return ahead

    def begin_head(self) -> None:
        """Note that the head of a record follows."""
        self._n_bytes = 0

    def end_head(self) -> None:
        """Note that a body of any length follows."""
        self._n_bytes = -sys.maxsize

    def tell(self) -> int:
        """Return the offset of the next byte, in an uncompressed file."""
        if not isinstance(self._stream, FilePart):
            return 0
        return self._stream.tell() - len(self._ahead)

    def read(self, n_bytes: int = READ_BYTES) -> bytes:
        """Return the next bytes.

        Raises:
            BadMember: the head has no end.
        """
        if self._ahead:
            content, self._ahead = self._ahead[:n_bytes], self._ahead[n_bytes:]
        else:
            content = self._stream.read(n_bytes)
        self._n_bytes += len(content)
        if self._n_bytes > MAX_HEAD_BYTES:
            raise BadMember(f"a head of more than {MAX_HEAD_BYTES} bytes")
        return content
