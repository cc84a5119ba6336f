"""Write one body into the spool: in memory, or into a file if it is long."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar, dataclass, field
from io import RawIOBase
from pathlib import Path

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.downloader.client import HttpResponse, RequestOptions, UnreadBody
from rdfcrawl.downloader.parts import PartFacts, PartialBody, remove_facts, write_facts
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.watch import WatchedTransfer
from rdfcrawl.uri import host_of


@dataclass(slots=True, eq=False)
class SpoolSink:
    """Writer of one body, within the limits of a request; `keep` or `discard` it.

    With `facts`, a truncated body becomes a part; with `part`, the body continues that
    part.

    Raises:
        SourceFault: there is no room for the part.
    """

    _spool: Spool
    _options: RequestOptions
    _url: str = ""
    n_expected: int = 0  # length of the body; 0 if unknown
    _: KW_ONLY
    facts: PartFacts | None = None
    part: InitVar[PartialBody | None] = None
    is_copy: bool = False  # exempt from limits, so that it does not displace the body
    _host: str = ""
    _n_taken: int = 0  # bytes reserved in the spool
    _n_written: int = 0  # bytes in the file
    _pieces: list[bytes] = field(default_factory=list)
    _n_held: int = 0
    _file: RawIOBase | None = None
    path: Path | None = None  # of the file
    n_bytes: int = 0  # written so far

    def __post_init__(self, part: PartialBody | None) -> None:
        if part is not None:
            self._resume(part)

    def write(self, piece: bytes) -> None:
        """Add `piece`.

        Raises:
            SourceFault: `TOO_LARGE`: the body is truncated at the limit; `INTERNAL`:
                the disk is full or broken.
            UnreadBody: no parser reads such a body.
            NoRoom: there is no room now.
        """
        if not self.n_bytes and self._options.unread is not None:
            self._options.unread.check_begin(self._url, piece)
        room = self._options.max_bytes - self.n_bytes
        is_over = len(piece) > room
        if is_over:
            piece = piece[:room]
        self.n_bytes += len(piece)
        is_short = self._file is None and self.n_bytes <= self._options.spool_bytes
        if is_short and self._spool.has_room(len(piece)):
            self._pieces.append(piece)
            self._n_held += len(piece)
            self._spool.memory_bytes += len(piece)
        else:
            self._write_file(piece)
        if is_over:
            raise SourceFault(
                Reason.TOO_LARGE, f"over {counted(self._options.max_bytes, 'byte')}"
            )

    def held(self) -> bytes:
        """Return the content in memory."""
        return b"".join(self._pieces)

    def keep(self, response: HttpResponse) -> None:
        """Close the body and hand it to `response`."""
        response.n_bytes = self.n_bytes
        if self._file is None:
            pieces = self._pieces
            response.body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        else:
            self._file.close()
            response.path = self.path
            if self.path is not None and not self.is_copy:
                self._spool.keep(self.path, self._host, self._n_taken)
                self._n_taken = 0
        self._return_taken()

    def discard(self) -> None:
        """Discard the body."""
        self._spool.memory_bytes -= self._n_held
        self._n_held = 0
        self._pieces.clear()
        if self._file is not None and self.path is not None:
            self._file.close()
            self.path.unlink(missing_ok=True)
            remove_facts(self.path)
        self._return_taken()

    def end_early(
        self, response: HttpResponse, transfer: WatchedTransfer, exc: BaseException
    ) -> None:
        """Pass the received bytes to `response`; discard them if the visit was cut.

        `exc` is the visit's own cancellation, unless the watchdog cancelled `transfer`.
        """
        if isinstance(exc, UnreadBody):
            self.discard()
        elif isinstance(exc, Exception) or transfer.verdict is not None:
            self.keep(response)
            response.is_partial = self.n_bytes > 0
        else:
            self.discard()

    def _resume(self, part: PartialBody) -> None:
        self._host = host_of(self._url)
        self.path = part.path
        self.facts = part.facts
        self.n_bytes = self._n_written = part.n_bytes
        try:
            self._file = part.path.open("r+b", buffering=0)
            self._file.seek(part.n_bytes)
            write_facts(part.path, part.facts)
            self._take(self._spool.room_for(max(part.n_bytes, self.n_expected)))
        except BaseException:
            self.discard()
            raise

    def keep_part(self) -> bool:
        """Keep the bytes received so far as a part; return whether that succeeded."""
        if self._file is None or self.path is None or self.facts is None:
            return False
        is_kept = self._spool.keep_part(self.path, self.facts)
        if is_kept:
            self._return_taken()  # it counts as a part
        return is_kept

    def forget_part(self) -> None:
        """Note that the body cannot become a part: no request could resume it."""
        self.facts = None
        if self.path is not None:
            remove_facts(self.path)

    def _write_file(self, piece: bytes) -> None:
        try:
            if self._file is None:
                self._file = self._open_file()
            n_bytes = self._n_written + len(piece)
            if n_bytes > self._n_taken:
                self._take(n_bytes - self._n_taken)
            _write_all(self._file, piece)
            self._n_written = n_bytes
        except OSError as exc:
            raise SourceFault(Reason.INTERNAL, f"spool: {exc.strerror}") from exc

    def _open_file(self) -> RawIOBase:
        """Create a file with the content in memory."""
        self._host = host_of(self._url) if self._url else ""
        n_bytes = max(self._n_held, min(self.n_expected, self._options.max_bytes))
        self._take(self._spool.room_for(n_bytes))
        self.path = self._spool.new_path()
        # Unbuffered: pieces are large, and closing must not fail.
        file = self.path.open("xb", buffering=0)
        if self.facts is not None:
            write_facts(self.path, self.facts)
        held = b"".join(self._pieces)
        self._pieces.clear()
        self._spool.memory_bytes -= self._n_held
        self._n_held = 0
        self._file = file
        _write_all(file, held)
        self._n_written = len(held)
        return file

    def _return_taken(self) -> None:
        if self._n_taken and not self.is_copy:
            self._spool.give_back(self._host, self._n_taken)
        self._n_taken = 0

    def _take(self, n_bytes: int) -> None:
        if self.is_copy:
            self._spool.look_at_disk(n_bytes, self._n_taken)
        else:
            self._spool.take(self._host, n_bytes, own_bytes=self._n_taken)
        self._n_taken += n_bytes


def _write_all(file: RawIOBase, octets: bytes) -> None:
    """Write all of `octets`; a raw file may accept only a part at a time."""
    rest = memoryview(octets)
    while rest:
        rest = rest[file.write(rest) or 0 :]
