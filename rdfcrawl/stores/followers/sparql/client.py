"""HTTP client of a store: persistent connections, logins, retries, refusals."""

from __future__ import annotations

import hashlib
import http.client
import logging
import re
import secrets
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from rdfcrawl.core.errors import StoreFault, UnusableStore
from rdfcrawl.core.times import parse_retry_after
from rdfcrawl.stores.followers.sparql.failures import (
    BrokenResponse,
    RefusedRequest,
    error_in,
    is_deadlock,
    is_full,
    shown_text,
)
from rdfcrawl.stores.followers.sparql.options import SparqlStoreOptions

logger = logging.getLogger(__name__)

_PARAMETER: Final = re.compile(
    r'(?<![A-Za-z])([A-Za-z]++)\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s,"]++))'
)
_HASHES: Final = {"MD5": "md5", "SHA-256": "sha256", "SHA-512-256": "sha512_256"}
MAX_RESPONSE_BYTES: Final = 64 * 1024 * 1024
_MAX_WAIT_SECS: Final = 60.0  # limit of Retry-After
_BUSY: Final = frozenset({408, 425, 429, 502, 503, 504})
_FULL: Final = 507
_READ_BYTES: Final = 256 * 1024


class DigestChallenge:
    """The challenge of a server, and the number of responses to it.

    Args:
        header: `WWW-Authenticate`, from `Digest` on.

    Attributes:
        nonce: of the server.

    Raises:
        ValueError: it requires something that RFC 7616 does not define.
    """

    def __init__(self, header: str) -> None:
        found = {
            name.lower(): re.sub(r"\\(.)", r"\1", quoted) or plain
            for name, quoted, plain in _PARAMETER.findall(header)
        }
        self._realm, self.nonce = found["realm"], found["nonce"]
        self._opaque = found.get("opaque")
        self._algorithm = found.get("algorithm", "MD5")
        name = self._algorithm.upper().removesuffix("-SESS")
        if name not in _HASHES:
            raise ValueError(f"algorithm={self._algorithm}")
        self._hash = _HASHES[name]
        self._is_session = self._algorithm.upper().endswith("-SESS")
        offered = [each.strip() for each in found.get("qop", "").split(",")]
        if offered != [""] and "auth" not in offered:
            raise ValueError(f"qop={found['qop']}")
        self._has_qop = offered != [""]
        self._count = 0
        self._lock = threading.Lock()

    def authorization(
        self, method: str, target: str, user: str, password: str, client: str = ""
    ) -> str:
        """Return the header `Authorization` of a request.

        Args:
            method: of HTTP.
            target: path and query.
            user: name of the user.
            password: of the user.
            client: our nonce; random by default.
        """
        with self._lock:
            self._count += 1
            count = f"{self._count:08x}"
        client = client or secrets.token_hex(16)
        first = self._hashed(f"{user}:{self._realm}:{password}")
        if self._is_session:
            first = self._hashed(f"{first}:{self.nonce}:{client}")
        second = self._hashed(f"{method}:{target}")
        middle = f"{self.nonce}:"
        if self._has_qop:
            middle += f"{count}:{client}:auth:"
        fields = {
            "username": user,
            "realm": self._realm,
            "nonce": self.nonce,
            "uri": target,
            "response": self._hashed(f"{first}:{middle}{second}"),
        }
        if self._opaque is not None:
            fields["opaque"] = self._opaque
        text = ", ".join(f'{name}="{_quoted(value)}"' for name, value in fields.items())
        text += f", algorithm={self._algorithm}"
        if self._has_qop:
            text += f', qop=auth, nc={count}, cnonce="{client}"'
        return f"Digest {text}"

    def _hashed(self, text: str) -> str:
        return hashlib.new(self._hash, text.encode()).hexdigest()


def _quoted(value: str) -> str:
    return re.sub(r'(["\\])', r"\\\1", value)


