"""SPARQL servers for tests, each with a separate folder; Virtuoso and Fuseki to read.

The tests that use them are marked `service`: skipped where a program is missing,
and a failure there in CI. Those to write to are in `store_services`.
"""

from __future__ import annotations

import fcntl
import http.client
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from tests.support.processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_START_SECS = 300.0
_FUSEKI_CLASS = "org.apache.jena.fuseki.main.cmds.FusekiMainCmd"
# `.ci/run` puts them there.
_JARS = "~/.cache/rdfcrawl-services"
FUSEKI = "jena-fuseki-server-*.jar"
RDF4J, JETTY = "rdf4j-http-server-*.war", "jetty-runner-*.jar"
# A process of a few seconds does not need the second compiler.
_SHORT_LIVED = ("-Xmx1g", "-XX:TieredStopAtLevel=1")


def find_jar(pattern: str) -> Path | None:
    """Return the newest archive of a server in the cache."""
    return max(Path(_JARS).expanduser().glob(pattern), default=None)


def require(programs: Iterable[str], jars: Iterable[str] = ()) -> None:
    """Skip the test if a program or an archive is missing."""
    missing = [name for name in programs if not shutil.which(name)]
    missing += [f"{_JARS}/{name}" for name in jars if find_jar(name) is None]
    if missing:
        pytest.skip(f"without {', '.join(missing)}")


def _cached(name: str, write: Callable[[Path], Path]) -> Path:
    """Return a file of the cache, for all test runs; write it if it is not there.

    Args:
        name: of the file, with all that it depends on.
        write: writes it to an empty folder, and returns where it is.
    """
    cache = Path(_JARS).expanduser()
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "written.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cache / name).exists():
            with tempfile.TemporaryDirectory(dir=cache) as folder:
                write(Path(folder)).rename(cache / name)
    return cache / name


