"""Records of WARC and ARC files, parsed by warcio; damage between them is repaired.

Sources: The WARC Format 1.1 (IIPC), clause 4; Burner and Kahle, "Arc File Format"
(1996).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warcio.archiveiterator import ArchiveIterator

from rdfcrawl.downloader.warc.part import begins_arc, begins_warc

if TYPE_CHECKING:
    from rdfcrawl.downloader.warc.captures import BoundedHeads


class ArchiveRecords(ArchiveIterator):
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
