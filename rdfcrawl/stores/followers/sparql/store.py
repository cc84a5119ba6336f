"""Queries, updates and the Graph Store Protocol of one store."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlencode

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.stores.followers.sparql.client import (
    RequestBody,
    StoreClient,
    StoreRequest,
)
from rdfcrawl.stores.followers.sparql.failures import (
    BrokenResponse,
    RefusedRequest,
    shown_text,
)
from rdfcrawl.stores.followers.sparql.options import SparqlStoreOptions

logger = logging.getLogger(__name__)

# Not found, method not allowed, unsupported media type, not implemented.
_UNSUPPORTED: Final = frozenset({404, 405, 415, 501})
_N_QUADS: Final = "application/n-quads"
_JSON: Final = "application/sparql-results+json"
_MAX_HELD_BYTES: Final = 4 * 1024 * 1024  # of a response that is read row by row
_VALUE: Final = re.compile(rb'"value"\s*:\s*("(?:[^"\\]|\\.)*")')
_PATTERN: Final = re.compile(rb"WHERE(?! \{\})")  # of an update; or a literal like one
_TRIPLES: Final = "application/n-triples, text/turtle;q=0.1"
# RDF4J reads requests without a charset as Latin-1.
_FORM: Final = "application/x-www-form-urlencoded; charset=utf-8"
_UPDATE: Final = "application/sparql-update; charset=utf-8"


class SparqlStore:
    """One store; see SPARQL 1.1 Protocol and Graph Store HTTP Protocol.

    Args:
        options: of the store.

    Attributes:
        before_write: called before each write, except those of the lease.
        fence: prefix of these updates, which makes them fail without the lease.
    """

    def __init__(self, options: SparqlStoreOptions) -> None:
        self.options = options
        self._client = StoreClient(options)
        has_protocol = options.urls.graph_store is not None
        self.has_post = has_protocol
        self.has_put = has_protocol and options.profile.has_put
        self.has_load = has_protocol and options.profile.loads_quads
        self.before_write: Callable[[], None] = lambda: None
        self.fence = b""

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def select(self, query: str) -> list[dict[str, str]]:
        """Return the rows of a query: values of its variables, without their kinds.

        Raises:
            UnusableStore: the login is refused, or the store redirects.
            RefusedRequest: the store refuses the query.
            StoreFault: the store does not respond, or not with a result.
        """
        body = self._client.fetch(self._query(query))
        try:
            rows: list[dict[str, Any]] = json.loads(body)["results"]["bindings"]
            return [{k: str(v["value"]) for k, v in row.items()} for row in rows]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._no_result(body) from error

    def values(self, query: str) -> Iterator[str]:
        """Yield all values of the only variable of a query, without a limit.

        The thread must not send other requests before the last value.

        Raises:
            RdfcrawlError: as `select`.
        """
        held, has_begun = b"", False
        for piece in self._client.stream(self._query(query)):
            held += piece
            has_begun |= b'"bindings"' in held
            end = 0
            for found in _VALUE.finditer(held):
                end = found.end()
                yield json.loads(found[1])
            held = held[end:]
            if len(held) > _MAX_HELD_BYTES:
                raise self._no_result(held)
        if not has_begun:
            raise self._no_result(held)

    def _no_result(self, body: bytes) -> StoreFault:
        return StoreFault(
            f"{self.options.name}: the response to a query is not a result in JSON:"
            f" {shown_text(body)!r}"
        )

    def _query(self, query: str, accept: str = _JSON) -> StoreRequest:
        return StoreRequest(
            method="POST",
            url=self.options.urls.query,
            body=urlencode({"query": query}).encode(),
            media_type=_FORM,
            accept=accept,
            is_reading=True,
        )

    def update(
        self, text: bytes, *, is_repeatable: bool = True, is_of_lease: bool = False
    ) -> None:
        """Send an update.

        Raises:
            UnusableStore: the login is refused, or the store redirects.
            RefusedRequest: the store refuses the update.
            StoreFault: the store accepts nothing now, or the lease is lost.
        """
        if not is_of_lease:
            self.before_write()
            text = self.fence + text
        if not _PATTERN.search(text):
            text = self.options.profile.data_preamble + text
        media_type = _UPDATE
        if self.options.profile.takes_forms:
            text, media_type = urlencode({"update": text}).encode(), _FORM
        url = self.options.urls.update
        self._write("POST", url, text, media_type, is_repeatable=is_repeatable)

    def _write(
        self,
        method: str,
        url: str,
        body: RequestBody,
        media_type: str,
        *,
        is_repeatable: bool,
    ) -> None:
        self._client.fetch(
            StoreRequest(
                method=method,
                url=url,
                body=body,
                media_type=media_type,
                is_repeatable=is_repeatable,
            )
        )

    def put(self, graph: str, body: RequestBody) -> bool:
        """Replace a graph; return False if the store does not support PUT.

        Raises:
            UnusableStore: the login is refused, or the store redirects.
            RefusedRequest: the store refuses these statements.
            StoreFault: the store accepts nothing now.
        """
        try:
            self.has_put = self.has_put and self._has_sent("PUT", graph, body)
        except BrokenResponse as error:  # Fuseki 5 does so for invalid bodies
            self.select("SELECT * WHERE {} LIMIT 1")
            raise RefusedRequest(0, f"{error}, during PUT of {graph}") from error
        return self.has_put

    def post(self, graph: str, body: RequestBody) -> bool:
        """Add to a graph; return False if the store does not support POST.

        Raises:
            UnusableStore: the login is refused, or the store redirects.
            RefusedRequest: the store refuses these statements.
            StoreFault: the store accepts nothing now.
        """
        self.has_post = self.has_post and self._has_sent("POST", graph, body)
        return self.has_post

    def _has_sent(self, method: str, graph: str, body: RequestBody) -> bool:
        """Write to a graph; return False if the store does not support the method."""
        try:
            self._send(method, graph, body, is_repeatable=method == "PUT")
        except RefusedRequest:
            if self._supports(method):
                raise
            return False
        return True

    def _supports(self, method: str) -> bool:
        """Return whether a store supports a method of the Graph Store Protocol.

        A refusal may concern the document or the method: some send 400 for both.
        """
        name = "urn:rdfcrawl:new:probe"
        triple = f"<{name}> <{name}> <{name}> .\n".encode()
        try:
            self._send(method, name, triple, is_repeatable=True)
            self.update(b"DROP SILENT GRAPH <%s>" % name.encode())
        except RefusedRequest as refusal:
            logger.warning(
                "the store does not support %s of graphs: %s", method, refusal
            )
            return False
        return True

    def load(self, quads: bytes) -> bool:
        """Load N-Quads without a transaction; return False if that is unsupported.

        Raises:
            UnusableStore: the login is refused, or the store redirects.
            RefusedRequest: the store refuses these statements.
            StoreFault: the store accepts nothing now.
        """
        if not self.has_load:
            return False
        self.before_write()
        url = self.options.urls.of_dataset(self.options.profile.bulk_parameter)
        try:
            self._write("POST", url, quads, _N_QUADS, is_repeatable=False)
        except RefusedRequest as refusal:
            if refusal.status not in _UNSUPPORTED:
                raise
            logger.warning("the store does not support loads of N-Quads: %s", refusal)
            self.has_load = False
            return False
        return True

    def _send(
        self, method: str, graph: str, body: RequestBody, *, is_repeatable: bool
    ) -> None:
        self.before_write()
        profile = self.options.profile
        is_long = callable(body) or len(body) > self.options.batch_bytes
        more = profile.bulk_parameter if is_long else ""
        url = self.options.urls.of_graph(graph, profile.graph_parameter, more)
        self._write(method, url, body, profile.media_type, is_repeatable=is_repeatable)

    def read(self, graph: str) -> Iterator[bytes]:
        """Yield the triples of a graph in chunks of any length.

        Raises:
            UnusableStore: the login is refused, or the store redirects.
            StoreFault: the store does not respond.
        """
        query = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"
        return self._client.stream(self._query(query, _TRIPLES))
