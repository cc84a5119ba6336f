"""Normal form of a URL: equal for URLs of the same resource, hashed for the seen-set.

A normal form is never requested: a server may respond differently to a sorted query or
without its session.

Source: RFC 3986 section 6.2.2 and 6.2.3; WHATWG URL Standard for hosts, ports and
dot segments.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.uri.parse import MAX_URL_CHARS, PLAIN_AUTHORITY, BadUri, parse_uri

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
