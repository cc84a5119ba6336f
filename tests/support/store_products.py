"""Documented interfaces of SPARQL stores."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tests.support.store_http import Answer

if TYPE_CHECKING:
    from collections.abc import Callable


_NO_CONTENT = Answer(status=204)


def _plain(status: int, text: str) -> Answer:
    return Answer(status=status, body=text.encode())


def _qlever_error(status: int, text: str) -> Answer:
    body = {"exception": text, "status": "ERROR", "resultsize": 0}
    return _json(status, body)


def _neptune_error(status: int, text: str) -> Answer:
    kinds = {403: "AccessDeniedException", 404: "BadRequestException"}
    code = kinds.get(status, "MalformedQueryException")
    body = {"requestId": "0-0", "code": code, "detailedMessage": text}
    return _json(400 if status == 404 else status, body)


def _stardog_error(status: int, text: str) -> Answer:
    return _json(status, {"message": text, "code": "QE0PE2"})


def _blazegraph_error(status: int, text: str) -> Answer:
    trace = f"SPARQL-UPDATE: updateStr=...\njava.lang.RuntimeException: {text}"
    return _plain(500 if status == 400 else status, trace)


def _json(status: int, body: Any) -> Answer:
    text = json.dumps(body).encode()
    return Answer(status=status, body=text, media_type="application/json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Documented interface of a product.

    Attributes:
        uri: of the store in `STORES`, for the origin of its server.
        query_path: of the endpoint for queries.
        update_path: of the endpoint for updates.
        graph_path: of the Graph Store Protocol; empty if there is none.
        login: how a client authenticates: `basic`, `bearer` or nothing.
        graph_methods: that the Graph Store Protocol has.
        operations: of SPARQL Update that it has not.
        error: response to refused requests.
        update_answer: body of the response to an update.
    """

    uri: str
    query_path: str
    update_path: str
    graph_path: str = ""
    login: str = ""
    graph_methods: frozenset[str] = frozenset({"GET", "PUT", "POST", "DELETE"})
    operations: frozenset[str] = frozenset()
    error: Callable[[int, str], Answer] = _plain
    update_answer: Answer = _NO_CONTENT


QLEVER = Product(
    uri="qlever+{origin}/",
    query_path="/",
    update_path="/",
    graph_path="/",
    login="bearer",
    operations=frozenset({"LOAD", "CLEAR", "CREATE", "ADD", "COPY", "MOVE"}),
    error=_qlever_error,
    update_answer=_json(200, {"operations": [{"status": "OK"}]}),
)
# Before PUT and DELETE of the Graph Store Protocol.
OLD_QLEVER = replace(QLEVER, graph_methods=frozenset({"GET", "POST"}))
STARDOG = Product(
    uri="stardog+{origin}/db",
    query_path="/db/query",
    update_path="/db/update",
    graph_path="/db",
    login="basic",
    error=_stardog_error,
    update_answer=Answer(status=200),
)
GRAPHDB = Product(
    uri="graphdb+{origin}/repositories/web",
    query_path="/repositories/web",
    update_path="/repositories/web/statements",
    graph_path="/repositories/web/rdf-graphs/service",
    login="basic",
)
OXIGRAPH = Product(
    uri="oxigraph+{origin}/",
    query_path="/query",
    update_path="/update",
    graph_path="/store",
)
NEPTUNE = Product(
    uri="neptune+{origin}/",
    query_path="/sparql",
    update_path="/sparql",
    graph_path="/sparql/gsp/",
    error=_neptune_error,
    update_answer=_json(200, [{"type": "UpdateEvent"}]),
)
OLD_NEPTUNE = replace(NEPTUNE, graph_path="")  # before release 1.0.5.0
BLAZEGRAPH = Product(
    uri="blazegraph+{origin}/blazegraph/namespace/kb/sparql",
    query_path="/blazegraph/namespace/kb/sparql",
    update_path="/blazegraph/namespace/kb/sparql",
    error=_blazegraph_error,
    update_answer=Answer(
        status=200, body=b"<html><p>totalElapsed=1ms</p></html>", media_type="text/html"
    ),
)
GENERIC = Product(
    uri="sparql+{origin}/sparql",
    query_path="/sparql",
    update_path="/sparql",
    graph_path="/sparql",
)
OXIGRAPH = Product(
    uri="oxigraph+{origin}/",
    query_path="/query",
    update_path="/update",
    graph_path="/store",
)
VIRTUOSO = Product(
    uri="virtuoso+{origin}/", query_path="/sparql", update_path="/sparql"
)
