"""Servers that say when requests arrived, by the clock of the kernel.

A busy process notices a request late, so that the gap to the next one looks shorter
than it was. The kernel stamps arriving data before any process is woken up.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tests.support.ftp_servers import RealFtp

if TYPE_CHECKING:
    from pathlib import Path

_SO_TIMESTAMPNS = 35  # of Linux, and the type of its ancillary data
_TIMESPEC = struct.Struct("@qq")


class StampedRequest(NamedTuple):
    """One request, with the time when its last byte arrived (Unix time)."""

    at: float
    host: str
    target: str
    agent: str
    nth: int  # of this target of the host


class StampingServer:
    """Answers on one address, for all hosts that have it.

    Args:
        reply: returns the bytes of a response.
    """

    def __init__(
        self, reply: Callable[[StampedRequest], bytes], host: str, port: int = 0
    ) -> None:
        self._reply = reply
        self._socket = socket.create_server((host, port), backlog=100)
        self._lock = threading.Lock()
        self.port: int = self._socket.getsockname()[1]
        self.requests: list[StampedRequest] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            # Data that arrive before this are stamped all the same: it is inherited.
            connection.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(
                target=self._answer, args=(connection,), daemon=True
            ).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            data = b""
            while True:
                try:
                    chunk, at = _receive(connection)
                    if not chunk:
                        return
                    data += chunk
                    while (end := data.find(b"\r\n\r\n")) >= 0:
                        request = self._note(data[:end].decode("latin-1"), at)
                        data = data[end + 4 :]
                        connection.sendall(self._reply(request))
                except OSError:
                    return

    def _note(self, head: str, at: float) -> StampedRequest:
        first, *lines = head.split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
        host, target = fields["host"].partition(":")[0], first.split(" ")[1]
        with self._lock:
            nth = 1 + sum(x[1:3] == (host, target) for x in self.requests)
            agent = fields.get("user-agent", "")
            request = StampedRequest(at, host, target, agent, nth)
            self.requests.append(request)
        return request


def _receive(connection: socket.socket) -> tuple[bytes, float]:
    """Return the data that arrived, and the time of the last of them."""
    chunk, ancillary, _, _ = connection.recvmsg(65536, 256)
    if not chunk:
        return b"", 0.0
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            secs, nanos = _TIMESPEC.unpack(data[: _TIMESPEC.size])
            return chunk, secs + nanos / 1e9
    raise AssertionError("this kernel does not stamp TCP")


class StampingFtp(RealFtp):
    """A real FTP server that records when files and directories were requested.

    Attributes:
        stamps: of each transfer, when its command arrived.
    """

    def __init__(self, folder: Path, host: str) -> None:
        self.stamps: list[float] = []
        super().__init__(folder, host=host)
        self._server.socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)

    def _remember(self, handler: Any) -> None:
        super()._remember(handler)
        process = handler.process_command

        def recv(this: Any, _: int) -> bytes:
            chunk, this.stamped = _receive(this.socket)
            if not chunk:
                this.handle_close()
            return chunk

        def process_command(this: Any, cmd: str, *args: Any, **kwargs: Any) -> None:
            if cmd in ("RETR", "LIST", "MLSD", "NLST"):
                self.stamps.append(this.stamped)
            process(this, cmd, *args, **kwargs)

        handler.recv, handler.process_command = recv, process_command