RequestBody: TypeAlias = "bytes | Callable[[], Iterator[bytes]]"
"""Bytes, or a function that returns an iterator of them, so they can be sent twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRequest:
    """One request to a store.

    Attributes:
        method: of HTTP.
        url: to send it to.
        body: to send.
        media_type: of the body.
        accept: media type of the response.
        is_repeatable: whether sending it twice has the same effect.
        is_reading: whether the response is data, and is not searched for errors.
    """

    method: str
    url: str
    body: RequestBody | None = None
    media_type: str = ""
    accept: str = "*/*"
    is_repeatable: bool = True
    is_reading: bool = False


class StoreClient:
    """Sends requests; each thread has a separate connection.

    Args:
        options: of the store.
    """

    def __init__(self, options: SparqlStoreOptions) -> None:
        self._options = options
        self._local = threading.local()
        self._open: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()
        self._challenge: DigestChallenge | None = None
        self._not_before = 0.0  # by the monotonic clock
        self._tls = ssl.create_default_context() if _needs_tls(options) else None

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()
        self._local = threading.local()

    def fetch(self, request: StoreRequest) -> bytes:
        """Return the body of the response to a request.

        Raises:
            UnusableStore: the login is refused, or the store redirects.
            RefusedRequest: the store refuses the request.
            StoreFault: the store does not respond, or the response is too long.
        """
        found: list[bytes] = []
        n_bytes = 0
        with closing(self.stream(request)) as pieces:
            for piece in pieces:
                found.append(piece)
                n_bytes += len(piece)
                if n_bytes > MAX_RESPONSE_BYTES:
                    raise StoreFault(
                        f"{self._options.name}: a response has more than"
                        f" {MAX_RESPONSE_BYTES:,} bytes"
                    )
        return b"".join(found)

    def stream(self, request: StoreRequest) -> Generator[bytes, None, None]:
        """Yield the body of the response in pieces, as `fetch`."""
        response = self._authenticated(request)
        status = response.status
        try:
            if status >= 300 or not request.is_reading:
                found = response.read(MAX_RESPONSE_BYTES)
                if not response.isclosed():
                    self._drop()
                self._check(status, response, found)
                yield found
                return
            while chunk := response.read(_READ_BYTES):
                yield chunk
            if response.length:  # `read` does not raise on a short body
                raise http.client.IncompleteRead(b"", response.length)
        except (OSError, http.client.HTTPException) as error:
            self._drop()
            raise self._connection_fault(error) from error
        finally:
            if not response.isclosed():
                self._drop()

    def _authenticated(self, request: StoreRequest) -> http.client.HTTPResponse:
        """Send a request; again if the store sends a challenge."""
        response = self._exchange(request)
        if response.status != 401 or not self._read_challenge(response):
            return response
        with suppress(OSError, http.client.HTTPException):
            response.read(_READ_BYTES)
        if not response.isclosed():
            self._drop()
        return self._exchange(request)

    def _exchange(self, request: StoreRequest) -> http.client.HTTPResponse:
        """Send a request once; twice if the store has closed an idle connection."""
        time.sleep(max(0.0, self._not_before - time.monotonic()))
        if not request.is_repeatable:  # a kept connection may have been closed
            self._drop()
        may_repeat = request.is_repeatable
        while True:
            connection, is_kept = self._connection(request.url)
            try:
                return self._send(connection, request)
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                if not (is_kept and may_repeat and _is_closed(error)):
                    raise self._connection_fault(error) from error
                may_repeat = False

    def _send(
        self, connection: http.client.HTTPConnection, request: StoreRequest
    ) -> http.client.HTTPResponse:
        parts = urlsplit(request.url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"Accept": request.accept, "User-Agent": "rdfcrawl"}
        if request.media_type:
            headers["Content-Type"] = request.media_type
        if login := self._authorization(request.method, target):
            headers["Authorization"] = login.encode().decode("latin-1")
        body: bytes | Iterable[bytes] | None
        if callable(request.body):
            # Some servers ignore a body without a length.
            headers["Content-Length"] = str(sum(map(len, request.body())))
            body = request.body()
        else:
            body = request.body
        try:
            connection.request(request.method, target, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            # A store may refuse a long body before it has read all of it.
            if not callable(request.body) and len(request.body or b"") < _READ_BYTES:
                raise
        return connection.getresponse()

    def _authorization(self, method: str, target: str) -> str | None:
        login = self._options.login
        if login.token is not None:
            return f"Bearer {login.token}"
        if login.user is None:
            return None
        if login.scheme == "basic":
            text = f"{login.user}:{login.password}".encode()
            return f"Basic {b64encode(text).decode()}"
        challenge = self._challenge
        if challenge is None:
            return None
        return challenge.authorization(method, target, login.user, login.password)

    def _read_challenge(self, response: http.client.HTTPResponse) -> bool:
        """Keep the challenge of a response; return whether there is one.

        Servers forget their nonces, and some do not mark them as stale.
        """
        login = self._options.login
        if login.user is None or login.token is not None or login.scheme != "digest":
            return False
        for header in response.headers.get_all("WWW-Authenticate", []):
            _, found, rest = header.partition("Digest ")
            if found:
                try:
                    challenge = DigestChallenge(rest)
                except (KeyError, ValueError) as error:
                    raise UnusableStore(
                        f"{self._options.name}: requires a digest that RFC 7616 does"
                        f" not define: {error}"
                    ) from error
                known = self._challenge
                if known is None or challenge.nonce != known.nonce:
                    self._challenge = challenge
                return True
        return False

    def _check(
        self, status: int, response: http.client.HTTPResponse, body: bytes
    ) -> None:
        """Raise the error that a response stands for, if any."""
        name, prefix = self._options.name, self._options.environment
        text = f"{name}: responded with {status} {shown_text(body)}".rstrip()
        if status < 300:
            found = error_in(body, response.headers.get("Content-Type", ""))
            if found is not None and is_full(found.encode()):
                raise StoreFault(f"{name}: is full: {found}", may_pass=True)
            if found is not None:
                raise RefusedRequest(
                    status, f"{name}: responded with {status}, but {found}"
                )
            return
        if status in {401, 403}:
            hint = (
                "the store refuses the login"
                if self._options.login.is_given
                else "the store requires a login"
            )
            raise UnusableStore(
                f"{name}: {hint} ({status}): set the options user and password, or"
                f" token, or {prefix}_USER and {prefix}_PASSWORD, or {prefix}_TOKEN"
            )
        if status < 400:
            place = shown_text(response.headers.get("Location", "").encode())
            raise UnusableStore(f"{name}: redirects ({status}) to {place}")
        if status in _BUSY:
            self._wait_for(response.headers.get("Retry-After", ""))
            raise StoreFault(text, may_pass=True)
        if status >= 500 and is_deadlock(body):
            raise StoreFault(text, may_pass=True)
        if status == _FULL or is_full(body):
            what = shown_text(body) or status
            raise StoreFault(f"{name}: is full: {what}", may_pass=True)
        raise RefusedRequest(status, text)

    def _wait_for(self, value: str) -> None:
        """Delay the next request as the header Retry-After demands."""
        secs = min(parse_retry_after(value) or 0.0, _MAX_WAIT_SECS)
        self._not_before = max(self._not_before, time.monotonic() + secs)

    def _connection_fault(self, error: Exception) -> StoreFault:
        what = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, ssl.SSLCertVerificationError):
            return StoreFault(f"{self._options.name}: {what}")
        if isinstance(error, http.client.BadStatusLine):
            return BrokenResponse(f"{self._options.name}: {what}")
        return StoreFault(f"{self._options.name}: {what}", may_pass=True)

    def _connection(self, url: str) -> tuple[http.client.HTTPConnection, bool]:
        """Return a connection of this thread, and whether it is a used one."""
        parts = urlsplit(url)
        key = parts.scheme, parts.netloc
        kept = getattr(self._local, "kept", None)
        if kept is not None and self._local.key == key:
            return kept, True
        self._drop()
        host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        secs = self._options.timeout_secs
        made = (
            http.client.HTTPSConnection(host, port, timeout=secs, context=self._tls)
            if parts.scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=secs)
        )
        self._local.kept, self._local.key = made, key
        with self._lock:
            self._open.add(made)
        return made, False

    def _drop(self) -> None:
        kept = getattr(self._local, "kept", None)
        if kept is not None:
            kept.close()
            self._local.kept = None
            with self._lock:
                self._open.discard(kept)


def _needs_tls(options: SparqlStoreOptions) -> bool:
    urls = options.urls
    found = (urls.query, urls.update, urls.graph_store or "")
    return any(url.startswith("https:") for url in found)


def _is_closed(error: Exception) -> bool:
    kinds = (ConnectionError, http.client.BadStatusLine, http.client.CannotSendRequest)
    return isinstance(error, kinds)
