"""Parse links into the URLs to request, and into normal forms for comparison.

A normal form is equal for URLs of the same resource. It is hashed for the seen-set, and
never requested: a server may respond differently to a sorted query or without its
session. A page of the Web may not lead to `file://` or another scheme that the operator
has added, because such files may be private.

Sources: WHATWG URL Standard, sections 4.4 "URL parsing" and 4.5 "URL serializing"; RFC
3986 sections 6.2.2 and 6.2.3 (normal form).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import ada_url

from rdfcrawl.core.errors import ConfigError, Reason, SourceFault
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
# Names of session parameters that PHP, Java servlets, ASP, ColdFusion, Django,
# osCommerce and Zen Cart give to clients without cookies.
SESSION_PARAMETERS: Final = (
    "phpsessid",
    "jsessionid",
    "aspsessionid*",
    "asp.net_sessionid",
    "cfid",
    "cftoken",
    "oscsid",
    "zenid",
    "sessionid",
    "session_id",
    "sessid",
    "sid",
)
_UNRESERVED = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
)
_HEX_DIGITS = "0123456789ABCDEFabcdef"
_PARTS = re.compile(r"((?:https?|ftps?)://)(?:[^/]*@)?([^/]+)(/[^?#]*)\??([^#]*)").match
_GENERIC = re.compile(
    r"([a-z][a-z0-9+.-]*://)(?:[^/?#]*@)?([^/?#]*)([^?#]*)(\?[^#]*)?"
).match
# RFC 3986 3.3 and 3.4: characters allowed in a path or query. A "%" without two digits
# is escaped; otherwise decoding the following characters could make it an escape.
_NOT_CANONICAL = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?]").sub
_DOT_SEGMENT = re.compile(r"/\.\.?(?:/|\Z)").search


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


def _canonical_escape(digits: str) -> str:
    char = chr(int(digits, 16))
    return char if char in _UNRESERVED else f"%{digits.upper()}"


_CANONICAL = {chr(code): f"%{code:02X}" for code in range(128)} | {
    f"%{high}{low}": _canonical_escape(high + low)
    for high in _HEX_DIGITS
    for low in _HEX_DIGITS
}


@dataclass(frozen=True, slots=True)
class NormalForm:
    """Normalizer of URLs with compiled expressions; build it once.

    Attributes:
        session_parameters: names of query and `;name=` path parameters that are
            dropped, in any case; `*` stands for any characters of a name.
        is_simple: returns a match if a text without `&` `is_plain`; this one expression
            recognizes most links.
    """

    session_parameters: tuple[str, ...] = SESSION_PARAMETERS
    is_simple: Callable[[str], object] = field(init=False, repr=False, compare=False)
    _is_normal: Callable[[str], object] = field(init=False, repr=False, compare=False)
    _is_session: Callable[[str], object] = field(init=False, repr=False, compare=False)
    _drop_sessions: Callable[[str, str], str] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Compile the expressions.

        Raises:
            ConfigError: a session parameter is not a name, or matches every name.
        """
        name = _any_of(self.session_parameters)
        is_session = re.compile(rf"{name}(?:=.*)?", re.IGNORECASE)
        in_path = re.compile(rf";{name}(?:=[^;/]*)?(?=[;/]|\Z)", re.IGNORECASE)
        parameter = rf"(?!(?i:{name})(?:[=&]|\Z))[A-Za-z0-9\-._~!$()*+,;=:@/?]++"
        is_normal = re.compile(
            rf"https?://{PLAIN_AUTHORITY}"
            r"(?:/(?!\.\.?(?:[/?]|\Z))[A-Za-z0-9\-._~!$&'()*+,=:@]*+)++"
            rf"(?:\?{parameter}(?:&{parameter})*+)?+"
        )
        is_simple = re.compile(
            rf"(?=[^&]{{1,{MAX_URL_CHARS}}}+\Z)(?:{is_normal.pattern})"
        )
        object.__setattr__(self, "is_simple", is_simple.fullmatch)
        object.__setattr__(self, "_is_normal", is_normal.fullmatch)
        object.__setattr__(self, "_is_session", is_session.fullmatch)
        object.__setattr__(self, "_drop_sessions", in_path.sub)

    def normalize(self, url: str) -> str:
        """Return the normal form of an absolute URL with an authority.

        After WHATWG parsing: drop fragment, userinfo and session parameters; decode
        escapes of unreserved characters, write others in upper case, and escape what
        RFC 3986 does not allow; sort the `&` parts of the query, undecoded, without
        empty ones. Double slashes stay. Queries of schemes other than http(s) and
        ftp(s) only have their escapes normalized. The function is idempotent.

        Raises:
            BadUri: not a URL, or one without an authority.

        >>> NormalForm().normalize("HTTP://example.org:80/%7eme/./x?b=%2f&a&sid=1#x")
        'http://example.org/~me/x?a&b=%2F'
        """
        if self._is_normal(url) and ("&" not in url or _is_sorted(url)):
            return url
        return self._rewrite(url)

    def is_plain(self, text: str) -> bool:
        """Return whether `requestable` and `normalize` return `text` unchanged."""
        return (
            len(text) <= MAX_URL_CHARS
            and self._is_normal(text) is not None
            and ("&" not in text or _is_sorted(text))
        )

    def _rewrite(self, url: str) -> str:
        parsed = parse_uri(url)
        parts = _PARTS(parsed)
        if parts is None:
            return _normalize_syntax(parsed)
        scheme, host, path, query = parts.groups()
        path = _NOT_CANONICAL(_canonical, path)
        query = self._normalize_query(query) if query else ""
        if ";" in path:
            path = self._drop_sessions("", path)
            if _DOT_SEGMENT(path):  # "/..;sid=1/" is now one
                path = parse_uri(f"{scheme}{host}{path}")[len(scheme + host) :]
        return f"{scheme}{host}{path}{query}"

    def _normalize_query(self, query: str) -> str:
        parts = _NOT_CANONICAL(_canonical, query).split("&")
        kept = sorted(part for part in parts if part and not self._is_session(part))
        return "?" + "&".join(kept) if kept else ""


