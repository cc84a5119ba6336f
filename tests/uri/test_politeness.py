"""Tests of `rdfcrawl.uri.hosts`."""

from __future__ import annotations

import socket
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.uri import (
    HostGrouping,
    PolitenessKey,
    compact,
    expand,
    host_of,
    partition_of,
    registered_domain,
)
from rdfcrawl.uri.hosts import _suffix_list

_HOSTS = st.sampled_from(
    ["a.org", "www.a.org", "a.or", "a.organ", "127.0.0.1", "[::1]", "localhost"]
)
_URLS = st.builds(
    lambda *parts: "".join(parts),
    st.sampled_from(["http://", "https://", "ftp://"]),
    _HOSTS,
    st.sampled_from(["", ":1", ":80", ":443", ":8080"]),
    st.text("/ab!:;.?%", max_size=8).map("/".__add__),
)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        pytest.param("http://a.org/b", "a.org", id="plain"),
        pytest.param("http://A.ORG:8080/b:1", "a.org", id="port"),
        pytest.param("http://a.org./", "a.org", id="final-dot"),
        pytest.param("http://me:pw@a.org/@b", "a.org", id="userinfo"),
        pytest.param("http://127.0.0.1:80/", "127.0.0.1", id="ipv4"),
        pytest.param("http://[2001:DB8::1]:80/", "[2001:db8::1]", id="ipv6"),
        pytest.param("http://a.org?b=http://c.org/", "a.org", id="no-path"),
        pytest.param("/a/b", "", id="none"),
    ],
)
def test_host(url: str, host: str) -> None:
    """If URLs differ in case, port or userinfo, then the host is the same."""
    assert host_of(url) == host
    assert PolitenessKey().of(url) == host


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        pytest.param("www.example.org", "example.org", id="org"),
        pytest.param("data.gov.uk", "data.gov.uk", id="two-part-suffix"),
        pytest.param("a.b.data.gov.uk", "data.gov.uk", id="below-it"),
        pytest.param("www.me.github.io", "me.github.io", id="private-suffix"),
        pytest.param("github.io", "github.io", id="suffix-itself"),
        pytest.param("a.b.kawasaki.jp", "a.b.kawasaki.jp", id="wildcard-rule"),
        pytest.param("x.city.kawasaki.jp", "city.kawasaki.jp", id="exception-rule"),
        pytest.param("a.xn--bcher-kva.de", "xn--bcher-kva.de", id="a-label"),
        pytest.param("www.食狮.公司.cn", "食狮.公司.cn", id="u-label"),
        pytest.param("a.xn--55qx5d.cn", "a.xn--55qx5d.cn", id="suffix-of-a-labels"),
        pytest.param("localhost", "localhost", id="one-label"),
        pytest.param("node1.rdf.internal", "rdf.internal", id="unknown-suffix"),
        pytest.param("127.0.0.1", "127.0.0.1", id="ipv4"),
        pytest.param("[2001:db8::1]", "[2001:db8::1]", id="ipv6"),
        pytest.param("", "", id="none"),
    ],
)
def test_registered_domain(host: str, domain: str) -> None:
    """If a host is given, then the public suffix list says who registered it."""
    assert registered_domain(host) == domain
    assert registered_domain(domain) == domain


def test_suffix_list_is_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the list is loaded, then neither network nor cache folder is touched."""

    def refuse(*_args: object) -> None:
        pytest.fail("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    _suffix_list.cache_clear()
    registered_domain.cache_clear()
    assert registered_domain("a.example.co.uk") == "example.co.uk"
    assert _suffix_list().suffix_list_urls == ()


def test_domain_key() -> None:
    """If the policy is `domain`, then all hosts of a domain share one key."""
    key = PolitenessKey(HostGrouping.DOMAIN)
    assert key.of("http://a.example.org/") == key.of("https://b.example.org:8443/")
    assert key.of("http://me.github.io/") != key.of("http://you.github.io/")
    assert key.of("http://[::1]:8080/") == "[::1]"


def test_ip_key() -> None:
    """If the policy is `ip`, then hosts are split until their address is known."""
    addresses: dict[str, str] = {}
    key = PolitenessKey(HostGrouping.IP, addresses.get)
    assert key.of("http://a.org/") == "a.org"
    addresses |= {"a.org": "192.0.2.1", "b.org": "192.0.2.1", "c.org": "2001:db8::1"}
    assert key.of("http://a.org/") == key.of("http://b.org:8080/") == "192.0.2.1"
    assert key.of("http://c.org/") == key.of("http://[2001:db8::1]/")
    assert PolitenessKey(HostGrouping.IP).of("http://a.org/") == "a.org"


@pytest.mark.parametrize(
    ("url", "short"),
    [
        ("https://k/p?q", "/p?q"),
        ("http://k/p", "!/p"),
        ("http://k:8080/p", ":8080/p"),
        ("https://k:8443/p", ";8443/p"),
        ("https://kk/p", "https://kk/p"),
        ("http://www.k/p", "http://www.k/p"),
        ("ftp://k/p", "ftp://k/p"),
    ],
)
def test_compact(url: str, short: str) -> None:
    """If a URL is of the host of its key, then only the rest of it is kept."""
    assert compact(url, "k") == short
    assert expand(short, "k") == url


@given(_URLS, _HOSTS)
def test_expand_is_the_inverse_of_compact(url: str, key: str) -> None:
    """If a URL was made short, then it is restored exactly, with any key."""
    assert expand(compact(url, key), key) == url


@given(_URLS, st.sampled_from([*HostGrouping]), st.integers(1, 1024))
def test_partition_of_url_is_that_of_its_key(
    url: str, grouping: HostGrouping, n_partitions: int
) -> None:
    """If a URL is queued under its host or domain, both lie in one partition."""
    partition = partition_of(url, n_partitions)
    assert 0 <= partition < n_partitions
    assert partition_of(PolitenessKey(grouping).of(url), n_partitions) == partition


def test_partitions_hold_complete_domains_evenly() -> None:
    """If there are many domains, then each lies in one partition, and all are used."""
    domains = [f"example{number}.org" for number in range(4096)]
    for domain in domains[:50]:
        assert partition_of(f"http://a.b.{domain}:81/", 256) == (
            partition_of(domain, 256)
        )
    sizes = Counter(partition_of(domain, 256) for domain in domains)
    assert len(sizes) == 256
    assert max(sizes.values()) < 3 * 4096 / 256
    ips = {partition_of(f"127.0.0.{number}", 256) for number in range(256)}
    assert len(ips) > 128


def test_partition_is_stable() -> None:
    """If another worker or version computes a partition, then it is the same."""
    # printf example.org | b2sum -l 64
    assert partition_of("http://www.example.org/", 1 << 64) == (0x24DAB28D73E82DB5)
