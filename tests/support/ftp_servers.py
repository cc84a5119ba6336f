"""FTP servers on loopback: a real one, and one that misbehaves on demand."""

from __future__ import annotations

import socket
import struct
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Self, TypeAlias

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # asyncore, up to Python 3.11
    from pyftpdlib.authorizers import (  # type: ignore[import-untyped]
        DummyAuthorizer,
    )
    from pyftpdlib.handlers import (  # type: ignore[import-untyped]
        FTPHandler,
        ThrottledDTPHandler,
        TLS_FTPHandler,
    )
    from pyftpdlib.ioloop import IOLoop  # type: ignore[import-untyped]
    from pyftpdlib.servers import FTPServer  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path


class RealFtp:
    """pyftpdlib over a folder, in a thread.

    Args:
        folder: root of anonymous users.
        host: any address of 127.0.0.0/8.
        port: any that is free if it is 0.
        users: name -> password, for the same folder; without any, all are let in.
        certificate: PEM file; there is TLS with it.
        rate: most bytes that a transfer sends in a second; 0 is without a bound.
        lacks: commands that it does not know.
        handler: attributes of the handler's class.

    Attributes:
        commands: of clients, in order, without passwords.
        n_sent: bytes that transfers which have ended had sent.
    """

    def __init__(
        self,
        folder: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        users: Mapping[str, str] | None = None,
        certificate: Path | None = None,
        rate: int = 0,
        lacks: Collection[str] = (),
        **handler: Any,
    ) -> None:
        self.commands: list[str] = []
        self.n_sent = 0
        self.n_connections = 0
        self._folder = folder
        authorizer = DummyAuthorizer()
        if users is None:
            authorizer.add_anonymous(str(folder))
        for name, password in (users or {}).items():
            authorizer.add_user(name, password, str(folder), perm="elr")
        base = TLS_FTPHandler if certificate else FTPHandler
        made: Any = type("Handler", (base,), {})
        made.authorizer = authorizer
        made.unicode_errors = "surrogateescape"  # names are bytes
        made.use_sendfile = False
        made.auth_failed_timeout = 0
        if certificate:
            made.certfile = str(certificate)
        for name, value in handler.items():
            setattr(made, name, value)
        known = made.proto_cmds.items()
        made.proto_cmds = {name: how for name, how in known if name not in lacks}
        if rate:
            made.dtp_handler = self._sender = self._slow_sender(rate)
        self._remember(made)
        self._loop = IOLoop()
        self._server = FTPServer((host, port), made, ioloop=self._loop)
        self._server.max_cons_per_ip = 100
        self.host, self.port = self._server.address[:2]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def _remember(self, handler: Any) -> None:
        process, connected = handler.process_command, handler.on_connect

        def process_command(this: Any, cmd: str, *args: Any, **kwargs: Any) -> None:
            said = f"{cmd} {args[0]}" if args and args[0] and cmd != "PASS" else cmd
            self.commands.append(said.replace(str(self._folder), ""))
            process(this, cmd, *args, **kwargs)

        def on_connect(this: Any) -> None:
            self.n_connections += 1
            connected(this)

        handler.process_command, handler.on_connect = process_command, on_connect

    def _slow_sender(self, rate: int) -> Any:
        def close(this: Any) -> None:
            if not this._closed:
                self.n_sent += this.get_transmitted_bytes()
            ThrottledDTPHandler.close(this)

        members = {"write_limit": rate, "ac_out_buffer_size": 16384, "close": close}
        return type("SlowSender", (ThrottledDTPHandler,), members)

    def hurry(self) -> None:
        """Send without a limit from now on."""
        self._sender.write_limit = 0

    def _serve(self) -> None:
        self._server.serve_forever(timeout=0.05, handle_exit=False)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_later(0, self._stop)
        self._thread.join(120)

    def _stop(self) -> None:
        self._server.close_all()

    def url(self, path: str = "", scheme: str = "ftp") -> str:
        """Return the URL of a path without its first slash."""
        return f"{scheme}://{self.host}:{self.port}/{path}"

    def count(self, verb: str) -> int:
        """Return how often a command was given."""
        return sum(each.split(" ")[0] == verb for each in self.commands)


Say: TypeAlias = str | bytes | None
"""A reply without its line end; bytes unchanged; None closes the connection."""


