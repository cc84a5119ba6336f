"""Expand prefixes in rule files, and refuse misspelled ones."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from rdfcrawl.rdf.html.iris import escape_url, resolve

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
    context = files("rdfcrawl.rdf.data").joinpath("rdfa_context.json").read_bytes()
    prefixes: dict[str, str] = json.loads(context)["prefixes"]
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
        raise ValueError(
            f"prefix {prefix!r} of {text!r} is not known; declare it under `prefixes`"
        )
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
