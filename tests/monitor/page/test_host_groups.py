"""Nodes of the picture of hosts, and where they are."""

from __future__ import annotations

from itertools import combinations
from math import hypot

import pytest

from rdfcrawl.monitor.page.host_groups import (
    CrawledHost,
    add_links,
    group_by_domain,
    group_by_vocabulary,
    group_hosts,
    strongest,
)
from rdfcrawl.monitor.page.host_pictures import place_nodes


def _hosts(n_hosts: int) -> list[CrawledHost]:
    """Return hosts of which five at a time have a domain."""
    found = []
    for n in range(n_hosts):
        domain = f"d{n // 5}.{('org', 'com', 'net', 'uk')[n % 4]}"
        found.append(CrawledHost(n, f"h{n}.{domain}", domain, n_hosts - n))
    return found


@pytest.mark.parametrize("n_hosts", [0, 1, 10, 300, 10_000])
def test_every_host_is_in_a_node(n_hosts: int) -> None:
    """If there are many hosts, then few nodes have all of them."""
    groups, of_host = group_hosts(_hosts(n_hosts), 60)
    assert len(groups) <= 60
    assert sum(each.n_hosts for each in groups) == len(of_host) == n_hosts
    assert sum(each.n_documents for each in groups) == sum(range(n_hosts + 1))


def test_few_hosts_are_alone() -> None:
    """If there are as many hosts as nodes, then each is one."""
    groups, _ = group_hosts(_hosts(60), 60)
    assert {each.kind for each in groups} == {"host"}


@pytest.mark.parametrize("n_hosts", [0, 1, 10, 300, 10_000])
def test_hosts_are_grouped_by_domain(n_hosts: int) -> None:
    """If hosts are grouped by domain, then few nodes have all of them."""
    groups, of_host = group_by_domain(_hosts(n_hosts), 60)
    assert len(groups) <= 60
    assert sum(each.n_hosts for each in groups) == len(of_host) == n_hosts
    assert {each.kind for each in groups} <= {"domain", "suffix", "rest"}


def test_hosts_are_grouped_by_vocabulary() -> None:
    """If hosts are grouped by vocabulary, then each is with those of the same one."""
    hosts = _hosts(100)
    vocabularies = {n: f"http://v{n % 7}.example/" for n in range(90)}
    groups, of_host = group_by_vocabulary(hosts, 6, vocabularies, "none")
    assert [each.kind for each in groups] == ["vocabulary"] * 5 + ["rest"]
    assert len(of_host) == 100
    assert groups[of_host[7]].name == groups[of_host[14]].name == "http://v0.example/"
    found, _ = group_by_vocabulary(hosts, 60, vocabularies, "none")
    assert {each.name: each.n_hosts for each in found}["none"] == 10


def test_links_of_both_directions_are_one_line() -> None:
    """If two nodes link to each other, then one line has the links of both."""
    found = add_links([(0, 1, 2), (1, 0, 3), (0, 2, 5), (0, 9, 7)], {0: 0, 1: 1, 2: 0})
    assert found == {(0, 1): 5}


def test_circles_do_not_overlap_and_stay() -> None:
    """If a picture is drawn twice, then circles are where they were, and apart."""
    groups, _ = group_hosts(_hosts(100), 100)
    links = strongest({(0, n): n for n in range(1, 100)})
    sizes = [each.n_documents for each in groups]
    places = place_nodes(sizes, links)
    assert places == place_nodes(sizes, links)
    for one, other in combinations(places, 2):
        distance = hypot(one.x - other.x, one.y - other.y)
        assert distance > one.radius + other.radius
