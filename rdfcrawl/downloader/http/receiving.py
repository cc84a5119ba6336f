"""Receive the body of one response into the spool: decode it, or resume a part.

An interrupted body is kept as a part, as sent, if the server supports ranges; the next
request resumes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from multidict import CIMultiDict, MultiMapping

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.downloader.http.bodies import BodyReader
from rdfcrawl.downloader.http.parsing import MAX_LENGTH_DIGITS, ReceivedHead
from rdfcrawl.downloader.network_faults import BodyCut, ConnectionFailure
from rdfcrawl.downloader.parts import PartialBody, UnfitPart, check_rest, facts_of
from rdfcrawl.downloader.spool_sink import SpoolSink

if TYPE_CHECKING:
    from rdfcrawl.downloader.client import HttpResponse, RequestOptions
    from rdfcrawl.downloader.spool import Spool
    from rdfcrawl.downloader.watch import WatchedTransfer
    from rdfcrawl.rdf.unpack.content_encoding import BodyDecoder

_BLOCK_BYTES: Final = 256 * 1024
_ENDLESS: Final = 2**62
# A part stays valid after these; other statuses concern another resource, or none.
_PASSING_STATUSES: Final = frozenset({408, 425, 429, *range(500, 600)})


class ResponseReceiver:
    """One response being received; finally call `end`."""

    def __init__(
        self,
        spool: Spool,
        url: str,
        options: RequestOptions,
        response: HttpResponse,
        transfer: WatchedTransfer,
        *,
        max_ratio: float,
    ) -> None:
        self._spool, self._url, self.options = spool, url, options
        self._response, self._transfer = response, transfer
        self._max_ratio = max_ratio
        self._part: PartialBody | None = None
        if options.is_resumable and options.is_plain:
            self._part = spool.take_part(url)
            if self._part is not None:
                headers = (*options.headers, *self._part.request_headers())
                self.options = replace(options, headers=headers)
        self._has_restarted = False  # a part was unfit
        self._rest: PartialBody | None = None  # the part, if the response continues it
        self._overlap = b""  # overlap, requested once more
        self._sink: SpoolSink
        self._wire: SpoolSink | None = None  # the body as sent, if encoded
        self._decoder: BodyDecoder | None = None

    def begin(self, head: ReceivedHead) -> tuple[int, MultiMapping[str]]:
        """Return the status and the headers of the complete response.

        Raises:
            UnfitPart: the part is unfit.
        """
        status, headers = head.status, head.headers
        part = self._part
        if part is None or status in _PASSING_STATUSES:
            return status, headers
        self._part = None
        if status == 206:
            try:
                total = check_rest(part.facts, part.offset, headers)
            except UnfitPart:
                self._spool.drop_part(part)
                raise
            self._rest = replace(part, facts=replace(part.facts, total=total))
            self._overlap = part.tail()
            return 200, CIMultiDict(part.facts.headers)
        self._spool.drop_part(part)
        self._has_restarted = True
        if status == 416:
            raise UnfitPart("416")
        return status, headers

    async def body(
        self, head: ReceivedHead, body: BodyReader, headers: MultiMapping[str]
    ) -> None:
        """Read the body.

        Args:
            head: as received.
            body: as received.
            headers: of the complete response.

        Raises:
            Exception: error that ended the body; the response keeps the received bytes.
            UnfitPart: the response does not continue the part.
        """
        coding = codings_of(headers)
        try:
            self._open(head.headers, coding)
            if coding:
                await self._begin_decoding(coding)
            await self._copy_all(head, body)
        except UnfitPart:
            self._sink.discard()
            if self._wire is not None:
                self._wire.discard()
            raise
        except BaseException as exc:
            self._end_early(exc)
            raise
        self._sink.keep(self._response)
        if self._wire is not None:
            self._wire.discard()

    def end(self) -> None:
        """Put back an unfit part, which may fit the next request."""
        for part in (self._part, self._rest):
            if part is not None:
                self._spool.return_part(part)

    def _open(self, headers: MultiMapping[str], coding: str) -> None:
        """Open sinks for the body, and for the encoded bytes."""
        n_bytes = _length(headers)
        spool, url = self._spool, self._url
        rest, self._rest = self._rest, None
        facts = None
        if rest is not None:
            facts, n_bytes = rest.facts, rest.facts.total
        elif self.options.is_resumable:
            facts = facts_of(url, headers, n_bytes)
        if not coding:
            self._sink = SpoolSink(
                spool, self.options, url, n_bytes, facts=facts, part=rest
            )
            return
        self._sink = SpoolSink(spool, self.options, url)
        if facts is not None:
            raw = replace(self.options, max_bytes=_ENDLESS)
            self._wire = SpoolSink(spool, raw, url, n_bytes, facts=facts, part=rest)

    async def _begin_decoding(self, coding: str) -> None:
        # Imports all codecs: not before the first coded body.
        from rdfcrawl.rdf.unpack.content_encoding import BodyDecoder  # noqa: PLC0415

        self._decoder = BodyDecoder(coding, max_ratio=self._max_ratio)
        wire = self._wire
        if wire is None or wire.path is None:
            return
        with wire.path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                for piece in self._decoder.pieces(block):
                    self._sink.write(piece)
                await asyncio.sleep(0)

    async def _copy_all(self, head: ReceivedHead, body: BodyReader) -> None:
        try:
            await self._copy(body)
        except BodyCut:
            # Some servers send the length before encoding. Like Chromium, accept a body
            # of that length as complete.
            decoder = self._decoder
            has_ended = decoder is not None and decoder.has_ended
            if not has_ended or self._sink.n_bytes != _length(head.headers):
                raise
            return
        self._check_end()

    async def _copy(self, content: BodyReader) -> None:
        transfer = self._transfer
        is_plain = self._decoder is None and not self._overlap
        take: Callable[[bytes], None] = self._sink.write if is_plain else self._take
        while chunk := await content.readany():
            transfer.n_bytes += len(chunk)
            take(chunk)
            if is_plain and content.at_eof():
                return

    def _take(self, chunk: bytes) -> None:
        if self._overlap:
            chunk = self._without_overlap(chunk)
        if self._decoder is None:
            self._sink.write(chunk)
            return
        if self._wire is not None:
            self._wire.write(chunk)
        for piece in self._decoder.pieces(chunk):
            self._sink.write(piece)

    def _without_overlap(self, chunk: bytes) -> bytes:
        n_bytes = min(len(chunk), len(self._overlap))
        if chunk[:n_bytes] != self._overlap[:n_bytes]:
            raise UnfitPart("the body differs from the part")
        self._overlap = self._overlap[n_bytes:]
        return chunk[n_bytes:]

    def _check_end(self) -> None:
        raw = self._wire or self._sink
        facts = raw.facts
        if facts is not None and raw.n_bytes < facts.total:
            detail = f"{counted(raw.n_bytes, 'byte')} of {facts.total}"
            raise SourceFault(Reason.TRUNCATED_BODY, detail)
        if self._decoder is not None:
            self._decoder.finish()

    def _end_early(self, exc: BaseException) -> None:
        """Keep the received bytes: as a part, as the body, or as both."""
        if not hasattr(self, "_sink"):
            return
        raw = self._wire or self._sink
        if _is_resumable(exc) and raw.keep_part() and not self._has_restarted:
            n_new = self._transfer.n_bytes
            self._response.has_progressed = n_new >= self.options.spool_bytes
        self._sink.end_early(self._response, self._transfer, exc)
        if self._wire is not None:
            self._wire.discard()


def codings_of(headers: MultiMapping[str]) -> str:
    """Return the codings of the body, in the order in which they were applied.

    Source: RFC 9112 6.1: transfer codings are applied last.
    """
    coding = headers.get("Content-Encoding", "")
    if not coding and "Transfer-Encoding" not in headers:
        return ""
    names = ("Content-Encoding", "Transfer-Encoding")
    coding = ", ".join(each for name in names for each in headers.getall(name, []))
    return "" if coding.strip().lower() == "chunked" else coding


def _length(headers: MultiMapping[str]) -> int:
    """Return the length of the body as sent; 0 if unknown."""
    length = headers.get("Content-Length", "").partition(",")[0].strip()
    is_known = length.isdecimal() and len(length) <= MAX_LENGTH_DIGITS
    return int(length) if is_known else 0


def _is_resumable(exc: BaseException) -> bool:
    """Return whether the received bytes are valid and a later request may resume."""
    if isinstance(exc, SourceFault):
        return exc.fault.reason is Reason.TRUNCATED_BODY
    is_cancelled = not isinstance(exc, Exception)
    return is_cancelled or isinstance(exc, ConnectionFailure | OSError)
