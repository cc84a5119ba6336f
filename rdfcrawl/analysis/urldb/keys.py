"""The sort keys of URIs: registered domain, host, URL in normal form."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rdfcrawl.uri import (
    MAX_CACHED_HOSTS,
    MAX_URL_CHARS,
    BadUri,
    host_of,
    partition_of,
    registered_domain,
)
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from rdfcrawl.uri import NormalForm

N_PARTITIONS: Final = 64
"""Partitions of URIs; all hosts of one registered domain are in one."""


def key_of(url: str, normal_form: NormalForm) -> bytes | None:
    r"""Return partition, registered domain, host and URL; None without a host.

    >>> from rdfcrawl.uri import NormalForm
    >>> key_of("HTTP://data.example.org/%7Ea", NormalForm())
    b'35\texample.org\tdata.example.org\thttp://data.example.org/~a'
    """
    try:
        normal = normal_form.normalize(url)
    except BadUri:
        return None
    # Longer URLs are never queued. UTF-8 has no control character of another byte.
    if len(normal) > MAX_URL_CHARS or (normal is not url and not normal.isprintable()):
        return None  # an unchanged URL is ASCII
    prefix = _prefix(origin_of(normal))
    return prefix + normal.encode() if prefix else None


@lru_cache(maxsize=MAX_CACHED_HOSTS)
def _prefix(origin: str) -> bytes:
    host = host_of(origin)
    if not host:
        return b""
    name = partition_name(host)
    return f"{name}\t{registered_domain(host)}\t{host}\t".encode()


def partition_name(host: str) -> str:
    """Return two hexadecimal digits, the partition of a host."""
    return f"{partition_of(host, N_PARTITIONS):02x}"
