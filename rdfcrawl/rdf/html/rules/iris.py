"""IRIs of rules: prefixes, patterns of the URLs of pages, and templates."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final
from urllib.parse import quote, unquote

from rdfcrawl.rdf.data import read_table
from rdfcrawl.rdf.iris import escape_url, resolve

# Without "//", these are schemes, not undeclared prefixes.
_SCHEMES = frozenset(
    {"cid", "data", "did", "doi", "geo", "info", "mailto", "tag", "tel", "urn"}
)
_CURIE = re.compile(r"([A-Za-z][A-Za-z0-9+._-]*|):(.*)", re.DOTALL)
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\]")
_URL = re.compile(r"[^:/?#]*://([^/?#]*)([^?#]*)(?:\?([^#]*))?")
# URLs that only a browser can use.
_NO_NAMES = ("javascript:", "about:", "blob:", "data:")

is_prefix = re.compile(r"[A-Za-z][A-Za-z0-9+._-]*").fullmatch
is_attribute = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*").fullmatch


@cache
def default_prefixes() -> Mapping[str, str]:
    """Return the prefixes of the initial context of RDFa 1.1, and `dct`."""
    prefixes: dict[str, str] = read_table("rdfa_context")["prefixes"]
    return MappingProxyType({"dct": prefixes["dcterms"], **prefixes})


def expand(text: str, prefixes: Mapping[str, str]) -> str:
    """Return an IRI with its prefix expanded.

    Raises:
        ValueError: the prefix is unknown, or the text is no absolute IRI.

    >>> expand("ex:name", {"ex": "http://example.org/"})
    'http://example.org/name'
    """
    found = _CURIE.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is not an IRI; it needs a prefix, as in dct:title")
    prefix, rest = found.groups()
    if prefix in prefixes and not rest.startswith("//"):
        iri = prefixes[prefix] + rest
    elif rest.startswith("//") or prefix.lower() in _SCHEMES:
        iri = found[0]
    else:
        reason = f"prefix {prefix!r} of {text!r} is not known"
        raise ValueError(f"{reason}; declare it under `prefixes`")
    if _NOT_IN_IRI.search(iri):
        raise ValueError(f"{text!r} has a character that no IRI has")
    return iri


def resolved(text: str, base: str) -> str:
    """Return a link of a page as an IRI; empty for `javascript:` and the like.

    >>> resolved(" ../b c", "http://example.org/a/x")
    'http://example.org/b%20c'
    """
    reference = escape_url(text)
    if not reference or reference.lower().startswith(_NO_NAMES):
        return ""
    return resolve(reference, base)


def url_parts(url: str) -> tuple[str, str, str]:
    """Return host with port, path and query of a URL.

    >>> url_parts("http://example.org:80/a/b?c=d")
    ('example.org:80', '/a/b', 'c=d')
    """
    found = _URL.match(url)
    return (found[1], found[2], found[3] or "") if found else ("", "", "")


def last_segment(path: str) -> str:
    """Return the last segment of a path that is not empty.

    >>> last_segment("/dataset/roads/")
    'roads'
    """
    return path.rstrip("/").rpartition("/")[2]


MAX_STARS: Final = 6
MAX_PATTERN_CHARS: Final = 2_000
MAX_URL_CHARS: Final = 2_048  # a longer URL matches nothing

_GLOB = re.compile(r"(?:(https?)://)?([^/]+)(/.*)?", re.DOTALL)
_HOST = re.compile(r"[a-z0-9*.:\[\]_-]+")
_STARS = re.compile(r"\*\*?")


@dataclass(frozen=True, slots=True)
class UrlPattern:
    """An expression that must match the full URL, with named groups for templates.

    `hosts` are the only ones that can match, without port; empty: all hosts.
    """

    expression: re.Pattern[str]
    hosts: tuple[str, ...] = ()

    def match(self, url: str) -> Mapping[str, str] | None:
        """Return the named parts of a matching URL, else None."""
        if len(url) > MAX_URL_CHARS:
            return None
        found = self.expression.fullmatch(url)
        if found is None:
            return None
        return {k: v for k, v in found.groupdict().items() if v is not None}


def glob(text: str) -> UrlPattern:
    """Return the pattern of a glob: `*` is anything but `/`, and `**` is anything.

    Without a scheme, http and https match; without a path, all pages of the host. The
    stars also match queries.

    Raises:
        ValueError: the glob is too long, has too many stars, or no host.

    >>> glob("example.org/set/*").match("https://example.org/set/1?a=b")
    {}
    >>> glob("example.org/set/*").match("https://example.org/set/1/2") is None
    True
    """
    if len(text) > MAX_PATTERN_CHARS:
        raise ValueError(f"longer than {MAX_PATTERN_CHARS} characters")
    found = _GLOB.fullmatch(text.strip())
    if not found or not _HOST.fullmatch(found[2].lower()):
        raise ValueError("a pattern is a host and a path, such as example.org/set/*")
    if len(_STARS.findall(text)) > MAX_STARS:
        raise ValueError(f"more than {MAX_STARS} stars")
    scheme, host, path = found.groups()
    host = host.lower()
    expression = f"{scheme or 'https?'}://{_expression(host + (path or '/**'))}"
    # Hosts with a port or in brackets are rare: tried for all URLs.
    hosts = () if set(host) & set("*:") else (host,)
    return UrlPattern(re.compile(expression, re.DOTALL), hosts)


def _expression(text: str) -> str:
    """Return the expression of a glob, without backtracking.

    Possessive stars bound the time by the square of the URL's length. The first match
    of a literal is the right one, because it leaves most text to the following stars.
    The exceptions are the last literal, which must match at the end, and the literals
    after the last `**`: only `**` matches slashes, so these are tried together at
    all positions.
    """
    blocks = [
        [re.escape(literal) for literal in block.split("*")]
        for block in text.split("**")
    ]
    first, *others = blocks
    if not others:
        return first[0] + _ended(first[1:])
    last = others.pop()
    middle = "".join(f"(?>.*?{x[0]}{_lazy(x[1:])})" for x in others)
    return f"{first[0]}{_lazy(first[1:])}{middle}.*?{last[0]}{_ended(last[1:])}"


def _lazy(literals: list[str]) -> str:
    return "".join(f"(?>[^/]*?{literal})" for literal in literals)


def _ended(literals: list[str]) -> str:
    return _lazy(literals[:-1]) + "".join(f"[^/]*{x}" for x in literals[-1:])


def regex(text: str) -> re.Pattern[str]:
    """Compile a regular expression; raise `ValueError` if invalid or too long."""
    if len(text) > MAX_PATTERN_CHARS:
        raise ValueError(f"longer than {MAX_PATTERN_CHARS} characters")
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"not a regular expression: {error}") from error


MAX_PLACES: Final = 50

PAGE_NAMES: Final = frozenset({"url", "base", "host", "path", "query", "label", "n"})

_PARTS = re.compile(r"\{\{|\}\}|\{(\+?)([A-Za-z_][A-Za-z0-9_]*)\}|[{}]|[^{}]+")
_RESERVED = ":/?#[]@!$&'()*+,;=%"  # RFC 6570 3.2.3: not escaped in "{+name}"


class CompleteIri(str):
    """A complete IRI: not escaped."""

    __slots__ = ()


class UrlPart(str):
    """A part of a URL: already escaped."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """A text with placeholders, each a name with or without `+`."""

    parts: tuple[str | tuple[str, bool], ...]

    @classmethod
    def parse(cls, text: str, names: Collection[str]) -> TextTemplate:
        """Parse a template; only `names` are allowed.

        `{name}` is a placeholder, `{+name}` one that does not escape reserved
        characters, `{{` and `}}` are braces.

        Raises:
            ValueError: a single brace, or an unknown name.
        """
        parts: list[str | tuple[str, bool]] = []
        for found in _PARTS.finditer(text):
            if name := found[2]:
                if name not in names:
                    known = ", ".join(sorted(names))
                    raise ValueError(f"{{{name}}} is not known; there are {known}")
                parts.append((name, bool(found[1])))
            elif found[0] in {"{", "}"}:
                raise ValueError(f"a literal brace must be doubled: {text!r}")
            else:
                parts.append({"{{": "{", "}}": "}"}.get(found[0], found[0]))
        if len(parts) > 2 * MAX_PLACES:
            raise ValueError(f"more than {MAX_PLACES} places")
        return cls(tuple(parts))

    @property
    def head(self) -> str:
        """Text before the first placeholder."""
        return self.parts[0] if self.parts and isinstance(self.parts[0], str) else ""

    def with_head(self, head: str) -> TextTemplate:
        """Return the template with another text before the first placeholder."""
        return TextTemplate((head, *self.parts[1:]))

    def fill(self, values: Mapping[str, str], *, is_iri: bool) -> str | None:
        """Return the text with values filled in; None if a value is missing.

        Source: RFC 6570, sections 3.2.2 and 3.2.3, for IRIs.
        """
        filled: list[str] = []
        for part in self.parts:
            if isinstance(part, str):
                filled.append(part)
                continue
            name, is_kept = part
            value = values.get(name)
            if not value:
                return None
            filled.append(_inserted(value, is_iri=is_iri, is_kept=is_kept))
        return "".join(filled)


def _inserted(value: str, *, is_iri: bool, is_kept: bool) -> str:
    if isinstance(value, UrlPart):
        return str(value) if is_iri else unquote(value)
    if isinstance(value, CompleteIri) or not is_iri:
        return str(value)
    # UTF-8 has no surrogates.
    text = value.encode("utf-8", "replace").decode()
    return quote(text, safe=_RESERVED if is_kept else "")
