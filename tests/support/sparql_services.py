"""SPARQL servers for tests: Virtuoso and Fuseki, each with a folder of its own.

The tests that use them are marked `service`: skipped where a program is missing,
and a failure there in CI.
"""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_START_SECS = 300.0
FUSEKI_CLASS = "org.apache.jena.fuseki.main.cmds.FusekiMainCmd"
FUSEKI_FOLDER = "~/.cache/rdfcrawl-services"


def fuseki_jar() -> Path | None:
    """Return the jar of Fuseki: `RDFCRAWL_FUSEKI_JAR`, or the newest in the cache."""
    named = os.environ.get("RDFCRAWL_FUSEKI_JAR")
    if named:
        return Path(named) if Path(named).is_file() else None
    found = Path(FUSEKI_FOLDER).expanduser().glob("jena-fuseki-server-*.jar")
    return max(found, default=None)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass(slots=True)
class SparqlServer:
    """A server of the tests' own, on the loopback interface.

    Attributes:
        command: that starts it, in the foreground.
        folder: its working directory.
        endpoint: URL of its SPARQL endpoint.
    """

    command: list[str]
    folder: Path
    endpoint: str
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self) -> None:
        """Start it and wait until its endpoint answers a query."""
        with (self.folder / "out.log").open("wb") as log:
            self._process = subprocess.Popen(
                self.command, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + _START_SECS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.end()
                text = (self.folder / "out.log").read_text("utf-8", "replace")
                raise RuntimeError(f"{self.command} did not start: {text[-2_000:]}")
            time.sleep(0.05)

    def end(self) -> None:
        """End it, by its process id, and wait until it has ended."""
        if self._process is not None:
            # Nothing of it is to be kept.
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(_START_SECS)
            self._process = None

    def _answers(self) -> bool:
        parts = urlsplit(self.endpoint)
        connection = http.client.HTTPConnection(
            str(parts.hostname), parts.port, timeout=5
        )
        try:
            connection.request("GET", f"{parts.path}?query=ASK%20%7B%7D")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


# -- Virtuoso ----------------------------------------------------------------------

_INI = """\
[Database]
DatabaseFile = {folder}/virtuoso.db
ErrorLogFile = {folder}/virtuoso.log
LockFile = {folder}/virtuoso.lck
TransactionFile = {folder}/virtuoso.trx
xa_persistent_file = {folder}/virtuoso.pxa
ErrorLogLevel = 7
FileExtend = 200
MaxCheckpointRemap = 2000
Striping = 0
TempStorage = TempDatabase
[TempDatabase]
DatabaseFile = {folder}/virtuoso-temp.db
TransactionFile = {folder}/virtuoso-temp.trx
MaxCheckpointRemap = 2000
Striping = 0
[Parameters]
ServerPort = 127.0.0.1:{sql_port}
DisableUnixSocket = 1
ServerThreads = 8
CheckpointInterval = 0
NumberOfBuffers = 10000
MaxDirtyBuffers = 6000
CaseMode = 2
DirsAllowed = {folder}
SchedulerInterval = 10
ThreadsPerQuery = 2
[HTTPServer]
ServerPort = 127.0.0.1:{port}
ServerRoot = {folder}
ServerThreads = 4
[SPARQL]
ResultSetMaxRows = {max_rows}
MaxQueryCostEstimationTime = 400
MaxQueryExecutionTime = 60
"""


def start_virtuoso(folder: Path, statements: Path, *, max_rows: int) -> SparqlServer:
    """Return a running Virtuoso with the statements of an N-Quads file.

    Args:
        folder: empty; everything of it is there.
        statements: each line has a graph.
        max_rows: no answer has more rows, and none tells so.
    """
    port, sql_port = _free_port(), _free_port()
    ini = folder / "virtuoso.ini"
    ini.write_text(
        _INI.format(folder=folder, port=port, sql_port=sql_port, max_rows=max_rows)
    )
    program = shutil.which("virtuoso-t")
    assert program is not None
    server = SparqlServer(
        [program, "-f", "-c", str(ini)], folder, f"http://127.0.0.1:{port}/sparql"
    )
    server.start()
    shutil.copy(statements, folder / "data.nq")
    # Flag 512: N-Quads.
    load = f"DB.DBA.TTLP(file_to_string_output('{folder}/data.nq'),'','http://x/',512);"
    command = ["isql-vt", f"127.0.0.1:{sql_port}", "dba", "dba", f"exec={load}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or "Error" in done.stdout + done.stderr:
        server.end()
        raise RuntimeError(done.stdout + done.stderr)
    return server


def start_fuseki(folder: Path, statements: Path, *, secs: int = 60) -> SparqlServer:
    """Return a running Fuseki with the statements of an N-Quads file, in memory.

    Args:
        folder: its working directory.
        statements: lines without a graph are of the default graph.
        secs: a query that takes longer is ended.
    """
    port, jar = _free_port(), fuseki_jar()
    java = shutil.which("java")
    assert jar is not None
    assert java is not None
    command = [java, "-Xmx1g", "-cp", str(jar), FUSEKI_CLASS, "--localhost", "-q"]
    command += ["--port", str(port), f"--timeout={secs * 1_000}"]
    command += [f"--file={statements}", "/ds"]
    server = SparqlServer(command, folder, f"http://127.0.0.1:{port}/ds/sparql")
    server.start()
    return server


class Servers:
    """Starts servers, each in a folder of its own, and ends them all."""

    def __init__(self, folders: Iterator[Path]) -> None:
        self._folders, self._running = folders, list[SparqlServer]()

    def virtuoso(self, statements: Path, *, max_rows: int) -> SparqlServer:
        """Start a Virtuoso; see `start_virtuoso`."""
        server = start_virtuoso(next(self._folders), statements, max_rows=max_rows)
        self._running.append(server)
        return server

    def fuseki(self, statements: Path) -> SparqlServer:
        """Start a Fuseki; see `start_fuseki`."""
        server = start_fuseki(next(self._folders), statements)
        self._running.append(server)
        return server

    def end(self) -> None:
        """End them all."""
        for server in self._running:
            server.end()
        self._running.clear()


@pytest.fixture(scope="module")
def sparql_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Yield what starts Virtuoso and Fuseki; skip where one is missing."""
    missing = [
        name for name in ("virtuoso-t", "isql-vt", "java") if not shutil.which(name)
    ]
    if not missing and fuseki_jar() is None:
        missing = [f"jena-fuseki-server-*.jar in {FUSEKI_FOLDER}"]
    if missing:
        if os.environ.get("CI"):
            pytest.fail(f"needed in CI: {', '.join(missing)}")
        pytest.skip(f"without {', '.join(missing)}")
    folders = (tmp_path_factory.mktemp("sparql") for _ in range(1_000))
    servers = Servers(folders)
    yield servers
    servers.end()
