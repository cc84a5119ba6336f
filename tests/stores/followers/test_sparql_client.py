"""Requests of the client of SPARQL stores, and its handling of broken responses."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from itertools import cycle
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.stores.followers.sparql import client
from rdfcrawl.stores.followers.sparql.options import SparqlStoreOptions
from rdfcrawl.stores.followers.sparql.store import SparqlStore
from tests.support.scripted_stores import ScriptedStore
from tests.support.store_http import Answer
from tests.support.store_products import STARDOG, VIRTUOSO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.store_http import StoreRequest

QUERY = "SELECT * WHERE {}"
NOTHING = Answer(status=200, body=b'{"results": {"bindings": []}}')


def opened(uri: str, **options: object) -> SparqlStore:
    """Return a store."""
    return SparqlStore(SparqlStoreOptions.read(uri, options, {}))


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """Run a server that gives an answer to one request, and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):  # else it would be reset
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join(60)


def test_answer_that_ends_too_early_is_no_answer() -> None:
    """If less comes than Content-Length says, then the graph was not read."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n<a:s> <a:p> <a:o> .\n"
    with answering(answer) as host:
        store = opened(f"fuseki+http://{host}/ds")
        with pytest.raises(StoreFault, match="IncompleteRead") as raised:
            list(store.read("http://e/"))
        store.close()
    assert raised.value.may_pass


def test_answer_to_a_query_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """If an answer does not end, then it is not held in memory."""
    monkeypatch.setattr(client, "MAX_RESPONSE_BYTES", 1000)
    with ScriptedStore(STARDOG) as scripted:
        scripted.misdeed = lambda _: Answer(status=200, body=b" " * 2000)
        store = opened(scripted.uri)
        with pytest.raises(StoreFault, match="more than 1,000 bytes"):
            store.select(QUERY)
        store.close()


def test_digest_follows_a_nonce_that_changes() -> None:
    """If a server silently forgets its nonce, then the request is authorized again."""
    nonces = cycle(["one", "one", "one", "two", "two", "two"])

    def challenge(request: StoreRequest) -> Answer:
        nonce = next(nonces)
        if f'nonce="{nonce}"' in request.headers.get("authorization", ""):
            return NOTHING
        told = f'Digest realm="r", nonce="{nonce}", qop="auth"'
        return Answer(status=401, headers={"WWW-Authenticate": told})

    with ScriptedStore(STARDOG) as scripted:
        scripted.misdeed = challenge
        store = opened(scripted.uri, user="u", password="p", login="digest")
        for _ in range(4):
            assert store.select(QUERY) == []
        store.close()


def test_token_of_any_letters_is_sent() -> None:
    """If a token is no ASCII, then it goes as UTF-8."""
    with ScriptedStore(STARDOG) as scripted:
        scripted.misdeed = lambda _: NOTHING
        store = opened(scripted.uri, token="t\u20ac")
        store.select(QUERY)
        store.close()
    (request,) = scripted.requests
    sent = request.headers["authorization"].encode("latin-1").decode()
    assert sent == "Bearer t\u20ac"


@pytest.mark.parametrize(("scheme", "port"), [("http", 80), ("https", 443)])
def test_address_without_a_port_is_asked_at_the_usual_one(
    monkeypatch: pytest.MonkeyPatch, scheme: str, port: int
) -> None:
    """If the host is an address of IPv6, then none of it is taken for a port."""
    asked: list[object] = []

    def refuse(address: object, *_: object, **__: object) -> None:
        asked.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", refuse)
    with pytest.raises(StoreFault):
        opened(f"fuseki+{scheme}://[::1]/ds").select(QUERY)
    assert asked == [("::1", port)]


def test_virtuoso_is_told_of_updates_that_are_data_alone() -> None:
    """If an update has no pattern, then Virtuoso need not compile each statement."""
    updates = [
        b"INSERT DATA { <a:s> <a:p> 1 }",
        b"INSERT { <a:s> <a:p> _:b } WHERE {}",
        b"INSERT { <a:s> <a:p> ?o } WHERE { <a:t> <a:p> ?o }",
    ]
    with ScriptedStore(VIRTUOSO) as scripted:
        scripted.misdeed = lambda _: NOTHING
        store = opened(scripted.uri)
        for update in updates:
            store.update(update)
        store.close()
        sent = [request.given["update"].encode() for request in scripted.requests]
    preamble = b"define sql:big-data-const 1 "
    assert sent == [*(preamble + each for each in updates[:2]), updates[2]]
