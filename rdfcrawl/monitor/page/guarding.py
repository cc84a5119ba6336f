"""Access control of the page: its forms, limits for browsers, the log of requests."""

from __future__ import annotations

import asyncio
import base64
import hmac
import logging
import secrets
from collections.abc import Mapping
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qsl

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler, Middleware

from rdfcrawl.monitor.page.options import PageOptions, is_loopback

FIELD: Final = "token"
"""Name of the hidden field."""
HEADER: Final = "X-Rdfcrawl-Control"
"""Header of programs, which forms of other sites cannot send."""
_TYPE: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 16
_BODY_SECS: Final = 15.0
_READING: Final = ("GET", "HEAD")
_KEPT: Final = ("Allow", "Location")  # headers of raised responses


class FormToken:
    """The token of one process: forms of an earlier process are refused.

    Browsers from before 2020 do not name the site of a form. But no site can read our
    pages, or show them in a frame, so it does not know the token.
    """

    def __init__(self) -> None:
        secret = secrets.token_bytes(32)
        self.text: Final = hmac.new(secret, b"form", sha256).hexdigest()

    def is_in(self, value: object) -> bool:
        """Return whether a field has the token."""
        return isinstance(value, str) and hmac.compare_digest(
            value.encode(errors="replace"), self.text.encode()
        )


async def read_form(request: web.Request) -> Mapping[str, str]:
    """Return the fields of a form; of several with one name, the last.

    Raises:
        web.HTTPException: the body is no form, too large, or cannot be read.
    """
    if request.content_type != _TYPE:
        raise web.HTTPUnsupportedMediaType(reason=f"a form must be {_TYPE}")
    try:
        async with asyncio.timeout(_BODY_SECS):
            body = await request.read()
    except TimeoutError as error:
        raise web.HTTPRequestTimeout from error
    except (HttpProcessingError, web.RequestPayloadError) as error:
        raise web.HTTPBadRequest(reason="the body cannot be read") from error
    text = body.decode("utf-8", "replace")
    try:
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise web.HTTPBadRequest(reason="the form has too many fields") from error
    return dict(fields)


POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # With `no-referrer`, forms would have the origin `null`.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PageGuard:
    """The middleware for all requests.

    Without a token, only names of this machine are accepted, so that no site can have a
    browser read the page under the site's name (DNS rebinding). Changes are accepted
    only from our pages, and only with `--control`.
    """

    def __init__(self, options: PageOptions, form_token: FormToken) -> None:
        self._options = options
        self._form_token = form_token

    def middleware(self) -> Middleware:
        """Return the middleware for aiohttp."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                refusal = self._refusal(request) or await self._stranger(request)
                response = refusal or await handler(request)
            except web.HTTPException as raised:
                response = web.Response(
                    status=raised.status, text=f"{raised.status}: {raised.reason}\n"
                )
                for name in _KEPT:
                    if name in raised.headers:
                        response.headers[name] = raised.headers[name]
            if not response.prepared:
                for name, value in _HEADERS.items():
                    response.headers.setdefault(name, value)
            return response

        return guard

    def _refusal(self, request: web.Request) -> web.Response | None:
        if self._options.token:
            if not self._is_known(request.headers.get("Authorization", "")):
                return web.Response(
                    status=401,
                    text="give the token of this page as password\n",
                    headers={"WWW-Authenticate": 'Basic realm="rdfcrawl"'},
                )
        elif not is_loopback(_host_of(request.host)):
            return web.Response(status=421, text="open the page as localhost\n")
        if request.method not in _READING:
            if not self._options.has_control:
                return web.Response(status=403, text="the page has no --control\n")
            if _is_foreign(request):
                return web.Response(status=403, text="sent by another site\n")
        return None

    async def _stranger(self, request: web.Request) -> web.Response | None:
        """Refuse a change without an origin, as old browsers send it."""
        if request.method in _READING or _says_origin(request):
            return None
        if HEADER in request.headers:
            return None
        if self._form_token.is_in((await read_form(request)).get(FIELD)):
            return None
        return web.Response(
            status=403,
            text=f"neither from a form of this page, nor with a header {HEADER}\n",
        )

    def _is_known(self, authorization: str) -> bool:
        kind, _, word = authorization.partition(" ")
        if kind.lower() == "basic":
            try:
                word = base64.b64decode(word, validate=True).decode().partition(":")[2]
            except ValueError:  # neither base64 nor UTF-8
                return False
        elif kind.lower() != "bearer":
            return False
        given = word.encode(errors="replace")
        return hmac.compare_digest(given, self._options.token.encode())


def _host_of(authority: str) -> str:
    """Return the host of `host:port`.

    >>> _host_of("localhost:6824"), _host_of("[::1]:80"), _host_of("::1")
    ('localhost', '[::1]', '::1')
    """
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    return authority if authority.count(":") > 1 else authority.partition(":")[0]


def _is_foreign(request: web.Request) -> bool:
    """Return whether a browser says that a change comes from another site.

    Browsers name the site of a form: `Sec-Fetch-Site`, and `Origin` in older ones.
    """
    if site := request.headers.get("Sec-Fetch-Site"):
        return site != "same-origin"
    origin = request.headers.get("Origin")
    return origin is not None and origin.partition("://")[2] != request.host


def _says_origin(request: web.Request) -> bool:
    return "Sec-Fetch-Site" in request.headers or "Origin" in request.headers


def is_foreign(request: web.Request) -> bool:
    """Return whether a page of another site has led to a request.

    Browsers say so in `Sec-Fetch-Site`. Slow work is refused then: otherwise a link or
    an image elsewhere could load this machine.
    """
    return request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")


_OF_VISITORS: Final = HttpProcessingError, web.RequestPayloadError


class _OwnErrors(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether an error is other than malformed HTTP."""
        kind = record.exc_info[0] if record.exc_info else None
        return not (kind and issubclass(kind, _OF_VISITORS))


REQUEST_LOG: Final = logging.getLogger(__name__)
"""Logger of failed requests, without malformed ones, which any client can send."""
REQUEST_LOG.addFilter(_OwnErrors())
