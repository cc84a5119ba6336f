"""One request to an FTP server for a file or a directory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from typing import Any, TypeVar

from rdfcrawl.core.errors import Fault, Reason, SourceFault, one_line
from rdfcrawl.core.messages import counted
from rdfcrawl.downloader.client import (
    MAX_ERROR_BODY_BYTES,
    HttpResponse,
    RequestOptions,
)
from rdfcrawl.downloader.ftp.address import FtpAddress
from rdfcrawl.downloader.ftp.connection import FtpConnection, FtpPool
from rdfcrawl.downloader.ftp.directories import (
    MEDIA_TYPE,
    ContainerWriter,
    Format,
    FtpEntry,
)
from rdfcrawl.downloader.ftp.protocol import FtpProtocolError, FtpRefused, NoConnection
from rdfcrawl.downloader.parts import (
    OVERLAP_BYTES,
    PartFacts,
    PartialBody,
    UnfitPart,
    facts_of_file,
)
from rdfcrawl.downloader.retry_policy import backoff_secs
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.spool_sink import SpoolSink
from rdfcrawl.downloader.watch import WatchedTransfer
from rdfcrawl.frontier.request_turns import NotSentError, SoloTurn

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class FtpRequest:
    """Fetch one file or directory, over several connections if needed."""

    _pool: FtpPool
    _spool: Spool
    _address: FtpAddress
    _options: RequestOptions
    _response: HttpResponse
    _transfer: WatchedTransfer
    _turn: SoloTurn
    _connection: FtpConnection | None = None
    _is_idle: bool = False  # the connection is ready for a command
    _tail: bytes = b""  # last bytes read: read again, and compared
    _part: PartialBody | None = None  # left by an earlier request
    _has_restarted: bool = False  # the part was of another version

    async def run(self) -> None:
        """Fetch, and set the response."""
        try:
            connection = await self._connect()
            if self._address.is_directory:
                await self._list(connection)
            else:
                await self._file(connection)
        except FtpRefused as refused:
            self._refuse(refused)
        finally:
            self._end()

    def _end(self) -> None:
        """Keep the connection, and an unused part, for later requests."""
        if self._part is not None:
            self._spool.return_part(self._part)
        connection = self._connection
        if connection is None:
            return
        if self._is_idle:
            self._pool.keep(connection)
        else:
            self._pool.drop(connection)

    def _refuse(self, refused: FtpRefused) -> None:
        response = self._response
        response.status = refused.status
        response.error_body = refused.text.encode("latin-1", "replace")[
            :MAX_ERROR_BODY_BYTES
        ]
        response.retry_after = refused.retry_after
        # After 421 the server closes the connection (RFC 959 4.2.2).
        self._is_idle = self._connection is not None and refused.code != 421

    async def _connect(self) -> FtpConnection:
        self._check_turn()
        self._connection = None
        connection = await self._pool.connect(self._address, self._turn.address)
        self._connection = connection
        return connection

    def _check_turn(self) -> None:
        """Check that the turn is still valid before the server has to work."""
        if not self._turn.is_good():
            raise NotSentError

    async def _begin(
        self, connection: FtpConnection, function: Callable[..., T], *arguments: Any
    ) -> T:
        """Request a transfer: the time counts for the delay of the host."""
        self._check_turn()
        try:
            return await self._call(connection, function, *arguments)
        finally:
            self._turn.sent()

    async def _call(
        self, connection: FtpConnection, function: Callable[..., T], *arguments: Any
    ) -> T:
        self._is_idle = False
        if function != connection.read:  # a block of data is not a reply
            self._transfer.restart_wait(asyncio.get_running_loop().time())
        return await self._pool.call(connection, function, *arguments)

    async def _file(self, connection: FtpConnection) -> None:
        response = self._response
        path = self._address.absolute(connection.home)
        facts = await self._call(connection, connection.facts, path)
        if facts.is_directory:
            self._redirect()
            return
        _note_facts(response, facts)
        if response.etag and _is_unchanged(response, self._options):
            response.status = 304
            self._is_idle = True
            return
        part_facts = None
        if self._options.is_resumable:
            part_facts = facts_of_file(self._address.url, facts.size, facts.modified)
        self._take_part(part_facts)
        try:
            await self._open(connection, path)
        except FtpRefused as refused:
            if refused.status in (403, 404) and await self._call(
                connection, connection.is_directory, path
            ):
                self._redirect()
                return
            response.etag = response.last_modified = ""
            raise
        response.status = 200
        await self._read(
            lambda sink: self._copy(connection, sink, path, facts),
            max(0, facts.size),
            part_facts,
        )

    def _take_part(self, facts: PartFacts | None) -> None:
        """Take the part that an earlier request left of the same version."""
        if not self._options.is_resumable:
            return
        spool = self._spool
        part = spool.take_part(self._address.url)
        if part is None:
            return
        is_same = facts is not None and part.facts.validator == facts.validator
        if is_same and facts is not None and part.n_bytes <= facts.total:
            self._part, self._tail = part, part.tail()
        else:
            self._has_restarted = True
            spool.drop_part(part)

    async def _open(self, connection: FtpConnection, path: str) -> None:
        """Start to read a file, at the end of its part if there is one."""
        part = self._part
        offset = part.offset if part is not None else 0
        if await self._begin(connection, connection.open_file, path, offset):
            return
        self._is_idle = True
        if part is not None:
            self._part = None
            self._spool.drop_part(part)
        raise UnfitPart("REST is refused")

    def _redirect(self) -> None:
        """Redirect to the directory with a slash, to which its names are relative."""
        self._response.status = 301
        self._response.location = self._address.directory_url
        self._is_idle = True

    async def _read(
        self,
        copy: Callable[[SpoolSink], Any],
        n_expected: int = 0,
        facts: PartFacts | None = None,
    ) -> None:
        """Receive a body; keep the received part after an error."""
        response = self._response
        part, self._part = self._part, None
        sink = SpoolSink(
            self._spool,
            self._options,
            self._address.url,
            n_expected,
            facts=facts,
            part=part,
        )
        try:
            await copy(sink)
        except UnfitPart:
            sink.discard()
            raise
        except BaseException as exc:
            self._keep_part(sink, exc)
            sink.end_early(response, self._transfer, exc)
            raise
        sink.keep(response)

    def _keep_part(self, sink: SpoolSink, exc: BaseException) -> None:
        """Keep the received bytes for a later request, unless they were invalid."""
        is_cancelled = not isinstance(exc, Exception)
        is_right = is_cancelled or (
            isinstance(exc, SourceFault) and exc.fault.reason is Reason.TRUNCATED_BODY
        )
        if is_right and sink.keep_part() and not self._has_restarted:
            has_much = self._transfer.n_bytes >= self._options.spool_bytes
            self._response.has_progressed = has_much

    async def _copy(
        self, connection: FtpConnection, sink: SpoolSink, path: str, facts: FtpEntry
    ) -> None:
        """Read a file to its end, over several connections if needed."""
        options = self._pool.options
        for n_breaks in range(options.retry_times + 1):
            why = "the transfer ended too early"
            try:
                if n_breaks:
                    if not await self._turn.take_another():
                        break
                    connection = await self._connect()
                    await self._resume(connection, sink, path, facts)
                elif self._tail and not await self._is_same(connection, sink):
                    raise UnfitPart("the file differs from the part")
                await self._copy_rest(connection, sink)
                if await self._is_complete(connection, sink, facts):
                    return
            except (FtpProtocolError, FtpRefused, NoConnection) as exc:
                why = str(exc)
            self._hang_up()
            if facts.size < 0 or n_breaks == options.retry_times:
                break  # otherwise, a change of the file would go unnoticed
            await asyncio.sleep(
                backoff_secs(
                    n_breaks,
                    base_secs=options.backoff_base_secs,
                    max_secs=options.backoff_max_secs,
                )
            )
        raise _truncated(why)

    def _hang_up(self) -> None:
        """Close a connection in the middle of a transfer."""
        if self._connection is not None and not self._is_idle:
            self._pool.drop(self._connection)
            self._connection = None

    async def _resume(
        self, connection: FtpConnection, sink: SpoolSink, path: str, facts: FtpEntry
    ) -> None:
        """Resume after a broken connection, and check that the file has not changed."""
        if await self._call(connection, connection.facts, path) != facts:
            sink.forget_part()
            raise _truncated("the file has changed while it was read")
        offset = sink.n_bytes - len(self._tail)
        if not await self._begin(connection, connection.open_file, path, offset):
            sink.forget_part()
            raise _truncated("the server cannot resume")
        if not await self._is_same(connection, sink):
            sink.forget_part()
            raise _truncated("the file differs from the part")

    async def _is_same(self, connection: FtpConnection, sink: SpoolSink) -> bool:
        """Read the last bytes once more, and return whether they are the same."""
        tail, seen = self._tail, b""
        while len(seen) < len(tail):
            block = await self._call(connection, connection.read)
            if not block:
                break
            seen += block
        if seen.startswith(tail):
            self._take(sink, seen[len(tail) :])
            return True
        if tail.startswith(seen):
            raise FtpProtocolError("the transfer broke again")
        return False

    async def _copy_rest(self, connection: FtpConnection, sink: SpoolSink) -> None:
        while block := await self._call(connection, connection.read):
            self._take(sink, block)

    def _take(self, sink: SpoolSink, block: bytes) -> None:
        self._transfer.n_bytes += len(block)
        self._tail = (self._tail + block[-OVERLAP_BYTES:])[-OVERLAP_BYTES:]
        sink.write(block)

    async def _is_complete(
        self, connection: FtpConnection, sink: SpoolSink, facts: FtpEntry
    ) -> bool:
        """Return whether the file is complete; its size outweighs a lost reply."""
        try:
            await self._call(connection, connection.finish)
        except FtpProtocolError:
            # Firewalls drop a control connection after a long silence.
            return sink.n_bytes == facts.size
        self._is_idle = True
        return sink.n_bytes >= facts.size

    async def _list(self, connection: FtpConnection) -> None:
        address = self._address
        path = address.absolute(connection.home)
        above = await self._call(connection, connection.above, path)
        form = await self._begin(connection, connection.open_listing, path)
        self._response.status = 200
        self._response.media_type = MEDIA_TYPE

        async def copy(sink: SpoolSink) -> None:
            writer = self._writer(path, form, above)
            sink.write(writer.head())
            await self._copy_listing(connection, sink, writer)
            if form == "LIST" and not writer.n_entries and writer.n_unread:
                # The format of LIST is unknown; names alone always work.
                writer = self._writer(path, "NLST", above)
                with suppress(FtpRefused):  # some servers refuse an empty directory
                    await self._call(connection, connection.open_listing, path, "NLST")
                    await self._copy_listing(connection, sink, writer)
                self._is_idle = True
            if writer.n_bad:
                self._response.fault = Fault(
                    Reason.BAD_URI,
                    "names with control characters or slashes, or too long",
                    writer.n_bad,
                )

        await self._read(copy)

    def _writer(self, path: str, form: Format, above: set[str]) -> ContainerWriter:
        return ContainerWriter(
            self._address.directory_url,
            path,
            form,
            above=above,
            most_entries=self._pool.limits.n_entries,
        )

    async def _copy_listing(
        self, connection: FtpConnection, sink: SpoolSink, writer: ContainerWriter
    ) -> None:
        """Read a listing to its end; a truncated last line is ignored."""

        def read() -> tuple[int, bytes]:
            block = connection.read()
            return len(block), writer.feed(block) if block else b""

        n_bytes = -1
        try:
            while n_bytes:
                n_bytes, statements = await self._call(connection, read)
                self._transfer.n_bytes += n_bytes
                self._write_statements(sink, statements, writer)
            await self._call(connection, connection.finish)
        except (FtpProtocolError, FtpRefused) as exc:
            raise _truncated(str(exc)) from exc
        self._is_idle = True
        self._write_statements(sink, writer.end(), writer)

    def _write_statements(
        self, sink: SpoolSink, statements: bytes, writer: ContainerWriter
    ) -> None:
        room = self._options.max_bytes - sink.n_bytes
        is_over = len(statements) > room
        if is_over:
            statements = statements[: statements.rfind(b"\n", 0, room) + 1]
        sink.write(statements)
        if is_over or writer.is_full:
            n_entries = self._pool.limits.n_entries
            detail = (
                f"over {counted(self._options.max_bytes, 'byte')}"
                if is_over
                else f"over {counted(n_entries, 'entry', 'entries')}"
            )
            raise SourceFault(Reason.TOO_MANY_ENTRIES, detail)


def _truncated(why: str) -> SourceFault:
    return SourceFault(Reason.TRUNCATED_BODY, one_line(why))


def _note_facts(response: HttpResponse, facts: FtpEntry) -> None:
    """Set the validators of a response in the form of HTTP."""
    if not facts.modified:
        return
    moment = datetime.fromisoformat(facts.modified)
    response.last_modified = format_datetime(moment, usegmt=True)
    if facts.size >= 0:
        response.etag = f'W/"{facts.size:x}-{facts.modified}"'


def _is_unchanged(response: HttpResponse, options: RequestOptions) -> bool:
    """Return whether the validators of a request still match (RFC 9110 13.2.2)."""
    headers = {name.lower(): value for name, value in options.headers}
    if "if-none-match" in headers:
        return response.etag in headers["if-none-match"]
    return response.last_modified == headers.get("if-modified-since")
