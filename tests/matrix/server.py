"""The hosts of a matrix, all in one process of their own.

    python -m tests.matrix.server SPEC LOG

SPEC is a file of JSON, see `WebSpec`. LOG gets a line of JSON for each request: time,
host, door, request target; and one with the bytes sent, too, after each response that
the client has cut. While `SPEC.healed` is there, all hosts are healthy.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict

from tests.matrix.behaviours import BEHAVIOURS, FTP_DOORS, HTTP_DOORS, RAW_DOORS
from tests.matrix.certificates import contexts_of
from tests.matrix.scripts import (
    TURTLE,
    Script,
    ScriptedRequest,
    Step,
    response,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_BACKLOG: Final = 1024
_HELD_BYTES: Final = 1 << 16  # that a client has not read before we wait for it
_CONTEXT: Final = b'{"@context": {"says": "urn:x:says"}}'
_DEAF_STEPS: Final[dict[str, Step]] = {
    "silent": "hang",
    "reset": "reset",
    "close": "close",
    "garbage": b"\x15\x03nonsense",
}
_DEAF_DOORS: Final = {*RAW_DOORS, "tls-silent", "tls-reset", "tls-garbage"}
_LINGER_NOT: Final = struct.pack("ii", 1, 0)


class HostSpec(TypedDict):
    """A host.

    Attributes:
        doors: on which it listens.
        pages: body and media type by request target.
        bad: behaviours by request target.
        all: behaviour of all targets; empty: none.
    """

    doors: list[str]
    pages: dict[str, tuple[str, str]]
    bad: dict[str, str]
    all: str


class WebSpec(TypedDict):
    """All hosts: ports by door, hosts by address, URLs for `Ask.elsewhere`."""

    ports: dict[str, int]
    hosts: dict[str, HostSpec]
    elsewhere: dict[str, str]


class HostServers:
    """Serves a spec."""

    def __init__(self, spec: WebSpec, log_path: Path, healed: Path) -> None:
        self._spec = spec
        self._log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._healed = healed
        self._asked: Counter[tuple[str, str, str]] = Counter()

    async def start(self, folder: Path) -> None:
        """Listen on all doors."""
        ports = self._spec["ports"]
        tls = contexts_of(folder, ports)
        for address, host in self._spec["hosts"].items():
            for door in host["doors"]:
                if door == "dead":
                    continue
                bound = socket.socket()
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                bound.bind((address, ports[door]))
                await asyncio.start_server(
                    self._handler(address, door),
                    sock=bound,
                    backlog=_BACKLOG,
                    ssl=tls.get(door),
                    limit=1 << 16,
                )

    def _handler(self, address: str, door: str) -> Any:
        async def handle(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            writer.transport.set_write_buffer_limits(high=_HELD_BYTES)
            with suppress(ConnectionError, asyncio.IncompleteReadError, OSError):
                await self._converse(address, door, reader, writer)
            writer.close()

        return handle

    async def _converse(
        self,
        address: str,
        door: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        if door in FTP_DOORS:
            self.note(address, door, "connection")
            await _talk_ftp(FTP_DOORS[door], reader, writer)
        elif door in _DEAF_DOORS and not self._healed.exists():
            self.note(address, door, "connection")
            step = _DEAF_STEPS[door.rpartition("-")[2]]
            await _play([step], reader, writer, [0])
        else:
            while await self._reply(address, door, reader, writer):
                pass

    async def _reply(
        self,
        address: str,
        door: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, _, rest = head.partition("\r\n")
        target = line.split(" ")[1]
        fields = dict(f.lower().split(": ", 1) for f in rest.split("\r\n") if ": " in f)
        await reader.readexactly(int(fields.get("content-length", 0)))
        self.note(address, door, target)
        self._asked[address, door, target] += 1
        scheme = "https" if door.startswith("tls") else "http"
        port = self._spec["ports"][door]
        ask = ScriptedRequest(
            path=target,
            nth=self._asked[address, door, target],
            origin=f"{scheme}://{address}:{port}",
            cookie=fields.get("cookie", ""),
            good=self._good(address, target),
            elsewhere=self._spec["elsewhere"],
        )
        script = None if self._healed.exists() else self._script(address, door, target)
        script_steps = [ask.good] if script is None else script(ask)
        n_sent = [0]
        try:
            return await _play(script_steps, reader, writer, n_sent)
        except (ConnectionError, OSError):
            self.note(address, door, target, n_sent[0])
            raise

    def note(self, address: str, door: str, target: str, *more: int) -> None:
        """Write a line of the log."""
        line = json.dumps([time.monotonic(), address, door, target, *more]) + "\n"
        os.write(self._log, line.encode())

    def _script(self, address: str, door: str, target: str) -> Script | None:
        host = self._spec["hosts"][address]
        path = target.partition("?")[0]
        if door in HTTP_DOORS:
            return HTTP_DOORS[door] if path == "/robots.txt" else None
        name = host["bad"].get(path) or host["all"]
        return BEHAVIOURS[name].script if name else None

    def _good(self, address: str, target: str) -> bytes:
        page = self._spec["hosts"][address]["pages"].get(target)
        if page:
            return response("200 OK", page[0].encode(), page[1])
        if target.startswith(("/robots.txt", "/.well-known/", "/sitemap.xml")):
            return response("404 Not Found", b"nothing", "text/plain")
        if target.endswith(".jsonld"):
            return response("200 OK", _CONTEXT, "application/ld+json")
        return response("200 OK", f'<> <urn:x:says> "{target}" .\n'.encode(), TURTLE)


async def _play(
    steps: Iterable[Step],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    n_sent: list[int],
) -> bool:
    """Play a script; return whether the connection goes on.

    Args:
        steps: of the script.
        reader: of the connection.
        writer: of the connection.
        n_sent: one number, which the bytes that are sent are added to.
    """
    for step in steps:
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
            n_sent[0] += len(step)
        elif isinstance(step, (int, float)):
            if reader.at_eof():
                raise ConnectionResetError
            await asyncio.sleep(step)
        elif step == "hang":
            while await reader.read(1 << 16):
                pass
            return False
        else:
            if step == "reset":
                await _reset(writer)
            return False
    return True


async def _reset(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(0)
    held = writer.get_extra_info("socket")
    with suppress(OSError, AttributeError):
        held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
    writer.transport.abort()


async def _talk_ftp(
    replies: dict[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    verb = "banner"
    while True:
        said = replies.get(verb, "502 not here")
        if said == "endless":
            while True:
                writer.write(b"220-still\r\n" * 64)
                await writer.drain()
                await asyncio.sleep(0.01)
        if said in {"hang", "reset"}:
            await _play([said], reader, writer, [0])  # type: ignore[list-item]
            return
        writer.write(said.encode() + b"\r\n")
        await writer.drain()
        line = await reader.readline()
        if not line:
            return
        verb = line.split()[0].decode("latin-1").upper() if line.split() else ""


async def _main(spec_path: Path, log_path: Path) -> None:
    spec: WebSpec = json.loads(spec_path.read_text())
    hosts = HostServers(spec, log_path, Path(f"{spec_path}.healed"))
    await hosts.start(spec_path.parent)
    print("ready", flush=True)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.read)  # until the parent process ends


if __name__ == "__main__":
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(_main(Path(sys.argv[1]), Path(sys.argv[2])))
