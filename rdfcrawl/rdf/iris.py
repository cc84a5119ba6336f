"""Resolve IRIs without normalization: RDF compares them character by character.

Browsers escape and normalize URLs; the result would differ from the IRI in other
documents.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PARTS = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?",
    re.DOTALL,
)  # RFC 3986 appendix B
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NOT_IN_URL = re.compile(r"[\x00-\x20<>\"{}|^`\\]")

is_iri = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+").fullmatch
is_web_url = re.compile(r"https?://[^\s<>\"{}|\\^`]+", re.IGNORECASE).fullmatch


def is_absolute(iri: str) -> bool:
    """Return whether an IRI begins with a scheme."""
    return _SCHEME.match(iri) is not None


def escape_url(url: str) -> str:
    """Return a URL as written by user agents: stripped, with white space escaped.

    >>> escape_url(" a b.html ")
    'a%20b.html'
    """
    url = url.strip(" \t\n\r\f")
    if _NOT_IN_URL.search(url):
        return _NOT_IN_URL.sub(lambda found: f"%{ord(found[0]):02X}", url)
    return url


def _split(iri: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    return _PARTS.fullmatch(iri).groups()  # type: ignore[union-attr,return-value]  # matches any text


@lru_cache(maxsize=64)
def _parts(base: str) -> tuple[str, str | None, str, str | None]:
    scheme, authority, path, query, _ = _split(base)
    return scheme or "", authority, path, query


@lru_cache(maxsize=64)
def _prefix_of(base: str, *, is_root: bool) -> str:
    """Return a base up to its path, or up to its fragment; empty without a scheme."""
    scheme, authority, path, query = _parts(base)
    if not scheme:
        return ""
    if is_root:
        path, query = "", None
    return _joined(scheme, authority, path, query)


def _joined(scheme: str, authority: str | None, path: str, query: str | None) -> str:
    begin = scheme + ":" + ("" if authority is None else "//" + authority)
    return begin + path + ("" if query is None else "?" + query)


def root_of(base: str) -> str:
    """Return scheme and authority of a base; empty without a scheme.

    >>> root_of("http://example.org/a/b?c")
    'http://example.org'
    """
    return _prefix_of(base, is_root=True)


def resolve(reference: str, base: str) -> str:
    """Return the IRI of a reference, unchanged if absolute.

    Source: RFC 3986 section 5.2, and RFC 3987 section 6.5 for IRIs.

    >>> resolve("../c#", "http://example.org/a/b")
    'http://example.org/c#'
    """
    first = reference[:1]
    if first == "#" or (
        first == "/" and reference[1:2] != "/" and "/." not in reference
    ):
        begin = _prefix_of(base, is_root=first == "/")
        return begin + reference if begin else reference
    if _SCHEME.match(reference):
        return reference
    base_scheme, base_authority, base_path, base_query = _parts(base)
    if not base_scheme:
        return reference
    _, authority, path, query, fragment = _split(reference)
    if authority is not None:
        path = _remove_dots(path)
    elif not path:
        authority, path = base_authority, base_path
        query = base_query if query is None else query
    else:
        if not path.startswith("/"):
            path = _merge(path, base_authority, base_path)
        authority, path = base_authority, _remove_dots(path)
    fragment = "" if fragment is None else "#" + fragment
    return _joined(base_scheme, authority, path, query) + fragment


def _merge(path: str, base_authority: str | None, base_path: str) -> str:
    if base_authority is not None and not base_path:
        return "/" + path
    return base_path[: base_path.rfind("/") + 1] + path


def _remove_dots(path: str) -> str:
    """Remove dot segments: RFC 3986 section 5.2.4."""
    if "." not in path:
        return path
    out: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            del out[max(1, len(out) - 1) :]
        elif segment != ".":
            out.append(segment)
    return "/".join(out if segments[-1] not in {".", ".."} else [*out, ""])


def without_dots(base: str) -> str:
    """Return a base IRI without dot segments, as RFC 3986 section 5.2.1 allows.

    >>> without_dots("http://example.org/a/../b/?c=/../")
    'http://example.org/b/?c=/../'
    """
    scheme, authority, path, query = _parts(base)
    if "/." not in path or not path.startswith("/"):
        return base
    return _joined(scheme, authority, _remove_dots(path), query)


def prefix_pairs(text: str) -> dict[str, str]:
    """Return the prefixes in a `prefix` attribute, in lower case, with their IRIs.

    >>> prefix_pairs("OG: https://ogp.me/ns#")
    {'og': 'https://ogp.me/ns#'}
    """
    found: dict[str, str] = {}
    words = iter(text.split())
    for word in words:
        if word.endswith(":"):
            found[word[:-1].lower()] = next(words, "")
    return found