def fingerprint(normal: str) -> int:
    """Return 64 bits of BLAKE2b of a normal form, signed: an integer to Redis.

    Any two of n URLs collide with probability n²/2⁶⁵: 3e-8 for a million, 0.03 for a
    billion. A collision makes one URL look seen; only URLs of one partition of the
    seen-set can collide.
    """
    digest = blake2b(normal.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _normalize_syntax(url: str) -> str:
    """Return the normal form of a URL of any other scheme (RFC 3986 6.2.2)."""
    parts = _GENERIC(url)
    if parts is None:
        raise BadUri(f"scheme without a normal form: {url[:100]!r}")
    scheme, host, path, query = parts.groups("")
    rest = _NOT_CANONICAL(_canonical, path or "/") + _NOT_CANONICAL(_canonical, query)
    return f"{scheme}{host.lower()}{rest}"


def _canonical(match: re.Match[str]) -> str:
    return _CANONICAL[match[0]]


def _is_sorted(url: str) -> bool:
    parts = url.partition("?")[2].split("&")
    return parts == sorted(parts)


def _any_of(names: tuple[str, ...]) -> str:
    """Return an expression that matches any of the names."""
    for name in names:
        if not re.fullmatch(r"[*!$@]*+[\w.~-][\w.*~!$@-]*", name, re.ASCII):
            raise ConfigError(
                f"session parameter {name!r}: must be a name of letters, digits and"
                " -._~, with * for any characters"
            )
    patterns = (re.escape(name).replace(r"\*", "[^=&;/]*") for name in names)
    return f"(?:{'|'.join(patterns)})" if names else "(?!)"


@dataclass(frozen=True, slots=True)
class SchemePolicy:
    """The schemes of one crawl."""

    own: frozenset[str] = frozenset()  # schemes of the user, besides `CRAWLED_SCHEMES`
    # schemes in `own` that documents of other schemes may link to
    from_web: frozenset[str] = frozenset()

    @property
    def of_seeds(self) -> frozenset[str]:
        """All schemes: seeds may have any."""
        return CRAWLED_SCHEMES | self.own

    def of_links(self, url: str) -> frozenset[str]:
        """Return the schemes that a document, requested at `url`, may link to."""
        if not self.own:  # the common case
            return CRAWLED_SCHEMES
        if is_of_web(url):
            return CRAWLED_SCHEMES | self.from_web
        return CRAWLED_SCHEMES | self.from_web | (self.own & {scheme_of(url)})


NO_SCHEMES = SchemePolicy()


def scheme_of(url: str) -> str:
    """Return the scheme of a requestable URL."""
    return url.partition(":")[0]


def seed_url(text: str) -> str:
    """Return the URL of a seed of any scheme; `check_scheme` comes later.

    Raises:
        BadUri: `text` is not a URL with an authority, or too long.
    """
    text = text.strip()
    scheme = scheme_of(text).lower()
    return requestable(text, schemes=CRAWLED_SCHEMES | {scheme})


def named_url(text: str) -> str:
    """Return the URL of a host that an operator names by itself, or by a URL.

    Raises:
        ConfigError: it is neither.

    >>> named_url("Data.example.org:8080"), named_url("http://m\u00fcller.example/a")
    ('https://data.example.org:8080/', 'http://xn--mller-kva.example/a')
    """
    if "@" in text and "://" not in text:
        raise ConfigError(f"host {text[:200]!a}: not a host: it has an @")
    try:
        return seed_url(text if "://" in text else f"https://{text}/")
    except BadUri as error:
        raise ConfigError(f"host {text[:200]!a}: not a host: {error}") from error


def check_scheme(url: str, schemes: frozenset[str]) -> None:
    """Check that a URL has one of the schemes.

    Raises:
        BadUri: the URL has another scheme.
    """
    if (scheme := scheme_of(url)) not in schemes:
        raise BadUri(f"scheme {scheme[:20]!r} is not crawled")
