"""Scripts of servers that misbehave: the response to a request, step by step.

They follow the specifications: RFC 9110 and 9112 for HTTP, RFC 9309 for robots.txt,
RFC 959 for FTP, RFC 8446 for TLS. No script knows which client it talks to.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from email.utils import formatdate
from time import time
from typing import Final, Literal

End = Literal["reset", "close", "hang"]
Step = bytes | float | End
"""Bytes are sent, a number is waited for (seconds); the rest ends the connection."""

TURTLE: Final = "text/turtle"
CHUNK: Final = b"1\r\n#\r\n"
_BURST: Final = 64  # pieces that are sent together, with a pause after them
_PAUSE: Final = 0.01


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """A request, as a script sees it.

    Attributes:
        path: the request target.
        nth: 1 for the first request of this path, and so on.
        origin: scheme, host and port that were requested.
        cookie: the header, empty if there is none.
        good: the response of a healthy server.
        elsewhere: URLs by name: `dead`, `silent`, `busy`, `page`, `nowhere`, `tls`.
    """

    path: str
    nth: int
    origin: str
    cookie: str
    good: bytes
    elsewhere: dict[str, str]


Script = Callable[[ScriptedRequest], Iterable[Step]]


def response(
    status: str = "200 OK", body: bytes = b"", kind: str = TURTLE, **headers: str
) -> bytes:
    """Return a response; `_` in the name of a header stands for `-`."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    if kind:
        lines.append(f"Content-Type: {kind}")
    lines += [f"{name.replace('_', '-')}: {text}" for name, text in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def _head(ask: ScriptedRequest) -> bytes:
    return ask.good[: ask.good.index(b"\r\n\r\n") + 4]


def _body(ask: ScriptedRequest) -> bytes:
    return ask.good[ask.good.index(b"\r\n\r\n") + 4 :]


OK: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\n"
CHUNKED: Final = OK + b"Transfer-Encoding: chunked\r\n\r\n"


# -- statuses ----------------------------------------------------------------------


def status(code: int, **headers: str) -> Script:
    """Answer with a status, always."""

    def script(_: ScriptedRequest) -> Iterable[Step]:
        has_body = code not in {204, 205, 304}
        body = b"<html>an error page</html>" if has_body else b""
        return [response(f"{code:03} X", body, "text/html", **headers)]

    return script


def retry_at(code: int, secs: float) -> Script:
    """Answer with a status and a date in `Retry-After`."""

    def script(_: ScriptedRequest) -> Iterable[Step]:
        now = time()
        date, later = (formatdate(at, usegmt=True) for at in (now, now + secs))
        return [response(f"{code} X", b"", "", Date=date, Retry_After=later)]

    return script


def good_with(**headers: str) -> Script:
    """Answer well, with further headers."""

    def script(ask: ScriptedRequest) -> Iterable[Step]:
        return [response("200 OK", _body(ask), TURTLE, **headers)]

    return script


def first(times: int, bad: Script) -> Script:
    """Misbehave the first times, and answer well from then on."""

    def script(ask: ScriptedRequest) -> Iterable[Step]:
        return bad(ask) if ask.nth <= times else [ask.good]

    return script


# -- silence and slowness ----------------------------------------------------------


def steps(*fixed: Step) -> Script:
    """Send the same response to all requests."""
    return lambda _: fixed


def part(where: str, end: Step) -> Script:
    """Send the first part of a good response, and then end as `end` says."""

    def script(ask: ScriptedRequest) -> Iterable[Step]:
        head, body = _head(ask), _body(ask)
        sent = {
            "line": b"HTTP/1.",
            "headers": head[: head.index(b"\r\n") + 8],
            "head": head,
            "body": head + body[: len(body) // 2],
            "chunk": CHUNKED + b"40\r\n<> <urn:x:p>",
            "size": CHUNKED + b"4",
            "last": CHUNKED + f"{len(body):x}\r\n".encode() + body + b"\r\n",
            "trailer": CHUNKED + f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\nX: ",
        }[where]
        return [sent, end]

    return script


def trickle(where: str, secs: float = 1.0) -> Script:
    """Send one byte after the other."""

    def script(ask: ScriptedRequest) -> Iterator[Step]:
        head, body = _head(ask), _body(ask)
        at_once = {"head": b"", "body": head}[where]
        if at_once:
            yield at_once
        for byte in head + body if where == "head" else body:
            yield bytes([byte])
            yield secs
        yield "hang"

    return script


def endless(prefix: bytes, piece: bytes, burst: int = _BURST) -> Script:
    """Send a prefix, and then the same piece again and again."""

    def script(_: ScriptedRequest) -> Iterator[Step]:
        yield prefix
        for _n in itertools.count():
            yield piece * burst
            yield _PAUSE

    return script


def flood(prefix: bytes, piece: bytes) -> Script:
    """Send a prefix, and then the same piece for ever, in a packet each."""

    def script(_: ScriptedRequest) -> Iterator[Step]:
        yield prefix
        for _n in itertools.count():
            yield piece
            yield 0.0

    return script


def chunks_of_one(ask: ScriptedRequest) -> Iterable[Step]:
    """Send a good body in chunks of one byte."""
    pieces = b"".join(b"1\r\n%c\r\n" % byte for byte in _body(ask))
    return [CHUNKED + pieces + b"0\r\n\r\n"]


def interim(times: int) -> Script:
    """Send some interim responses before the good one."""
    return lambda ask: [b"HTTP/1.1 103 Early Hints\r\n\r\n" * times, ask.good]


def then(end: Step) -> Script:
    """Answer well, say nothing of the connection, and end it."""
    return lambda ask: [ask.good, end]


def surplus(text: bytes) -> Script:
    """Respond well, with more bytes directly after the body."""
    return lambda ask: [ask.good + text]


# -- redirects ---------------------------------------------------------------------


def moved(name: str, code: int = 302, **headers: str) -> Script:
    """Redirect to a URL of `elsewhere`."""

    def script(ask: ScriptedRequest) -> Iterable[Step]:
        target = ask.elsewhere[name]
        return [response(f"{code} X", b"", "", Location=target, **headers)]

    return script


def moved_to(target: str, code: int = 302) -> Script:
    """Redirect to a URL, or to a placeholder of one."""
    return lambda _: [response(f"{code} X", b"", "", Location=target)]


def chain(ask: ScriptedRequest) -> Iterable[Step]:
    """Redirect to the next of thirty, the last of which is good."""
    path, _, number = ask.path.partition("?step=")
    step = int(number or 0)
    if step >= 30:
        return [ask.good]
    return [response("302 X", b"", "", Location=f"{path}?step={step + 1}")]


def endless_chain(ask: ScriptedRequest) -> Iterable[Step]:
    """Redirect to another URL each time."""
    path, _, number = ask.path.partition("?step=")
    return [response("302 X", b"", "", Location=f"{path}?step={int(number or 0) + 1}")]


def loop_of_two(ask: ScriptedRequest) -> Iterable[Step]:
    """Redirect to a URL that redirects back."""
    path, _, number = ask.path.partition("?side=")
    other = path if number else f"{path}?side=2"
    return [response("302 X", b"", "", Location=other)]


def self_with_cookie(ask: ScriptedRequest) -> Iterable[Step]:
    """Redirect to the same URL until a cookie comes back."""
    if ask.cookie:
        return [ask.good]
    return [response("302 X", b"", "", Location=ask.path, Set_Cookie="seen=1; Path=/")]
