"""Names of classes and properties in items: of schema.org without prefix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.namespaces import PREFIXES, SCHEMA, SCHEMA_HTTPS
from rdfcrawl.rdf.data import read_table

ALL: Final = "all"
"""Names all classes."""

_HTTP: Final = "http"  # a key such as `http:body` would look like a URL
_is_local = re.compile(r"[^\W\d][\w.-]*").fullmatch
_is_scheme = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*").fullmatch


@cache
def item_prefixes() -> Mapping[str, str]:
    """Return the known prefixes: those of queries, and of RDFa's initial context."""
    return MappingProxyType({**read_table("rdfa_context")["prefixes"], **PREFIXES})


@cache
def _prefix_of() -> Mapping[str, str]:
    """Return the prefix of each namespace, with its colon; none for schema.org."""
    # Prefixes of queries win: `dcterms:title` rather than `dc:title`.
    known = {**item_prefixes(), **PREFIXES}
    chosen: dict[str, str] = {}
    for prefix in (*PREFIXES, *sorted(known)):
        if prefix != _HTTP:
            chosen.setdefault(known[prefix], f"{prefix}:")
    return MappingProxyType({**chosen, SCHEMA: ""})


def canonical_iri(iri: str) -> str:
    """Return an IRI, with `http:` if it is one of schema.org.

    >>> canonical_iri("https://schema.org/InStock")
    'http://schema.org/InStock'
    """
    if iri.startswith(SCHEMA_HTTPS):
        return SCHEMA + iri[len(SCHEMA_HTTPS) :]
    return iri


@lru_cache(maxsize=4096)
def short_name(iri: str) -> str:
    """Return the name of a class or property in items.

    >>> short_name("https://schema.org/name")
    'name'
    >>> short_name("http://xmlns.com/foaf/0.1/name")
    'foaf:name'
    >>> short_name("http://example.org/name")
    'http://example.org/name'
    """
    iri = canonical_iri(iri)
    begin = max(map(iri.rfind, "#/")) + 1
    prefix = _prefix_of().get(iri[:begin])
    if prefix is None or not _is_local(iri[begin:]):
        return iri
    return prefix + iri[begin:]


def class_iri(name: str) -> str:
    """Return the IRI of a class: in full, with a known prefix, or of schema.org.

    Raises:
        ConfigError: the prefix is not known.

    >>> class_iri("schema:Product"), class_iri("https://schema.org/Product")
    ('http://schema.org/Product', 'http://schema.org/Product')
    >>> class_iri("Product"), class_iri("foaf:Person")
    ('http://schema.org/Product', 'http://xmlns.com/foaf/0.1/Person')
    """
    prefix, colon, local = name.partition(":")
    if not colon and _is_local(name):
        return SCHEMA + name
    if _is_scheme(prefix) and (local.startswith("//") or prefix == "urn"):
        return canonical_iri(name)
    namespace = item_prefixes().get(prefix) if local else None
    if namespace is None:
        known = ", ".join(f"{each}:" for each in sorted(item_prefixes()))
        raise ConfigError(
            f"class {name!r}: must be a name of schema.org, as Product, an IRI, or"
            f" begin with {known}"
        )
    return namespace + local


def class_iris(names: str | Iterable[str]) -> frozenset[str] | None:
    """Return the IRIs of classes; None for any class (`all`, or no name).

    Args:
        names: separated by commas, or several names.

    Raises:
        ConfigError: a prefix is not known.

    >>> sorted(class_iris("Product,foaf:Person"))
    ['http://schema.org/Product', 'http://xmlns.com/foaf/0.1/Person']
    """
    if isinstance(names, str):
        names = names.split(",")
    wanted = {name.strip() for name in names} - {""}
    if not wanted or ALL in wanted:
        return None
    return frozenset(map(class_iri, wanted))
