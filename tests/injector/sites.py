"""Sites with known content that answer one request of a run with a fault."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import md5
from typing import TYPE_CHECKING, Final

from rdfcrawl.dataweb.messages import NodeRequest, NodeResponse, text_response
from rdfcrawl.dataweb.nodes.base import NodePlan
from tests.conftest import RawServers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from rdfcrawl.dataweb.nodes.base import WebNode
    from tests.conftest import RawRequest, RawServer, Step
    from tests.injector.judging import Truth
    from tests.injector.kinds import SourceKind
    from tests.support.crawl_webs import Loopback

_BEHIND: Final = "/at"
_LOOK_SECS: Final = 0.02
_STALL_SECS: Final = 30.0  # longer than the crawls wait
_PAGE: Final = b"<!DOCTYPE html><html><title>Busy</title><p>Back soon.</html>"
_CONDITIONS: Final = ("if-none-match", "if-modified-since", "range", "if-range")

# From the right response, and that of the version before.
Inject: TypeAlias = "Callable[[NodeResponse, NodeResponse], bytes | Sequence[Step]]"


def _altered(response: NodeResponse, body: bytes, media_type: str = "") -> bytes:
    """Return a response with another body, and the length that fits."""
    head = re.sub(rb"(?i)(content-length: )\d+", rb"\g<1>%d" % len(body), response.head)
    if media_type:
        head = re.sub(
            rb"(?i)(content-type: )[^\r]+", rb"\g<1>" + media_type.encode(), head
        )
    return head + body


def _half(response: NodeResponse) -> bytes:
    """Return half of a body, which does not end between two statements."""
    return response.body[: len(response.body) // 2].rstrip(b"< .\n")[:-1]


def _failing(status: str) -> Inject:
    return lambda _, __: RawServers.response(b"no", "text/plain", status=status)


def _broken_off(response: NodeResponse, _: NodeResponse) -> bytes:
    return _altered(response, _half(response) + b"\n<p>Error 500: no memory</p>\n")


# "cut before": a file that was cut before it was served;
# "elsewhere": a redirect to a host that does not respond.
FAULTS: Final[Mapping[str, Inject]] = {
    "503": _failing("503 Busy"),
    "429": _failing("429 Too Many"),
    "500": _failing("500 Oops"),
    "403": _failing("403 Forbidden"),
    "page": lambda _, __: RawServers.response(_PAGE, "text/html"),
    "empty": lambda right, _: _altered(right, b""),
    "cut": lambda right, _: [right.head, _half(right), None],
    "cut before": lambda right, _: _altered(right, _half(right)),
    "broken off": _broken_off,
    "closed": lambda _, __: [None],
    "slow": lambda right, _: [right.head, _half(right), _STALL_SECS],
    "wrong type": lambda right, _: _altered(right, right.body, "image/png"),
    "old": lambda _, before: before.head + before.body,
    "login": lambda _, __: RawServers.redirect("/login", "302 Found"),
    "elsewhere": lambda _, __: RawServers.redirect(
        "http://127.100.0.1:9/sorry", "302 Found"
    ),
}


@dataclass(eq=False)
class InjectedSite:
    """A site on a host of its own.

    Attributes:
        version: that it serves now.
        fault: with which it answers now; empty: with none.
        nth: of the requests of a run that differ, from 0, which gets the fault.
        seen: these requests, in their order.
        n_faults: responses with the fault in this run.
        told: of the fault of the last run, if this one has none.
        may_respond: whether a response with the fault is sent, or still held.
    """

    kind: SourceKind
    loopback: Loopback
    host: str
    version: int = 0
    fault: str = ""
    nth: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    n_faults: int = 0
    told: str = ""
    may_respond: Callable[[], bool] = lambda: True
    server: RawServer = field(init=False)

    def __post_init__(self) -> None:
        """Start the server."""
        self.server = self.loopback({"*": self._reply}, host=self.host)
        self.origin = self.server.url("")
        self.node: Callable[[int], WebNode] = lru_cache(3)(self._node)
        self.truth: Callable[[int], Truth] = lru_cache(None)(self._truth)

    def begin(self, *, version: int, fault: str = "", nth: int = 0) -> None:
        """Serve a version in the run that begins now, with a fault."""
        self.told = "" if fault else repr(self)
        self.version, self.fault, self.nth = version, fault, nth
        self.seen, self.n_faults = {}, 0

    def _node(self, version: int) -> WebNode:
        plan = NodePlan(
            index=0,
            kind=self.kind.node_kind,
            address=self.server.host,
            port=self.server.port,
            access_uri=self.origin + self.kind.seed,
        )
        return self.kind.make(plan, version)

    def _truth(self, version: int) -> Truth:
        return self.kind.truth_of(self.node(version)) if version else {}

    def _reply(self, request: RawRequest) -> bytes | Iterable[Step]:
        if request.target == "/login":
            return RawServers.response(_PAGE, "text/html")
        key = request.target + md5(request.body).hexdigest()
        place = self.seen.setdefault(key, len(self.seen))
        if not self.fault or place != self.nth:
            response = self._respond(request, self.version, {})
            return response.head + response.body
        self.n_faults += 1
        without = dict.fromkeys(_CONDITIONS, "")
        right = self._respond(request, self.version, without)
        before = self._respond(request, max(1, self.version - 1), without)
        steps = FAULTS[self.fault](right, before)
        return self._held([steps] if isinstance(steps, bytes) else steps)

    def _held(self, steps: Sequence[Step]) -> Iterator[Step]:
        while not self.may_respond():
            yield _LOOK_SECS
        yield from steps

    def _respond(
        self, request: RawRequest, version: int, changes: Mapping[str, str]
    ) -> NodeResponse:
        fields, target = {**request.headers, **changes}, request.target
        if self.kind.is_behind and not target.startswith(_BEHIND):
            return NodeResponse(302, headers=(("Location", _BEHIND + target),))
        given = NodeRequest(
            request.method,
            target.removeprefix(_BEHIND) if self.kind.is_behind else target,
            fields.get("accept", ""),
            fields.get("content-type", ""),
            request.body,
            {name: text for name, text in fields.items() if text},
        )
        try:
            return self.node(version).respond(given)
        except ValueError as error:
            return text_response(400, str(error))

    def __repr__(self) -> str:
        """Return kind, fault and the request that gets it."""
        target = next((x for x, n in self.seen.items() if n == self.nth), "")[:-32]
        return f"{self.kind.name} {self.fault!r} at {self.nth} {target} {self.host}"
