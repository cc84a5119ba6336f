"""A node that is an FTP server: directories, dumps, perhaps a password."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NOT_FOUND, NodeRequest, NodeResponse
from rdfcrawl.dataweb.nodes.base import LABEL, to_ntriples
from rdfcrawl.dataweb.nodes.site import ChangingSite, SiteOptions, pack

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from rdfcrawl.dataweb.nodes.accesslog import AccessLog
    from rdfcrawl.dataweb.nodes.base import NodePlan, Statement

_POLL_SECS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class FtpOptions(SiteOptions["FtpNode"]):
    """Content of an FTP server.

    Attributes:
        n_files: dumps in N-Triples, every second packed, spread over directories.
        n_triples: of each dump.
        depth: directories, one in the other; the dumps are in all of them in turn.
        user, password: that are wanted; empty lets the anonymous in.
        has_loop: a directory leads back to the first one.
        resumes: the server knows REST.
        has_mlsd: the server knows MLSD and MLST.
        certificate: PEM file with key and certificate: AUTH TLS is offered, and
            wanted; empty for plain FTP.
    """

    kind: ClassVar[NodeKind] = NodeKind.FTP
    access_path: ClassVar[str] = "/pub/"
    n_files: int = 6
    n_triples: int = 50
    depth: int = 2
    user: str = ""
    password: str = ""
    has_loop: bool = False
    resumes: bool = True
    has_mlsd: bool = True
    certificate: str = ""

    def access_uri(self, origin: str) -> str:
        """Return the URL of the first directory."""
        return "ftp" + origin.removeprefix("http") + self.access_path

    def build(self, plan: NodePlan) -> FtpNode:
        """Make the node.

        Raises:
            ConfigError: pyftpdlib is not installed.
        """
        try:
            import_module("pyftpdlib.servers")
        except ImportError as error:
            raise ConfigError(
                "ftp nodes need pyftpdlib: pip install 'rdfcrawl[dataweb]'"
            ) from error
        return FtpNode(plan, self)


class FtpNode(ChangingSite):
    """Dumps below `/pub/`, at their paths in a temporary folder while it is served."""

    def __init__(self, plan: NodePlan, options: FtpOptions) -> None:
        super().__init__(plan)
        self.options = options
        self._revisions: dict[int, int] = {}
        self._folder: Path | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    # -- for tests -----------------------------------------------------------------

    @property
    def url(self) -> str:
        """URL of the first directory."""
        return self.plan.access_uri

    def file_urls(self) -> list[str]:
        """Return the URLs of all dumps."""
        root = self.url.removesuffix("/pub/")
        return [root + self._path(number) for number in range(self.options.n_files)]

    def state(self) -> dict[str, bytes]:
        """Return all present dumps: URL and bytes."""
        bodies = map(self._body, range(self.options.n_files))
        return dict(zip(self.file_urls(), bodies, strict=True))

    def revise(self, changed: int = 1) -> list[str]:
        """Change the first dumps; give their URLs."""
        with self._lock:
            numbers = range(min(changed, self.options.n_files))
            for number in numbers:
                self._revisions[number] = self._revisions.get(number, 0) + 1
                self._write(number)
            return self.file_urls()[: len(numbers)]

    def change(self, **arguments: Any) -> object:
        """Do `revise`."""
        return self.revise(**arguments)

    def iter_truth(self) -> Iterator[Statement]:
        """Yield the triples of all dumps."""
        for number in range(self.options.n_files):
            yield from self._statements(number)

    # -- the server ------------------------------------------------------------------

    def respond_other(self, request: NodeRequest) -> NodeResponse:
        """Do not respond: this node does not speak HTTP."""
        del request
        return NOT_FOUND

    def listen(self, listener: socket.socket, log: AccessLog) -> None:
        """Serve in a separate thread."""
        self._folder = Path(tempfile.mkdtemp(prefix="dataweb-ftp-"))
        for number in range(self.options.n_files):
            self._write(number)
        (self._folder / "pub" / "README").write_text("Dumps of the node.\n")
        if self.options.has_loop:
            (self._folder / "pub" / "again").symlink_to(self._folder / "pub")
        loop = import_module("pyftpdlib.ioloop").IOLoop()
        servers = import_module("pyftpdlib.servers")
        handler = _make_handler(self.options, self._folder, log)
        server = servers.FTPServer(listener, handler, ioloop=loop)
        self._thread = threading.Thread(
            target=self._serve, args=(server, loop), daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop serving, and remove the folder."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(10)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _serve(self, server: Any, loop: Any) -> None:
        # Not `serve_forever`, which sets up logging for the process.
        while not self._stopped.is_set():
            loop.loop(timeout=_POLL_SECS, blocking=False)
        server.close_all()

    # -- the files -------------------------------------------------------------------

    def _path(self, number: int) -> str:
        depth = number % (self.options.depth + 1)
        below = "".join(f"level-{level}/" for level in range(depth))
        suffix = ".nt.gz" if number % 2 else ".nt"
        return f"/pub/{below}dump-{number}{suffix}"

    def _body(self, number: int) -> bytes:
        body = to_ntriples(self._statements(number))
        return pack(body) if number % 2 else body

    def _write(self, number: int) -> None:
        if self._folder is None:
            return
        path = self._folder / self._path(number)[1:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self._body(number))

    def _statements(self, number: int) -> Iterator[Statement]:
        revision = self._revisions.get(number, 0)
        for nth in range(self.options.n_triples):
            subject = f"<{self.origin}/thing/{number}/{nth}>"
            yield subject, LABEL, f'"Thing {nth} of dump {number}, revision {revision}"'
        for position, link in enumerate(self.plan.links):
            if position % self.options.n_files == number:
                subject = f"<{self.origin}/thing/{number}/0>"
                yield subject, f"<{self.origin}/property-0>", f"<{link}>"


def _make_handler(options: FtpOptions, folder: Path, log: AccessLog) -> Any:
    """Create the class that serves one connection, and logs its requests."""
    handlers = import_module("pyftpdlib.handlers")
    authorizers = import_module("pyftpdlib.authorizers")
    authorizer = authorizers.DummyAuthorizer()
    if options.user:
        authorizer.add_user(options.user, options.password, str(folder))
    else:
        authorizer.add_anonymous(str(folder))
    is_secure = bool(options.certificate)
    base = handlers.TLS_FTPHandler if is_secure else handlers.FTPHandler

    def log_cmd(_: Any, command: str, argument: str, status: int, __: str) -> None:
        argument = argument.removeprefix(str(folder)) if argument else ""
        secret = "" if command == "PASS" else argument
        request = NodeRequest(command, secret)
        log.request_started(request, "", time.monotonic())
        log.request_ended(status, 0, is_first=False)
        log.keep(request, status, 0)

    unknown = [] if options.resumes else ["REST"]
    unknown += [] if options.has_mlsd else ["MLSD", "MLST"]
    commands = {k: v for k, v in base.proto_cmds.items() if k not in unknown}
    members: dict[str, Any] = {
        "authorizer": authorizer,
        "banner": "dataweb",
        "proto_cmds": commands,
        "log_cmd": log_cmd,
        "on_connect": lambda _: log.connection_opened(),
        "on_disconnect": lambda _: log.connection_closed(),
        "log": lambda *_, **__: None,
        "logline": lambda *_, **__: None,
        "auth_failed_timeout": 0,
    }
    if is_secure:
        members |= {"certfile": options.certificate, "tls_control_required": True}
    return type("Handler", (base,), members)
