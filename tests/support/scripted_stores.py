"""Stores that behave as products document it, and bad ones; a script, not the products.

A scripted store has the paths, logins, refusals and error bodies that the documentation
of a product describes, by SPARQL 1.1 Protocol and Graph Store HTTP Protocol; Oxigraph
in memory keeps its quads. Unknown requests are refused, as by the strictest product.
"""

from __future__ import annotations

import re
import threading
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Self

import pyoxigraph as ox

from tests.support.store_http import Answer, StoreRequest, StoreServer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.support.store_products import Product

USER, PASSWORD, TOKEN = "crawl", "s3cret & so", "t0ken-of-the-store"
OWN_GRAPHS = "urn:rdfcrawl:"  # the crawl's provenance and book-keeping
_RESULTS = {
    "application/sparql-results+json": ox.QueryResultsFormat.JSON,
    "application/sparql-results+xml": ox.QueryResultsFormat.XML,
    "text/csv": ox.QueryResultsFormat.CSV,
    "text/tab-separated-values": ox.QueryResultsFormat.TSV,
}
_GRAPHS = {
    "application/n-triples": ox.RdfFormat.N_TRIPLES,
    "text/turtle": ox.RdfFormat.TURTLE,
}


class ScriptedStore:
    """A store of one product, on loopback.

    Attributes:
        uri: of the store in `STORES`.
        options: as `STORES` has them.
        store: holds the quads.
        requests: all that came, in order.
        misdeed: response of a bad store that does not execute the request.
        after: response when it has done so.
    """

    def __init__(self, product: Product) -> None:
        self.product = product
        self.store = ox.Store()
        self.requests: list[StoreRequest] = []
        self.misdeed: Callable[[StoreRequest], Answer | None] = lambda _: None
        self.after: Callable[[StoreRequest], Answer | None] = lambda _: None
        self._lock = threading.Lock()
        self._server = StoreServer(self.answer)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.uri = product.uri.format(origin=self._server.origin)
        self.options: dict[str, Any] = {
            "basic": {"user": USER, "password": PASSWORD},
            "bearer": {"token": TOKEN},
        }.get(product.login, {})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(60)

    @property
    def writes(self) -> list[StoreRequest]:
        """The requests that change the store."""
        return [request for request in self.requests if request.is_write]

    def quads(self) -> set[ox.Quad]:
        """Return the statements of all graphs, without those about the crawl."""
        return {
            quad
            for quad in self.store
            if isinstance(quad.graph_name, ox.NamedNode)
            if not quad.graph_name.value.startswith(OWN_GRAPHS)
        }

    def answer(self, request: StoreRequest) -> Answer:
        """Execute a request."""
        with self._lock:
            self.requests.append(request)
            misdeed = self.misdeed(request)
        if misdeed is not None:
            return misdeed
        with self._lock:
            answer = self._answer(request)
        return self.after(request) or answer

    def _answer(self, request: StoreRequest) -> Answer:
        product, given = self.product, request.given
        if "content-encoding" in request.headers:
            return product.error(415, "Content-Encoding is not supported")
        if refusal := self._login_refusal(request):
            return refusal
        kind = request.headers.get("content-type", "").partition(";")[0]
        has_update = "update" in given or kind == "application/sparql-update"
        has_query = "query" in given or kind == "application/sparql-query"
        match request.path:
            case product.graph_path if "graph" in given or "default" in given:
                return self._graph(request)
            case product.update_path if request.method == "POST" and has_update:
                return self._update(request.text)
            case product.query_path if has_query:
                return self._query(request)
        return product.error(404, f"nothing at {request.path}")

    def _login_refusal(self, request: StoreRequest) -> Answer | None:
        given = request.headers.get("authorization", "")
        match self.product.login:
            case "basic":
                login = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
                if given == f"Basic {login}":
                    return None
                answer = self.product.error(401, "Unauthorized")
                told = {"WWW-Authenticate": 'Basic realm="store"'}
                return Answer(status=401, body=answer.body, headers=told)
            case "bearer" if request.is_write:
                if given == f"Bearer {TOKEN}":
                    return None
                if request.given.get("access-token") == TOKEN:
                    return None
                return self.product.error(403, "a valid access token is required")
        return None

    def _graph(self, request: StoreRequest) -> Answer:
        """Answer by SPARQL 1.1 Graph Store HTTP Protocol, section 5."""
        if request.method not in self.product.graph_methods:
            return self.product.error(405, "Method Not Allowed")
        try:
            name: Any = ox.DefaultGraph()
            if "graph" in request.given:
                name = _absolute(request.given["graph"])
        except ValueError as fault:
            return self.product.error(400, str(fault))
        store = self.store
        has_graph = any(True for _ in store.quads_for_pattern(None, None, None, name))
        match request.method:
            case "GET":
                accepted = _chosen(request, _GRAPHS)
                body = store.dump(format=_GRAPHS[accepted], from_graph=name)
                return Answer(status=200, body=body or b"", media_type=accepted)
            case "DELETE":
                store.clear_graph(name)
                return Answer(status=200 if has_graph else 404)
        return self._write(request, name) or Answer(status=200 if has_graph else 201)

    def _write(self, request: StoreRequest, name: Any) -> Answer | None:
        """Put a graph in place of the one there, or add it; return a refusal."""
        kind = request.headers.get("content-type", "").partition(";")[0]
        if kind not in _GRAPHS:
            return self.product.error(415, f"Content-Type {kind} is not supported")
        try:
            found = list(ox.parse(request.body, format=_GRAPHS[kind]))
        except SyntaxError as fault:
            return self.product.error(400, str(fault))
        if request.method == "PUT":
            self.store.clear_graph(name)
        # Blank nodes of another request are others.
        labels: dict[ox.BlankNode, ox.BlankNode] = {}
        self.store.extend(_renamed(quad, name, labels) for quad in found)
        return None

    def _update(self, text: str) -> Answer:
        operations = self.product.operations
        found = re.match(r"\s*(?:PREFIX[^>]*>\s*)*([A-Z]+)", text, re.IGNORECASE)
        if found is not None and found[1].upper() in operations:
            return self.product.error(400, f"{found[1]} is not supported")
        try:
            self.store.update(text)
        except (SyntaxError, OSError, RuntimeError, ValueError) as fault:
            return self.product.error(400, str(fault))
        return self.product.update_answer

    def _query(self, request: StoreRequest) -> Answer:
        try:
            found: Any = self.store.query(request.text)
        except (SyntaxError, OSError, RuntimeError) as fault:
            return self.product.error(400, str(fault))
        formats: Mapping[str, Any] = _RESULTS
        if isinstance(found, ox.QueryTriples):
            formats = _GRAPHS
        accepted = _chosen(request, formats)
        body = found.serialize(format=formats[accepted])
        return Answer(status=200, body=body, media_type=accepted)


