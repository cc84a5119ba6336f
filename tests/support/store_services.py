"""Real stores for the tests to write to, each started when a test first needs it.

Their content is read here without the code that follows a crawl: by one request, or by
SQL in Virtuoso. Tests that use them are marked `service`.
"""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlencode, urlsplit
from urllib.request import (
    HTTPBasicAuthHandler,
    HTTPDigestAuthHandler,
    HTTPPasswordMgrWithDefaultRealm,
    Request,
    build_opener,
)

import pyoxigraph as ox
import pytest

from tests.support.sparql_services import (
    FUSEKI,
    JETTY,
    RDF4J,
    SparqlServer,
    VirtuosoServer,
    free_port,
    fuseki_server,
    rdf4j_server,
    require,
    virtuoso_server,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

USER, PASSWORD = "crawl", "s3cret & so"
OWN_GRAPHS = "urn:rdfcrawl:"  # the crawl's provenance and book-keeping
_FUSEKI_DATASET = """
:{name} fuseki:name "{name}" ; fuseki:dataset {dataset} ; {access}
  fuseki:endpoint [ fuseki:operation fuseki:query ; fuseki:name "sparql" ] ,
    [ fuseki:operation fuseki:query ; fuseki:name "query" ] ,
    [ fuseki:operation fuseki:update ; fuseki:name "update" ] ,
    [ fuseki:operation fuseki:gsp-rw ; fuseki:name "data" ] .
"""
_FUSEKI_CONFIG = """
PREFIX :       <#>
PREFIX fuseki: <http://jena.apache.org/fuseki#>
PREFIX ja:     <http://jena.hpl.hp.com/2005/11/Assembler#>
PREFIX tdb2:   <http://jena.apache.org/2016/tdb#>
[] a fuseki:Server ; fuseki:passwd "{passwords}" ; fuseki:auth "basic" ;
  fuseki:services ( :open :closed ) .
"""


class StoreService(ABC):
    """A running store and its content.

    Attributes:
        uri: as `STORES` has it.
        options: as `STORES` has them.
        server: that can be ended, and started again.
    """

    server: SparqlServer

    def __init__(self, uri: str, server: SparqlServer, *, has_login: bool) -> None:
        self.uri, self.server = uri, server
        login = {"user": USER, "password": PASSWORD}
        self.options: dict[str, Any] = login if has_login else {}
        passwords = HTTPPasswordMgrWithDefaultRealm()
        passwords.add_password(None, self.origin, USER, PASSWORD)
        handlers = HTTPBasicAuthHandler(passwords), HTTPDigestAuthHandler(passwords)
        self._open = build_opener(*handlers).open

    @property
    def origin(self) -> str:
        """The scheme, host and port of the server."""
        parts = urlsplit(self.server.endpoint)
        return f"{parts.scheme}://{parts.netloc}"

    def quads(self) -> set[ox.Quad]:
        """Return the statements of all graphs, without those about the crawl."""
        return {
            quad
            for quad in ox.parse(self.dump(), format=ox.RdfFormat.N_QUADS)
            if isinstance(quad.graph_name, ox.NamedNode)
            if not quad.graph_name.value.startswith(OWN_GRAPHS)
        }

    def ask(self, url: str, *, method: str | None = None, **given: Any) -> bytes:
        """Return the body of a response; other arguments are a form."""
        data = urlencode(given).encode() if given else None
        request = Request(
            url, data, {"Accept": "application/n-quads, */*;q=0.1"}, method=method
        )
        with self._open(request, timeout=60) as response:
            assert response.status < HTTPStatus.BAD_REQUEST
            body: bytes = response.read()
            return body

    @abstractmethod
    def dump(self) -> bytes:
        """Return all that is in it, as N-Quads."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all that is in it."""


class FusekiService(StoreService):
    """A dataset of Apache Jena Fuseki."""

    def dump(self) -> bytes:
        """Return all that is in it, as N-Quads."""
        return self.ask(self.server.endpoint.replace("/sparql", "/data"))

    def clear(self) -> None:
        """Remove all that is in it."""
        self.ask(self.server.endpoint.replace("/sparql", "/update"), update="DROP ALL")


class OxigraphService(StoreService):
    """The server of Oxigraph."""

    def dump(self) -> bytes:
        """Return all that is in it, as N-Quads."""
        return self.ask(f"{self.origin}/store")

    def clear(self) -> None:
        """Remove all that is in it."""
        self.ask(f"{self.origin}/update", update="DROP ALL")


class Rdf4jService(StoreService):
    """A repository of RDF4J server."""

    def dump(self) -> bytes:
        """Return all that is in it, as N-Quads."""
        return self.ask(f"{self.server.endpoint}/statements")

    def clear(self) -> None:
        """Remove all that is in it."""
        self.ask(f"{self.server.endpoint}/statements", method="DELETE")


class VirtuosoService(StoreService):
    """A Virtuoso; its system graphs are left out."""

    server: VirtuosoServer
    _OWN: ClassVar = (
        "http://www.openlinksw.com/schemas/virtrdf#",
        "http://www.w3.org/ns/ldp#",
        "http://localuriqaserver/sparql",
        "http://www.w3.org/2002/07/owl#",
    )

    def dump(self) -> bytes:
        """Return all that is in it, as N-Quads."""
        own = ", ".join(f"<{graph}>" for graph in self._OWN)
        query = f"SELECT * {{ GRAPH ?g {{ ?s ?p ?o }} FILTER (?g NOT IN ({own})) }}"
        answer = self.ask(f"{self.server.endpoint}?format=json", query=query)
        rows = json.loads(answer)["results"]["bindings"]
        lines = (" ".join(_term(row[name]) for name in "spog") + " .\n" for row in rows)
        return "".join(lines).encode()

    def clear(self) -> None:
        """Remove all that is in it."""
        # Not `RDF_GLOBAL_RESET`, which rewrites its system graphs.
        kept = " and ".join(f"G <> iri_to_id ('{graph}')" for graph in self._OWN)
        self.server.execute(f"DELETE FROM DB.DBA.RDF_QUAD WHERE {kept};")


def _term(found: dict[str, str]) -> str:
    """Return a term of the JSON of query results as N-Quads."""
    value = found["value"]
    match found["type"]:
        case "uri":
            return str(ox.NamedNode(value))
        case "bnode":
            return f"_:{value.removeprefix('nodeID://')}"
    if language := found.get("xml:lang"):
        return str(ox.Literal(value, language=language))
    if kind := found.get("datatype"):
        return str(ox.Literal(value, datatype=ox.NamedNode(kind)))
    return str(ox.Literal(value))


# -- how each is started -----------------------------------------------------------


@pytest.fixture(scope="session")
def fuseki_stores(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[FusekiService, FusekiService]]:
    """Yield two datasets of one Fuseki: TDB2 for all, and in memory with a login."""
    require(("java",), (FUSEKI,))
    folder = tmp_path_factory.mktemp("fuseki")
    passwords = folder / "passwords"
    passwords.write_text(f"{USER}: {PASSWORD}\n")
    disk = f'[ a tdb2:DatasetTDB2 ; tdb2:location "{folder}/tdb2" ]'
    memory = "[ a ja:MemoryDataset ]"
    login = f'fuseki:allowedUsers "{USER}" ;'
    config = folder / "config.ttl"
    config.write_text(
        _FUSEKI_CONFIG.format(passwords=passwords)
        + _FUSEKI_DATASET.format(name="open", dataset=disk, access="")
        + _FUSEKI_DATASET.format(name="closed", dataset=memory, access=login)
    )
    server = fuseki_server(folder, f"--config={config}", dataset="open")
    server.start()
    base = server.endpoint.removesuffix("/open/sparql")
    closed = SparqlServer([], folder, f"{base}/closed/sparql")
    yield (
        FusekiService(f"fuseki+{base}/open", server, has_login=False),
        FusekiService(f"fuseki+{base}/closed", closed, has_login=True),
    )
    server.end()


@pytest.fixture(scope="session")
def fuseki_store(
    fuseki_stores: tuple[FusekiService, FusekiService],
) -> FusekiService:
    """Return a dataset of Fuseki for all, on disk."""
    return fuseki_stores[0]


@pytest.fixture(scope="session")
def fuseki_store_with_login(
    fuseki_stores: tuple[FusekiService, FusekiService],
) -> FusekiService:
    """Return a dataset of Fuseki, in memory, that wants basic authentication."""
    return fuseki_stores[1]


@pytest.fixture(scope="session")
def oxigraph_store(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[OxigraphService]:
    """Yield the server of Oxigraph, on disk."""
    program = Path(sys.executable).with_name("oxigraph")
    require((str(program),))
    folder, port = tmp_path_factory.mktemp("oxigraph"), free_port()
    at = f"127.0.0.1:{port}"
    command = [str(program), "serve", "--location", str(folder / "db"), "--bind", at]
    server = SparqlServer(command, folder, f"http://{at}/query")
    server.start()
    yield OxigraphService(f"oxigraph+http://{at}/", server, has_login=False)
    server.end()


@pytest.fixture(scope="session")
def rdf4j_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rdf4jService]:
    """Yield a repository of RDF4J server, in memory and written to disk."""
    require(("java",), (RDF4J, JETTY))
    server = rdf4j_server(tmp_path_factory.mktemp("rdf4j"))
    server.start()
    server.make_repository()
    store = Rdf4jService(f"rdf4j+{server.endpoint}", server, has_login=False)
    yield store
    server.end()


@pytest.fixture(scope="session")
def virtuoso_store(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[VirtuosoService]:
    """Yield a Virtuoso with a user that may write, by digest authentication."""
    require(("virtuoso-t", "isql-vt"))
    server = virtuoso_server(tmp_path_factory.mktemp("virtuoso"))
    server.start()
    server.execute(
        f"DB.DBA.USER_CREATE ('{USER}', '{PASSWORD}');"
        f' GRANT SPARQL_UPDATE TO "{USER}";'
    )
    origin = server.endpoint.removesuffix("/sparql")
    yield VirtuosoService(f"virtuoso+{origin}/", server, has_login=True)
    server.end()