@dataclass
class OddFtp:
    """A server of our own, whose every reply can be replaced.

    Attributes:
        files: path -> content.
        listings: path -> text of a listing, for all forms.
        odd: verb -> reply, or a function that makes it of the argument; the only reply.
        cuts: lengths after which the data of one transfer after another are cut off;
            0 does not cut.
        greeting: its first reply.
        pasv_host: as PASV names it.
        resets: a cut does not end the connection, it resets it.
        is_silent_after_data: it never says that a transfer is over.
        features: lines of FEAT.
        commands: received commands, in order.
        n_data: data connections that were made.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    listings: dict[str, bytes] = field(default_factory=dict)
    odd: dict[str, Say | Callable[[str], Say]] = field(default_factory=dict)
    cuts: list[int] = field(default_factory=list)
    greeting: Say = "220 Hello"
    pasv_host: str = "127,0,0,1"
    resets: bool = False
    is_silent_after_data: bool = False
    features: tuple[str, ...] = ("SIZE", "MDTM", "REST STREAM")
    modified: str = "20240102030405"
    host: str = "127.0.0.1"
    commands: list[str] = field(default_factory=list)
    n_data: int = 0
    port: int = 0

    def __enter__(self) -> Self:
        self._listener = socket.create_server((self.host, self.port))
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(120)

    def url(self, path: str = "", scheme: str = "ftp") -> str:
        """Return the URL of a path without its first slash."""
        return f"{scheme}://{self.host}:{self.port}/{path}"

    def count(self, verb: str) -> int:
        """Return how often a command was given."""
        return sum(each.split(" ")[0] == verb for each in self.commands)

    def hang_up(self) -> None:
        """End all connections."""
        while self._open:
            with suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(sock)
            thread = threading.Thread(target=self._converse, args=(sock,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _converse(self, sock: socket.socket) -> None:
        with suppress(OSError), sock, sock.makefile("rb") as file:
            if not _say(sock, self.greeting):
                return
            dialogue = _Dialogue(self, sock)
            for line in file:
                said = line.decode("latin-1").rstrip("\r\n")
                self.commands.append(said)
                verb, _, argument = said.partition(" ")
                if not dialogue.answer(verb.upper(), argument):
                    break
            dialogue.close()
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


_REPLIES = {
    "USER": "331 Password",
    "PASS": "230 In",
    "PWD": '257 "/" is here',
    "TYPE": "200 OK",
    "OPTS": "200 OK",
    "REST": "350 From there",
}


class _Dialogue:
    """One control connection."""

    def __init__(self, server: OddFtp, sock: socket.socket) -> None:
        self._server = server
        self._sock = sock
        self._listener: socket.socket | None = None
        self._offset = 0
        self._directory = "/"

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()

    def answer(self, verb: str, argument: str) -> bool:
        """Reply to a command; False if the connection must be closed."""
        server = self._server
        if verb in server.odd:
            odd = server.odd[verb]
            said = odd(argument) if callable(odd) else odd
            return _say(self._sock, said)
        if verb in ("PASV", "EPSV"):
            return self._pasv(is_extended=verb == "EPSV")
        if verb == "RETR":
            return self._retr(argument)
        if verb in ("LIST", "MLSD", "NLST"):
            text = server.listings.get(self._directory)
            return self._send(text, 0) if text is not None else self._say("550 No")
        if verb == "REST":
            self._offset = int(argument)
        return self._say(self._reply(verb, argument))

    def _reply(self, verb: str, argument: str) -> str:
        server = self._server
        if verb in _REPLIES:
            return _REPLIES[verb]
        if verb == "FEAT" and server.features:
            lines = "".join(f" {each}\r\n" for each in server.features)
            return f"211-Features:\r\n{lines}211 End"
        if verb == "CWD" and argument in server.listings:
            self._directory = argument
            return "250 There"
        if verb in ("CWD", "SIZE", "MDTM"):
            content = server.files.get(argument)
            if content is None or verb == "CWD":
                return "550 No such thing"
            return f"213 {len(content) if verb == 'SIZE' else server.modified}"
        return "502 Not here"

    def _say(self, text: str) -> bool:
        return _say(self._sock, text)

    def _pasv(self, *, is_extended: bool) -> bool:
        self.close()
        self._listener = socket.create_server((self._server.host, 0))
        self._listener.settimeout(5)
        port = self._listener.getsockname()[1]
        if is_extended:
            return self._say(f"229 Entering Extended Passive Mode (|||{port}|)")
        numbers = f"{self._server.pasv_host},{port >> 8},{port & 255}"
        return self._say(f"227 Entering Passive Mode ({numbers})")

    def _retr(self, path: str) -> bool:
        content = self._server.files.get(path)
        offset, self._offset = self._offset, 0
        if content is None:
            return self._say("550 No such file")
        cut = self._server.cuts.pop(0) if self._server.cuts else 0
        return self._send(content[offset:], cut)

    def _send(self, content: bytes, cut: int) -> bool:
        if self._listener is None:
            return self._say("425 No data connection")
        if not self._say("150 Here it comes"):
            return False
        data, _ = self._listener.accept()
        self._server.n_data += 1
        with data, suppress(OSError):
            data.sendall(content[:cut] if cut else content)
            if cut and self._server.resets:
                time.sleep(0.02)  # sent data shall arrive
                linger = struct.pack("ii", 1, 0)
                data.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        if cut:
            return False
        return self._server.is_silent_after_data or self._say("226 Done")


def _say(sock: socket.socket, said: Say) -> bool:
    if said is None:
        return False
    try:
        sock.sendall(said if isinstance(said, bytes) else f"{said}\r\n".encode())
    except OSError:
        return False
    return True


def write_certificate(
    folder: Path, address: str = "127.0.0.1", *, until_days: float = 1
) -> Path:
    """Write key and certificate of an address; the certificate is its own CA."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, address)])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=9))
        .not_valid_after(now + timedelta(days=until_days))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "ftp.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path
