"""A response does not depend on how TCP cuts it into pieces."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rdfcrawl.core.errors import SourceFault
from rdfcrawl.downloader.http.protocol import ResponseProtocol
from rdfcrawl.downloader.watch import EventBudget
from tests.support.odd_responses import CUT, READ, REFUSED

if TYPE_CHECKING:
    from collections.abc import Sequence

BODY = b'<urn:x:s> <urn:x:p> "5" .\n'
HEX = b"5 not a size"  # may become the line of a chunk until the connection ends
ODD = {**READ, **CUT, **REFUSED}
RESPONSES = {name: make(BODY) for name, make in ODD.items()}
RESPONSES["not-chunked-1.0-one-line"] = READ["not-chunked-1.0"](HEX)
RESPONSES["not-chunked-1.0-size"] = READ["not-chunked-1.0"](b"5")
RESPONSES["not-chunked-1.0-empty"] = READ["not-chunked-1.0"](b"")
RESPONSES["long-extension"] = READ["extension"](BODY).replace(b";a=b", b";" * 4000, 1)
RESPONSES["endless-extension"] = READ["extension"](BODY).replace(
    b";a=b", b";" * 4090, 1
)
FEW = 1500  # bytes of which each position is tried
ENDS = 150  # bytes at the begin and the end of larger ones


class RecordingTransport(asyncio.Transport):
    """A connection with no server at the other side."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take a request."""

    def is_closing(self) -> bool:
        """Return that the connection is open."""
        return False

    def close(self) -> None:
        """Close the connection."""

    def abort(self) -> None:
        """Close the connection."""

    def pause_reading(self) -> None:
        """Stop reading."""

    def resume_reading(self) -> None:
        """Read on."""


class ReadOutcome(NamedTuple):
    """The content read from a response."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    fault: str
    may_keep: bool


async def received(pieces: Sequence[bytes]) -> ReadOutcome:
    """Return the content read from a response in pieces, up to its close."""
    protocol = ResponseProtocol(EventBudget())
    protocol.connection_made(RecordingTransport())
    sent = protocol.send(b"GET / HTTP/1.1\r\n\r\n")
    for piece in pieces:
        protocol.data_received(piece)
    may_keep = not protocol.should_close
    protocol.connection_lost(None)
    body, fault = b"", ""
    try:
        head = await sent
    except Exception as error:
        return ReadOutcome(0, (), b"", kind_of(error), may_keep)
    try:
        while piece := await protocol.body.readany():
            body += piece
    except Exception as error:
        fault = kind_of(error)
    return ReadOutcome(head.status, tuple(head.headers.items()), body, fault, may_keep)


def kind_of(error: Exception) -> str:
    """Return the kind of a fault."""
    if isinstance(error, SourceFault):
        return error.fault.reason
    return type(error).__name__


def positions(response: bytes) -> list[int]:
    """Return where a response is cut in two."""
    n = len(response)
    if n <= FEW:
        return list(range(1, n))
    return [*range(1, ENDS), *range(n - ENDS, n)]


@pytest.mark.parametrize("name", RESPONSES)
async def test_pieces_do_not_change_a_response(name: str) -> None:
    """If a response comes in any two pieces or byte by byte, all is read the same."""
    response = RESPONSES[name]
    at_once = await received([response])
    for at in positions(response):
        assert await received([response[:at], response[at:]]) == at_once, at
    if len(response) <= FEW:
        singly = await received([bytes([octet]) for octet in response])
        assert singly[:4] == at_once[:4]
