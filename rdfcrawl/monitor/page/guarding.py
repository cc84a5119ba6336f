"""Access control of the page, and limits for browsers."""

from __future__ import annotations

import base64
import hmac
from typing import TYPE_CHECKING, Final

from aiohttp import web

from rdfcrawl.monitor.page.form_token import FIELD, HEADER
from rdfcrawl.monitor.page.forms import read_form
from rdfcrawl.monitor.page.options import is_loopback

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler, Middleware

    from rdfcrawl.monitor.page.form_token import FormToken
    from rdfcrawl.monitor.page.options import PageOptions

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
_READING: Final = ("GET", "HEAD")


class PageGuard:
    """The middleware for all requests.

    Without a token, only names of this machine are accepted, so that no site can have a
    browser read the page under the site's name (DNS rebinding). Changes are accepted
    only
    from our pages, and only with `--control`.
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
                if where := raised.headers.get("Location"):
                    response.headers["Location"] = where
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
