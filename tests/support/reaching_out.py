"""An extractor that reaches out of its process, by ways that no audit hook sees."""

from __future__ import annotations

import _posixsubprocess
import _socket
import json
import os
import resource
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from rdfcrawl import iri, literal, statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdfcrawl.rdf.extraction.custom_extractors import DocumentContent

TYPE = "application/vnd.example.reaching"
DID = iri("urn:x:did")
SERVICE = "ASK {{ SERVICE <http://127.0.0.1:{port}/> {{ ?s ?p ?o }} }}"


def connect(port: int, **_: Any) -> None:
    """Connect by the SPARQL client of a library in Rust."""
    try:
        ox.Store().query(SERVICE.format(port=port))
    except OSError as error:
        if "denied" in str(error) or "permitted" in str(error):
            raise  # anything else came from the server


def write(path: str, **_: Any) -> None:
    """Write a file by the same library."""
    ox.serialize([], path, ox.RdfFormat.N_TRIPLES)


def make(path: str, **_: Any) -> None:
    """Make a special file."""
    os.mkfifo(f"{path}.fifo")


def run(path: str, **_: Any) -> None:
    """Run a program, as the module `subprocess` does it."""
    words = [b"/usr/bin/touch", f"{path}.run".encode()]
    given: list[Any] = [words, words[:1], False, (), None, None, *[-1] * 6]
    given += [*os.pipe(), False, False, -1, None, None, None, -1, None]
    if sys.version_info < (3, 14):
        given.append(False)
    _posixsubprocess.fork_exec(*given)


def dial(port: int, **_: Any) -> None:
    """Connect as Python does, which the audit hook sees."""
    socket.create_connection(("127.0.0.1", port)).close()


def pair(**_: Any) -> None:
    """Make sockets, without an event."""
    for each in _socket.socketpair():
        each.close()


def look(parent: int, **_: Any) -> None:
    """Look at the environment of the process that has the secrets."""
    Path(f"/proc/{parent}/environ").read_bytes()


def lift(**_: Any) -> None:
    """Lift a hard limit, as a process of root may."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1))
    except ValueError as error:
        raise PermissionError(str(error)) from error


WAYS: dict[str, Callable[..., None]] = {
    each.__name__: each for each in (connect, dial, write, make, run, pair, look, lift)
}


class Reaching:
    """An extractor that says which ways led out."""

    def extract(self, document: DocumentContent) -> Iterator[str]:
        """Yield a statement for each way that leads out."""
        told = json.loads(document.text)
        for name, way in WAYS.items():
            try:
                way(parent=os.getppid(), **told)
            except OSError:
                continue
            yield statement(iri("urn:x:child"), DID, literal(name))