def free_port() -> int:
    """Return a port without a listener."""
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
        probe: request that is repeated until it responds; `/path` or `?query`.
    """

    command: list[str]
    folder: Path
    endpoint: str
    probe: str = "?query=ASK%20%7B%7D"
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self) -> None:
        """Start it and wait until it answers."""
        with (self.folder / "out.log").open("wb") as log:
            self._process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=end_with_parent,  # noqa: PLW1509  # no other thread forks
            )
        deadline = time.monotonic() + _START_SECS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.end()
                text = (self.folder / "out.log").read_text("utf-8", "replace")
                raise RuntimeError(f"{self.command} did not start: {text[-2_000:]}")
            time.sleep(0.05)

    @property
    def pid(self) -> int:
        """Process id of a server that runs."""
        assert self._process is not None
        return self._process.pid

    def end(self) -> None:
        """End it, by its process id, and wait until it has ended."""
        self._end_by(signal.SIGKILL)  # nothing of it must be kept

    def end_in_order(self) -> None:
        """Terminate it, and wait until it has ended."""
        self._end_by(signal.SIGTERM)

    def _end_by(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(_START_SECS)
            self._process = None

    def _answers(self) -> bool:
        parts = urlsplit(self.endpoint)
        connection = http.client.HTTPConnection(
            str(parts.hostname), parts.port, timeout=5
        )
        try:
            path = "" if self.probe.startswith("/") else parts.path
            connection.request("GET", f"{path}{self.probe}")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


# -- Virtuoso ----------------------------------------------------------------------

_DATABASE = "virtuoso.db"
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
NumberOfBuffers = {n_buffers}
MaxDirtyBuffers = {n_dirty_buffers}
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


@dataclass(slots=True)
class VirtuosoServer(SparqlServer):
    """A Virtuoso, which has a port for SQL, too."""

    sql_address: str = ""

    def start(self) -> None:
        """Start it and wait until it answers; a new one begins with an empty copy."""
        database = self.folder / _DATABASE
        if not database.exists():
            shutil.copyfile(_empty_database(), database)
        SparqlServer.start(self)

    def stop(self) -> None:
        """End it as an operator does: all is in its database then."""
        with suppress(RuntimeError):  # it is notified that the server is gone
            self.execute("SHUTDOWN;")
        assert self._process is not None
        self._process.wait(_START_SECS)
        self._process = None

    def execute(self, statements: str) -> None:
        """Run statements of SQL.

        Raises:
            RuntimeError: one fails.
        """
        command = ["isql-vt", self.sql_address, "dba", "dba", f"exec={statements}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or "Error" in done.stdout + done.stderr:
            raise RuntimeError(done.stdout + done.stderr)


def _empty_database() -> Path:
    """Return a database with the statements of a new Virtuoso.

    That is half of the CPU of its first start. The file is for all test runs with this
    version of the program.
    """
    program = Path(shutil.which("virtuoso-t") or "").stat()
    name = f"virtuoso-{program.st_size}-{program.st_mtime_ns}.db"
    return _cached(name, _write_empty_database)


def _write_empty_database(folder: Path) -> Path:
    server = virtuoso_server(folder)
    SparqlServer.start(server)
    server.stop()
    return folder / _DATABASE


def virtuoso_server(
    folder: Path, *, max_rows: int = 1_000_000, n_buffers: int = 10_000
) -> VirtuosoServer:
    """Return a Virtuoso that is not started.

    Args:
        folder: empty; everything of it is there.
        max_rows: longer results are cut silently.
        n_buffers: of 8 KiB, in memory.
    """
    port, sql_port = free_port(), free_port()
    ini = folder / "virtuoso.ini"
    ini.write_text(
        _INI.format(
            folder=folder,
            port=port,
            sql_port=sql_port,
            max_rows=max_rows,
            n_buffers=n_buffers,
            n_dirty_buffers=n_buffers * 3 // 5,
        )
    )
    return VirtuosoServer(
        ["virtuoso-t", "-f", "-c", str(ini)],
        folder,
        f"http://127.0.0.1:{port}/sparql",
        sql_address=f"127.0.0.1:{sql_port}",
    )


def start_virtuoso(folder: Path, statements: Path, *, max_rows: int) -> SparqlServer:
    """Return a running Virtuoso with the statements of an N-Quads file.

    Args:
        folder: empty; everything of it is there.
        statements: each line has a graph.
        max_rows: longer results are cut silently.
    """
    server = virtuoso_server(folder, max_rows=max_rows)
    server.start()
    shutil.copy(statements, folder / "data.nq")
    # Flag 512: N-Quads.
    load = f"DB.DBA.TTLP(file_to_string_output('{folder}/data.nq'),'','http://x/',512);"
    try:
        server.execute(load)
    except RuntimeError:
        server.end()
        raise
    return server


# -- Java --------------------------------------------------------------------------


def _short_lived(
    jar: Path | None, server: Callable[[Path, Iterable[str]], SparqlServer]
) -> list[str]:
    """Return the options of a virtual machine for a server that lives for seconds.

    It reads its classes from an archive, which is up to half of the CPU of a start: a
    first server writes it as it ends. A machine of another version ignores the file.

    Args:
        jar: of the server.
        server: given a folder and the options.
    """

    def write(folder: Path) -> Path:
        archive = folder / "classes.jsa"
        options = *_SHORT_LIVED, f"-XX:ArchiveClassesAtExit={archive}"
        first = server(folder, options)
        first.start()
        first.end_in_order()
        return archive

    program = Path(shutil.which("java") or "").resolve().stat()
    files = (program, Path(jar or "").stat())
    changed = "-".join(str(file.st_mtime_ns) for file in files)
    archive = _cached(f"{Path(jar or '').stem}-{changed}.jsa", write)
    return [*_SHORT_LIVED, f"-XX:SharedArchiveFile={archive}"]


# -- Fuseki ------------------------------------------------------------------------


def fuseki_server(
    folder: Path, *words: str, dataset: str, java: Iterable[str] | None = None
) -> SparqlServer:
    """Return a Fuseki that is not started.

    Args:
        folder: its working directory.
        words: of its command line, after those that all have.
        dataset: with the requested endpoint.
        java: options of the virtual machine; None for those of a short life.
    """
    if java is None:
        java = _short_lived(find_jar(FUSEKI), _first_fuseki)
    port = free_port()
    command = ["java", *java, "-cp", str(find_jar(FUSEKI)), _FUSEKI_CLASS]
    command += ["--localhost", "-q", "--port", str(port), *words]
    return SparqlServer(command, folder, f"http://127.0.0.1:{port}/{dataset}/sparql")


def _first_fuseki(folder: Path, java: Iterable[str]) -> SparqlServer:
    return fuseki_server(folder, "--mem", "/ds", dataset="ds", java=java)


def start_fuseki(folder: Path, statements: Path, *, secs: int = 60) -> SparqlServer:
    """Return a running Fuseki with the statements of an N-Quads file, in memory.

    Args:
        folder: its working directory.
        statements: lines without a graph are of the default graph.
        secs: a query that takes longer is ended.
    """
    words = [f"--timeout={secs * 1_000}", f"--file={statements}", "/ds"]
    server = fuseki_server(folder, *words, dataset="ds")
    server.start()
    return server


# -- RDF4J -------------------------------------------------------------------------

_REPOSITORY = """
PREFIX config: <tag:rdf4j.org,2023:config/>
[] a config:Repository ; config:rep.id "crawl" ; config:rep.impl [
  config:rep.type "openrdf:SailRepository" ;
  config:sail.impl [ config:sail.type "{sail}" ; config:mem.persist true ]
] .
"""


class Rdf4jServer(SparqlServer):
    """An RDF4J server, whose endpoint is that of a repository."""

    def make_repository(self, *, sail: str = "openrdf:MemoryStore") -> None:
        """Make the repository; by default in memory, and written to disk."""
        headers = {"Content-Type": "text/turtle"}
        body = _REPOSITORY.format(sail=sail).encode()
        request = Request(self.endpoint, body, headers, method="PUT")
        urlopen(request, timeout=60).close()


def rdf4j_server(folder: Path, java: Iterable[str] | None = None) -> Rdf4jServer:
    """Return an RDF4J server that is not started.

    Args:
        folder: its working directory.
        java: options of the virtual machine; None for those of a short life.
    """
    if java is None:
        java = _short_lived(find_jar(RDF4J), rdf4j_server)
    port = free_port()
    command = ["java", *java, f"-Dorg.eclipse.rdf4j.appdata.basedir={folder}"]
    command += [f"-Djava.io.tmpdir={folder}", "-jar", str(find_jar(JETTY))]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    command += ["--path", "/rdf4j-server", str(find_jar(RDF4J))]
    endpoint = f"http://127.0.0.1:{port}/rdf4j-server/repositories/crawl"
    return Rdf4jServer(command, folder, endpoint, probe="/rdf4j-server/protocol")


class Servers:
    """Starts servers, each in a separate folder, and ends them all."""

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
    """Yield an object that starts Virtuoso and Fuseki; skip where one is missing."""
    require(("virtuoso-t", "isql-vt", "java"), (FUSEKI,))
    folders = (tmp_path_factory.mktemp("sparql") for _ in range(1_000))
    servers = Servers(folders)
    yield servers
    servers.end()
