"""Sites with known content that answer one request of a run with a fault."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from tests.conftest import RawServers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from tests.conftest import RawRequest, RawServer, Step
    from tests.injector.kinds import SourceKind
    from tests.support.crawl_webs import Loopback

_STALL_SECS: Final = 30.0  # longer than the crawls wait
_PAGE: Final = b"<!DOCTYPE html><html><title>Busy</title><p>Back soon.</html>"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """The right response for one target in one version of a site."""

    body: bytes
    media_type: str = "text/turtle"
    status: str = "200 OK"
    version: int = 0
    has_validators: bool = True

    def head(self, n_bytes: int | None = None) -> bytes:
        """Return the header, by default with the length of the body."""
        fields = {"Content-Length": str(len(self.body) if n_bytes is None else n_bytes)}
        if self.media_type:
            fields["Content-Type"] = self.media_type
        if self.has_validators and self.status.startswith("200"):
            fields["ETag"] = self.etag
            fields["Last-Modified"] = f"Mon, 0{self.version} Jan 2024 00:00:00 GMT"
        rows = "".join(f"{name}: {text}\r\n" for name, text in fields.items())
        return f"HTTP/1.1 {self.status}\r\n{rows}\r\n".encode()

    @property
    def etag(self) -> str:
        """The entity tag."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:8]}"'

    def reply(self) -> bytes:
        """Return the complete response."""
        return self.head() + self.body


# From the right response, and that of the version before.
Inject: TypeAlias = "Callable[[ScriptedReply, ScriptedReply], bytes | Sequence[Step]]"


def _failing(status: str) -> Inject:
    def reply(_: ScriptedReply, __: ScriptedReply) -> bytes | Sequence[Step]:
        return RawServers.response(b"no", "text/plain", status=status)

    return reply


def _page(_: ScriptedReply, __: ScriptedReply) -> bytes | Sequence[Step]:
    return RawServers.response(_PAGE, "text/html")


def _empty(answer: ScriptedReply, _: ScriptedReply) -> bytes | Sequence[Step]:
    return replace(answer, body=b"").reply()


def _cut(answer: ScriptedReply, _: ScriptedReply) -> bytes | Sequence[Step]:
    return [answer.head(), answer.body[: len(answer.body) // 2], None]


def _cut_before(answer: ScriptedReply, _: ScriptedReply) -> bytes | Sequence[Step]:
    """Return a file that was cut before it was served."""
    return replace(answer, body=answer.body[: len(answer.body) // 2]).reply()


def _broken_off(answer: ScriptedReply, _: ScriptedReply) -> bytes | Sequence[Step]:
    half = answer.body[: len(answer.body) // 2]
    return replace(answer, body=half + b"\n<p>Error 500: no memory</p>\n").reply()


def _slow(answer: ScriptedReply, _: ScriptedReply) -> bytes | Sequence[Step]:
    return [answer.head(), answer.body[: len(answer.body) // 2], _STALL_SECS]


def _wrong_type(answer: ScriptedReply, _: ScriptedReply) -> bytes | Sequence[Step]:
    return replace(answer, media_type="image/png").reply()


def _old(_: ScriptedReply, before: ScriptedReply) -> bytes | Sequence[Step]:
    return before.reply()


def _moved(_: ScriptedReply, __: ScriptedReply) -> bytes | Sequence[Step]:
    return RawServers.redirect("/login", "302 Found")


def _elsewhere(_: ScriptedReply, __: ScriptedReply) -> bytes | Sequence[Step]:
    """Redirect to a host that does not respond."""
    return RawServers.redirect("http://127.100.0.1:9/sorry", "302 Found")


FAULTS: Final[Mapping[str, Inject]] = {
    "503": _failing("503 Busy"),
    "429": _failing("429 Too Many"),
    "500": _failing("500 Oops"),
    "403": _failing("403 Forbidden"),
    "page": _page,
    "empty": _empty,
    "cut": _cut,
    "cut before": _cut_before,
    "broken off": _broken_off,
    "closed": lambda _, __: [None],
    "slow": _slow,
    "wrong type": _wrong_type,
    "old": _old,
    "login": _moved,
    "elsewhere": _elsewhere,
}


@dataclass(eq=False)
class InjectedSite:
    """A site on a host of its own.

    Attributes:
        version: that it serves now.
        target: whose request is answered with the fault; empty: none.
        is_faulty: it answers with the fault now.
        on_fault: called at each of these responses.
    """

    kind: SourceKind
    loopback: Loopback
    host: str
    target: str = ""
    fault: str = ""
    version: int = 1
    is_faulty: bool = False
    on_fault: Callable[[], object] = lambda: None
    server: RawServer = field(init=False)

    def __post_init__(self) -> None:
        """Start the server."""
        self.server = self.loopback({"*": self._reply}, host=self.host)
        self.origin = self.server.url("")

    def answer(self, version: int, target: str) -> ScriptedReply:
        """Return the right response of a version."""
        answer = self.kind.answer(self.origin, version, target)
        if answer is None:
            return ScriptedReply(body=b"none", media_type="text/plain", status="404 No")
        return answer if answer.version else replace(answer, version=version)

    def _reply(self, request: RawRequest) -> bytes | list[Step]:
        if request.target == "/login":
            return RawServers.response(_PAGE, "text/html")
        answer = self.answer(self.version, request.target)
        if self.is_faulty and request.target.partition("?")[0] == self.target:
            self.on_fault()
            before = self.answer(max(1, self.version - 1), request.target)
            reply = FAULTS[self.fault](answer, before)
            return reply if isinstance(reply, bytes) else list(reply)
        if request.headers.get("if-none-match") == answer.etag:
            return b"HTTP/1.1 304 Same\r\n\r\n"
        return answer.reply()

    def __repr__(self) -> str:
        """Return kind, target and fault."""
        return f"{self.kind.name} {self.target} {self.fault} {self.host}"
