"""Parse links into the URLs to request.

Source: WHATWG URL Standard, sections 4.4 "URL parsing" and 4.5 "URL serializing".
"""

from __future__ import annotations

import re
from typing import Final

import ada_url

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted

CRAWLED_SCHEMES: Final = frozenset({"http", "https", "ftp", "ftps"})
"""Schemes of the Web; `uri.schemes` adds those of a user."""

MAX_URL_CHARS: Final = 2083  # the traditional limit of browsers and proxies
MAX_INPUT_CHARS: Final = 1 << 16  # of an unparsed link, which dot segments may shorten

# A host and port that WHATWG parsing leaves unchanged: lower-case ASCII labels of which
# the last is not a number (3.5 "ends in a number checker"), or a dotted quad in its
# only canonical spelling; no A-label, which the parser validates; no default port. It
# rejects some unchanged URLs; for those, callers use the parser.
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
PLAIN_AUTHORITY: Final = (
    r"(?![^/]*xn--)"
    r"(?:(?:[a-z0-9_-]++\.)*+[a-z][a-z0-9_-]*+"
    rf"|{_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET})"
    r"(?::(?!(?:80|443)/)(?:[1-5][0-9]{4}|[1-9][0-9]{0,3}))?+(?=/)"
)
# A URL that WHATWG parsing leaves unchanged, with any fragment.
_UNCHANGED = re.compile(
    rf"((https?)://{PLAIN_AUTHORITY}"
    r"(?:/(?!(?:\.|%2[eE]){1,2}(?:[/?#]|\Z))[A-Za-z0-9\-._~!$&'()*+,;=:@%|\[\]]*+)++"
    r"(?:\?[A-Za-z0-9\-._~!$&()*+,;=:@%|\[\]/?]*+)?+)(?:#.*+)?+",
    re.DOTALL,
).fullmatch
_USERINFO = re.compile(r"\A([a-z][a-z0-9+.-]*://)[^/?]*@")
_BEGINNINGS: Final = ("https:", "http:", "ftp:", "ftps:")
_HAS_NO_PATH = re.compile(r"[a-z][a-z0-9+.-]*://[^/?]*(?=\?|\Z)").match
_HAS_PORT = re.compile(r"//[^/]*:[0-9]+/").match


class BadUri(SourceFault, ValueError):
    """A link that is not a URL, or has a URL that is not crawled."""

    def __init__(self, detail: str) -> None:
        super().__init__(Reason.BAD_URI, detail)


def parse_uri(text: str, base: str | None = None) -> str:
    r"""Parse a link of any scheme like a browser, and resolve it against `base`.

    Returns:
        The URL in WHATWG serialization (`href`), with fragment and userinfo; ASCII:
            other characters are percent-encoded, hosts are A-labels. The standard does
            not define ftps; it is parsed like ftp, with the default port 990.

    Raises:
        BadUri: also a `ValueError`; the link is not a URL, is relative without a base,
            or one of the two is longer than `MAX_INPUT_CHARS`.

    >>> parse_uri("../b\\c", "HTTP://EXAMPLE.org:80/x/a")
    'http://example.org/b/c'
    """
    if len(text) > MAX_INPUT_CHARS or (base and len(base) > MAX_INPUT_CHARS):
        raise BadUri(f"longer than {MAX_INPUT_CHARS} characters")
    if not text.isascii():  # lone surrogates become U+FFFD, as in a `USVString`
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        href = ada_url.join_url(base, text) if base else ada_url.normalize_url(text)
    except ValueError:
        raise BadUri(f"not a URL: {text[:200]!r}") from None
    return _parse_ftps(href) if href.startswith("ftps:") else str(href)


def requestable(
    text: str | bytes,
    base: str | None = None,
    *,
    schemes: frozenset[str] = CRAWLED_SCHEMES,
    max_chars: int = MAX_URL_CHARS,
) -> str:
    """Return the URL to request for a link.

    This is its WHATWG serialization without fragment and userinfo; query, escapes and
    double slashes stay unchanged, since they may matter.

    Args:
        text: a link before parsing; bytes are UTF-8.
        base: absolute URL that a relative `text` is resolved against.
        schemes: allowed schemes in lower case; by default also that of `base`.
        max_chars: longest allowed URL.

    Raises:
        BadUri: the link is not a URL, has another scheme, or is too long.

    >>> requestable("http://me:pw@example.org/a?b=1&a=%7e#frag")
    'http://example.org/a?b=1&a=%7e'
    """
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    match = _UNCHANGED(text)
    if match is not None:
        url, scheme = match.groups()
    else:
        url = parse_uri(text, base).partition("#")[0]
        scheme = url.partition(":")[0]
        url = _USERINFO.sub(r"\1", url)
        if scheme not in CRAWLED_SCHEMES:
            if base and schemes is CRAWLED_SCHEMES and base.startswith(f"{scheme}:"):
                schemes = frozenset({scheme})
            url = _with_path(url, scheme)
    if scheme not in schemes:
        raise BadUri(f"scheme {scheme[:20]!r} is not crawled")
    if len(url) > max_chars:
        raise BadUri(f"longer than {counted(max_chars, 'character')}: {url[:100]!r}...")
    return str(url)


def is_of_web(url: str) -> bool:
    """Return whether a requestable URL has one of `CRAWLED_SCHEMES`."""
    return url.startswith(_BEGINNINGS)


def _with_path(url: str, scheme: str) -> str:
    """Return a URL of a user's scheme with a path (RFC 3986 6.2.3)."""
    if not url.startswith("//", len(scheme) + 1):
        raise BadUri(f"scheme {scheme[:20]!r} is not crawled")
    bare = _HAS_NO_PATH(url)
    return f"{bare[0]}/{url[bare.end() :]}" if bare else url


def _parse_ftps(href: str) -> str:
    """Return a URL of ftps, parsed as if it were a special scheme of WHATWG."""
    rest = href[5:]
    try:
        parsed = ada_url.normalize_url(f"http:{rest}")[5:]
        if not _HAS_PORT(parsed):  # 80 is the default port of http, but not of ftps
            parsed = ada_url.normalize_url(f"https:{rest}")[6:]
    except ValueError:
        raise BadUri(f"not a URL: {href[:200]!r}") from None
    authority, slash, path = parsed[2:].partition("/")
    return f"ftps://{authority.removesuffix(':990')}{slash}{path}"
