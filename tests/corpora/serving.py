"""A server for cases, written from RFC 9112: each case has a host of its own."""

from __future__ import annotations

import asyncio
import resource
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from tests.corpora.cases import Case, ServedFile

_PREFIX: Final = "127.79"
_PER_BLOCK: Final = 250
_MOST_BLOCKS: Final = 200


class CaseServer:
    """Serves cases on loopback while it is entered.

    Attributes:
        bases: scheme and authority of each case, by its name.
    """

    def __init__(self, cases: Iterable[Case]) -> None:
        self._hosts: dict[str, dict[str, ServedFile]] = {}
        self._names: dict[str, str] = {}
        for n, case in enumerate(cases):
            block, last = divmod(n, _PER_BLOCK)
            if block >= _MOST_BLOCKS:
                raise ValueError("too many cases")
            host = f"{_PREFIX}.{block}.{last + 1}"
            files = (case.document, *case.files)
            self._hosts[host] = {f"/{file.path}": file for file in files}
            self._names[case.name] = host
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._servers: list[asyncio.Server] = []
        self.bases: dict[str, str] = {}

    def __enter__(self) -> Self:
        least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = len(self._hosts) + 1024
        if least != resource.RLIM_INFINITY and least < wanted:
            wanted = wanted if most == resource.RLIM_INFINITY else min(most, wanted)
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(60)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    async def _start(self) -> None:
        port = 0
        for host in self._hosts:  # the port that the first host gets is that of all
            server = await asyncio.start_server(self._serve, host, port)
            port = server.sockets[0].getsockname()[1]
            self._servers.append(server)
        self.bases = {
            name: f"http://{host}:{port}" for name, host in self._names.items()
        }

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        files = self._hosts[writer.get_extra_info("sockname")[0]]
        with suppress(OSError, asyncio.CancelledError, asyncio.IncompleteReadError):
            while target := await _request_target(reader):
                writer.write(_response(files.get(target)))
                await writer.drain()
        writer.close()


async def _request_target(reader: asyncio.StreamReader) -> str:
    """Return the target of the next request; empty if there is none."""
    line = await reader.readline()
    if not line:
        return ""
    while (await reader.readline()).strip():
        continue
    return line.split()[1].decode("ascii").partition("?")[0]


def _response(file: ServedFile | None) -> bytes:
    if file is None:
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    fields = [("Content-Length", str(len(file.body))), *file.headers]
    if file.media_type:
        fields.append(("Content-Type", file.media_type))
    head = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"HTTP/1.1 200 OK\r\n{head}\r\n".encode() + file.body