def _absolute(iri: str) -> ox.NamedNode:
    """Return an IRI; not every string is one that stores take.

    Raises:
        ValueError: it is none.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]*", iri):
        raise ValueError(f"no absolute IRI: {iri}")
    return ox.NamedNode(iri)


def _renamed(
    quad: ox.Quad, name: Any, labels: dict[ox.BlankNode, ox.BlankNode]
) -> ox.Quad:
    def term(value: Any) -> Any:
        if isinstance(value, ox.BlankNode):
            return labels.setdefault(value, ox.BlankNode())
        return value

    return ox.Quad(term(quad.subject), quad.predicate, term(quad.object), name)


def _chosen(request: StoreRequest, formats: Mapping[str, Any]) -> str:
    wanted = request.headers.get("accept", "")
    return next((kind for kind in formats if kind in wanted), next(iter(formats)))


# -- bad stores --------------------------------------------------------------------


def in_turn(*answers: Answer) -> Callable[[StoreRequest], Answer | None]:
    """Return a function that gives these responses to the first writes, one to each."""
    left = iter(answers)
    return lambda request: next(left, None) if request.is_write else None


def refusing(text: str, answer: Answer) -> Callable[[StoreRequest], Answer | None]:
    """Return a function that refuses each write that contains a text."""

    def misdeed(request: StoreRequest) -> Answer | None:
        has_text = text in request.text or text in request.given.get("graph", "")
        return answer if request.is_write and has_text else None

    return misdeed
