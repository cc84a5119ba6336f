"""Stores that a benchmark fills: by following a log, and by their own bulk loaders."""

from __future__ import annotations

import shutil
import sys
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tests.bench.measured import cpu_secs, run_measured
from tests.support.processes import peak_bytes
from tests.support.sparql_services import (
    FUSEKI,
    JETTY,
    RDF4J,
    Rdf4jServer,
    SparqlServer,
    VirtuosoServer,
    find_jar,
    free_port,
    fuseki_server,
    rdf4j_server,
    virtuoso_server,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_JAVA = ("-Xmx2g",)
_BUFFERS = 170_000  # of Virtuoso, 8 KiB each
_OXIGRAPH = str(Path(sys.executable).with_name("oxigraph"))
_USER, _PASSWORD = "crawl", "s3cret"
_TO_PARQUET = r"""
SET threads = 2; SET memory_limit = '1GB';
COPY (
  SELECT unnest(regexp_extract(
      line, '^(\S+) (\S+) (.*) (<[^>]*>) \.$', ['s', 'p', 'o', 'g'])),
    regexp_extract(line, ' <[a-z]+://([^/:>]*)[^>]*> \.$', 1) AS host
  FROM read_csv('{path}', columns = {{'line': 'VARCHAR'}}, delim = '\x01', quote = '',
    escape = '', header = false)
) TO '{folder}' (FORMAT parquet, PARTITION_BY (host))
"""


class Spent(NamedTuple):
    """Cost of filling a store.

    Attributes:
        wall_secs: from begin to end.
        cpu_secs: of the process that follows, or loads.
        server_secs: of CPU, of the server that takes it.
        rss_mb: peak memory of that process.
        server_mb: of the server.
    """

    wall_secs: float
    cpu_secs: float
    server_secs: float = 0.0
    rss_mb: float = 0.0
    server_mb: float = 0.0

    @property
    def all_cpu_secs(self) -> float:
        """CPU of both."""
        return self.cpu_secs + self.server_secs


class LoadedStore(ABC):
    """A store on this machine, empty at first.

    Args:
        folder: empty; everything of the store is there.

    Attributes:
        name: of the kind.
        loader: the command that it is compared to.
        uri: as `STORES` has it, while the store runs.
        options: as `STORES` has them.
    """

    name: ClassVar[str]
    loader: ClassVar[str]
    uri: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.options: dict[str, Any] = {}

    @classmethod
    def missing(cls) -> str:
        """Return the missing software."""
        return ""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the services of the store."""
        yield

    @property
    def pid(self) -> int | None:
        """Process id of the server, if there is one."""
        return None

    @abstractmethod
    def load(self, path: Path) -> Spent:
        """Load a file of N-Quads, gzip, by the bulk loader; the store does not run."""

    def while_running(self, call: Callable[[], Spent]) -> Spent:
        """Run the store, and `call`; return the cost of both."""
        with self.running():
            pid = self.pid
            before = cpu_secs(pid) if pid else 0.0
            spent = call()
            if not pid:
                return spent
            server_secs = cpu_secs(pid) - before
            return spent._replace(
                server_secs=server_secs, server_mb=peak_bytes(pid) / 1e6
            )


def run_loader(command: list[str]) -> Spent:
    """Run a bulk loader that is a separate program."""
    usage = run_measured(command, lambda _: None)
    if usage.exit_code:
        raise RuntimeError(f"{command[0]} ended with {usage.exit_code}")
    return Spent(usage.wall_secs, usage.cpu_secs, rss_mb=usage.rss_mb)


class _ServedStore(LoadedStore):
    server: SparqlServer

    @property
    def pid(self) -> int | None:
        return self.server.pid

    @contextmanager
    def running(self) -> Iterator[None]:
        self.server = self.make()
        self.server.start()
        try:
            self.prepare()
            yield
        finally:
            self.server.end()

    @abstractmethod
    def make(self) -> SparqlServer:
        """Return the server, which is not started."""

    def prepare(self) -> None:
        """Prepare the server that runs."""


class FusekiStore(_ServedStore):
    """Fuseki with TDB2."""

    name = "fuseki"
    loader = "tdb2.tdbloader"

    @classmethod
    def missing(cls) -> str:
        """Return the missing software."""
        found = shutil.which("java") and find_jar(FUSEKI)
        return "" if found else FUSEKI

    def make(self) -> SparqlServer:
        """Return the server."""
        database = self.folder / "tdb2"
        database.mkdir()
        words = ["--tdb2", f"--loc={database}", "--update", "/ds"]
        server = fuseki_server(self.folder, *words, dataset="ds", java=_JAVA)
        self.uri = f"fuseki+{server.endpoint.removesuffix('/sparql')}"
        return server

    def load(self, path: Path) -> Spent:
        """Load a file."""
        java = ["java", *_JAVA, "-cp", str(find_jar(FUSEKI)), "tdb2.tdbloader"]
        return run_loader([*java, "--loc", str(self.folder / "tdb2"), str(path)])


class OxigraphServerStore(_ServedStore):
    """The server of Oxigraph."""

    name = "oxigraph-server"
    loader = "oxigraph load"

    @classmethod
    def missing(cls) -> str:
        """Return the missing software."""
        return "" if shutil.which(_OXIGRAPH) else "oxigraph"

    def make(self) -> SparqlServer:
        """Return the server."""
        at = f"127.0.0.1:{free_port()}"
        self.uri = f"oxigraph+http://{at}/"
        command = [_OXIGRAPH, "serve", "--location", str(self.folder / "db")]
        return SparqlServer([*command, "--bind", at], self.folder, f"http://{at}/query")

    def load(self, path: Path) -> Spent:
        """Load a file."""
        return _oxigraph_load(self.folder, path)


class VirtuosoStore(_ServedStore):
    """Virtuoso with 1.4 GB of buffers."""

    name = "virtuoso"
    loader = "ld_dir"
    server: VirtuosoServer

    @classmethod
    def missing(cls) -> str:
        """Return the missing software."""
        programs = ("virtuoso-t", "isql-vt")
        return " ".join(each for each in programs if not shutil.which(each))

    def make(self) -> SparqlServer:
        """Return the server."""
        server = virtuoso_server(self.folder, n_buffers=_BUFFERS)
        self.uri = f"virtuoso+{server.endpoint.removesuffix('/sparql')}/"
        self.options = {"user": _USER, "password": _PASSWORD}
        return server

    def prepare(self) -> None:
        """Make a user that may write."""
        self.server.execute(
            f"DB.DBA.USER_CREATE ('{_USER}', '{_PASSWORD}');"
            f' GRANT SPARQL_UPDATE TO "{_USER}";'
        )

    def load(self, path: Path) -> Spent:
        """Load a file."""
        place = self.folder / "load"
        place.mkdir()
        (place / path.name).hardlink_to(path)
        statements = f"ld_dir ('{place}', '{path.name}', 'urn:x'); rdf_loader_run ();"

        def execute() -> Spent:
            began = time.monotonic()
            self.server.execute(f"{statements} checkpoint;")
            return Spent(time.monotonic() - began, 0.0)

        return self.while_running(execute)


class VirtuosoUpdateStore(VirtuosoStore):
    """Virtuoso, by updates alone."""

    name = "virtuoso-update"

    def make(self) -> SparqlServer:
        """Return the server."""
        server = super().make()
        self.options["method"] = "update"
        return server


class Rdf4jStore(_ServedStore):
    """RDF4J server with a repository on disk, whose bulk way is one long request."""

    name = "rdf4j"
    loader = "POST /statements"
    server: Rdf4jServer

    @classmethod
    def missing(cls) -> str:
        """Return the missing software."""
        found = shutil.which("java") and find_jar(RDF4J) and find_jar(JETTY)
        return "" if found else f"{RDF4J} or {JETTY}"

    def make(self) -> SparqlServer:
        """Return the server."""
        server = rdf4j_server(self.folder, java=_JAVA)
        self.uri = f"rdf4j+{server.endpoint}"
        return server

    def prepare(self) -> None:
        """Make the repository."""
        self.server.make_repository(sail="openrdf:NativeStore")

    def load(self, path: Path) -> Spent:
        """Load a file."""
        program = (
            "import gzip, sys, urllib.request as r; r.urlopen(r.Request(sys.argv[1],"
            " gzip.open(sys.argv[2]).read(), {'Content-Type': 'application/n-quads'}))"
        )

        def post() -> Spent:
            url = f"{self.server.endpoint}/statements"
            return run_loader([sys.executable, "-c", program, url, str(path)])

        return self.while_running(post)


class OxigraphStore(LoadedStore):
    """Oxigraph embedded."""

    name = "oxigraph"
    loader = "oxigraph load"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.uri = f"oxigraph:{folder / 'db'}"

    @classmethod
    def missing(cls) -> str:
        """Return the missing software."""
        return OxigraphServerStore.missing()

    def load(self, path: Path) -> Spent:
        """Load a file."""
        return _oxigraph_load(self.folder, path)


class ParquetStore(LoadedStore):
    """Parquet, a folder for each host."""

    name = "parquet"
    loader = "DuckDB"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.uri = f"parquet:{folder / 'data'}"

    def load(self, path: Path) -> Spent:
        """Load a file by DuckDB: terms as they stand, and nothing that could change."""
        query = _TO_PARQUET.format(path=path, folder=self.folder / "duckdb")
        program = "import sys, duckdb; duckdb.execute(sys.argv[1])"
        return run_loader([sys.executable, "-c", program, query])


class FilesStore(LoadedStore):
    """Files of TriG, one for each host."""

    name = "files"
    loader = "oxigraph convert"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.uri = f"trig:{folder / 'files'}"
        self.options = {"per": "host"}

    @classmethod
    def missing(cls) -> str:
        """Return the missing software."""
        return OxigraphServerStore.missing()

    def load(self, path: Path) -> Spent:
        """Convert a file to one of TriG."""
        plain, converted = self.folder / "data.nq", self.folder / "data.trig"
        words = f"zcat {path} > {plain} && {_OXIGRAPH} convert"
        words += f" --from-file {plain} --to-file {converted}"
        return run_loader(["sh", "-c", words])


def _oxigraph_load(folder: Path, path: Path) -> Spent:
    command = [_OXIGRAPH, "load", "--location", str(folder / "db")]
    return run_loader([*command, "--file", str(path)])


STORES: tuple[type[LoadedStore], ...] = (
    OxigraphStore,
    ParquetStore,
    FilesStore,
    OxigraphServerStore,
    FusekiStore,
    Rdf4jStore,
    VirtuosoStore,
    VirtuosoUpdateStore,
)
