"""Dumps that break off, and servers that let one go on with them, well or badly."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.conftest import RawRequest

MIB = 1024 * 1024


def dump_of(n_bytes: int, word: str = "o") -> bytes:
    """Return a dump of about this many bytes, all lines of them different."""
    line = f"<urn:x:s%d> <urn:x:p> <urn:x:{word}> .\n"
    return "".join(line % n for n in range(n_bytes // 35)).encode()


class RangedDump:
    """A dump whose first answers break off; a reply of a `RawServer`.

    Args:
        body: of the dump.
        cuts: of each of the first answers, bytes that come before it breaks off.
        how: how the server treats a range: `well`, or the name of its error.
        stalls: instead of breaking off, they do not go on.

    Attributes:
        asked: the requested ranges, "" for all of it.
        n_sent: bytes of sent bodies.
    """

    def __init__(
        self,
        body: bytes,
        cuts: tuple[int, ...] = (),
        how: str = "well",
        *,
        stalls: bool = False,
    ) -> None:
        self.is_coded = how.startswith("coded")
        self.body = gzip.compress(body, 1) if self.is_coded else body
        self._cuts = list(cuts)
        self.how = how
        self._end: list[Any] = [600.0] if stalls else [0.05, "reset"]
        self.asked: list[str] = []
        self.n_sent = 0

    def __call__(self, request: RawRequest) -> Any:
        """Return the script of an answer."""
        wanted = request.headers.get("range", "")
        self.asked.append(wanted)
        offset = int(wanted[6:-1]) if wanted else 0
        if wanted:
            assert request.headers.get("if-range") == self._validator()
        if wanted and self.how == "anew":  # it has changed since
            self.body = re.sub(b"urn:x:o>", b"urn:x:n>", self.body)
        if wanted and self.how == "416":
            return self._head("416 No", [f"Content-Range: bytes */{len(self.body)}"], 0)
        if not wanted or self.how in ("ignores", "anew"):
            return self._script("200 OK", self._facts(), 0)
        return self._script("206 Partial", self._facts_of_rest(offset), offset)

    def _validator(self) -> str:
        if self.how == "dated":
            return "Sun, 01 Nov 2026 10:00:00 GMT"
        return f'"{self.how}"'

    def _facts(self) -> list[str]:
        lines = ["Date: Sun, 01 Nov 2026 12:00:00 GMT"]
        lines.append("Content-Type: application/n-triples")
        if self.is_coded:
            lines.append("Content-Encoding: gzip")
        if self.how == "dated":
            return [*lines, f"Last-Modified: {self._validator()}"]
        weak = "W/" if self.how == "weak" else ""
        return [*lines, f"ETag: {weak}{self._validator()}"]

    def _facts_of_rest(self, offset: int) -> list[str]:
        total, begin = str(len(self.body)), offset
        match self.how:
            case "elsewhere":
                begin += 1
            case "other total":
                total = str(len(self.body) + 1)
            case "no total":
                total = "*"
            case "other etag":
                self.how = "other etag."
            case "lies":  # the same validator, another body
                self.body = re.sub(b"urn:x:o>", b"urn:x:n>", self.body)
            case "lies again":  # another one each time
                self.body = self.body.swapcase()
        lines = [f"Content-Range: bytes {begin}-{len(self.body) - 1}/{total}"]
        # RFC 9110 15.3.7: no other headers need be sent again.
        return lines if self.how == "dated" else [*lines, f"ETag: {self._validator()}"]

    def _head(self, status: str, lines: list[str], n_bytes: int) -> bytes:
        head = [f"HTTP/1.1 {status}", f"Content-Length: {n_bytes}", *lines]
        return "\r\n".join([*head, "", ""]).encode()

    def _script(self, status: str, lines: list[str], offset: int) -> list[Any]:
        rest = self.body[offset:]
        script: list[Any] = [self._head(status, lines, len(rest))]
        cut = self._cuts.pop(0) if self._cuts else len(rest)
        self.n_sent += min(cut, len(rest))
        script.append(rest[:cut])
        return script if cut >= len(rest) else [*script, *self._end]
