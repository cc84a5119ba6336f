"""Assign URLs to politeness keys, which share a delay and a queue, and to partitions.

A registered domain is a label below the longest public suffix, including private
suffixes: sites under `github.io` or `blogspot.com` have different publishers, so they
do not share a delay, and a crawl of one does not spread to the others. The suffix list
is bundled with tldextract: identical on all workers, and never downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from rdfcrawl.uri.origin import host_of
from rdfcrawl.uri.parse import is_of_web

if TYPE_CHECKING:
    from tldextract import TLDExtract

MAX_CACHED_HOSTS: Final = 1 << 16

_IPV4 = re.compile(r"[0-9]+(?:\.[0-9]+){3}").fullmatch


class HostGrouping(StrEnum):
    """Property that URLs with one delay have in common."""

    HOST = "host"
    DOMAIN = "domain"
    IP = "ip"


@dataclass(frozen=True, slots=True)
class PolitenessKey:
    """Policy by which URLs share one delay and one queue.

    Attributes:
        resolve: for `HostGrouping.IP`: host -> address, or None while unknown; called
            for each URL, so it should use a cache.
    """

    grouping: HostGrouping = HostGrouping.HOST
    resolve: Callable[[str], str | None] | None = None

    def of(self, url: str) -> str:
        """Return the key of a requestable URL: lower case, without port.

        IPv6 addresses keep their brackets, so that `https://<key>/` is a URL. With
        `HostGrouping.IP` the key is the host until it is resolved. URLs of a user's
        scheme have separate keys, `scheme!host`: their fetcher uses another server.
        """
        host = host_of(url)
        if not is_of_web(url):
            scheme, is_absolute, _ = url.partition("://")
            return f"{scheme}!{host}" if is_absolute else host
        if self.grouping is HostGrouping.DOMAIN:
            return registered_domain(host)
        if self.grouping is HostGrouping.IP and self.resolve and not _is_ip(host):
            address = self.resolve(host)
            return host if address is None else host_of_address(address)
        return host


@lru_cache(maxsize=MAX_CACHED_HOSTS)
def registered_domain(host: str) -> str:
    """Return the registered domain of a host in the form of `host_of`.

    For an IP literal, a single label or a public suffix, the result is the host itself;
    for an unknown suffix, the last two labels (rule `*` of the public suffix list).

    >>> registered_domain("data.bbc.co.uk"), registered_domain("me.github.io")
    ('bbc.co.uk', 'me.github.io')
    """
    if _is_ip(host):
        return host
    parts = _suffix_list().extract_str(host)
    if parts.suffix:
        return parts.top_domain_under_public_suffix or host
    return ".".join(host.rsplit(".", 2)[-2:])


def partition_of(url_or_key: str, n_partitions: int) -> int:
    """Return the partition, from 0, of a URL or a politeness key.

    All hosts of one registered domain lie in one partition.
    """
    host = host_of(url_or_key) if "://" in url_or_key else url_or_key
    return _domain_hash(host) % n_partitions


def compact(url: str, key: str) -> str:
    """Return the short form of a URL in the queue of its politeness key.

    ==================== =============
    URL                  short form
    ==================== =============
    `https://key/p`      `/p`
    `http://key/p`       `!/p`
    `http://key:8080/p`  `:8080/p`
    `https://key:8443/p` `;8443/p`
    anything else        the URL itself
    ==================== =============
    """
    for start, mark in ((f"http://{key}", "!"), (f"https://{key}", "")):
        if url.startswith(start):
            rest = url[len(start) :]
            if rest.startswith("/"):
                return mark + rest
            if rest.startswith(":"):
                return rest if mark else ";" + rest[1:]
    return url


def expand(text: str, key: str) -> str:
    """Return the URL for a result of `compact`; exact for every absolute URL."""
    match text[:1]:
        case "/":
            return f"https://{key}{text}"
        case "!":
            return f"http://{key}{text[1:]}"
        case ":":
            return f"http://{key}{text}"
        case ";":
            return f"https://{key}:{text[1:]}"
    return text


@lru_cache(maxsize=MAX_CACHED_HOSTS)
def _domain_hash(host: str) -> int:
    digest = blake2b(registered_domain(host).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


@cache
def _suffix_list() -> TLDExtract:
    from tldextract import TLDExtract  # noqa: PLC0415 (with `requests`; slow to import)

    return TLDExtract(
        cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True
    )


def _is_ip(host: str) -> bool:
    return host.startswith("[") or _IPV4(host) is not None


def host_of_address(address: str) -> str:
    """Return an address as the host of a URL, also of a politeness key.

    >>> host_of_address("::1")
    '[::1]'
    """
    return f"[{address}]" if ":" in address else address
