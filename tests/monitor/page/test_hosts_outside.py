"""Hosts that were not crawled, in pictures of those that were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.analysis.crawl_index.database import IndexDatabase
from rdfcrawl.analysis.crawl_index.hosts import HostLinkTally
from rdfcrawl.monitor.page.host_pictures import HostPicture, PictureScope, draw_hosts

if TYPE_CHECKING:
    from pathlib import Path

N_CRAWLED = 30
N_DOMAINS = 40  # outside, of three hosts each


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the folder of a crawl whose hosts link to one another and outside.

    Host n links to host n + 1, and so many times to all hosts of domain m as m says.
    """
    schemas = [HostLinkTally.schema]
    database = IndexDatabase.open(tmp_path, schemas=schemas, is_read=False)
    crawled = [(n, f"c{n}.in.example", "in.example", 9) for n in range(N_CRAWLED)]
    outside = [
        (100 + 3 * m + k, f"h{k}.d{m:02}.example", f"d{m:02}.example", 0)
        for m in range(N_DOMAINS)
        for k in range(3)
    ]
    links = [(n, (n + 1) % N_CRAWLED, 1) for n in range(N_CRAWLED)]
    links += [
        (n, number, int(domain[1:3]))
        for n in range(N_CRAWLED)
        for number, _, domain, _ in outside
        if domain != "d00.example"
    ]
    execute = database.connection.executemany
    execute("INSERT INTO web_host VALUES (?, ?, ?, ?, 0, 0)", [*crawled, *outside])
    execute("INSERT INTO host_link VALUES (?, ?, ?)", links)
    database.connection.commit()
    database.close()
    return tmp_path


def outside_of(picture: HostPicture) -> dict[str, tuple[str, int, int]]:
    """Return kind, hosts and links of each node outside."""
    return {
        each.name: (each.kind, each.n_hosts, each.n_links)
        for each in picture.nodes
        if each.kind in ("linked", "elsewhere")
    }


def test_domains_with_most_links_are_nodes(root: Path) -> None:
    """If hosts outside are linked, then nodes are the foremost domains and a rest."""
    found = draw_hosts(root, PictureScope("", "", 60))
    outside = outside_of(found)
    shown = [f"d{m}.example" for m in range(39, 30, -1)]
    assert [*outside] == [*shown, "elsewhere"]
    assert outside["d39.example"] == ("linked", 3, 3 * 39 * N_CRAWLED)
    n_left = sum(range(1, 31))
    assert outside["elsewhere"] == ("elsewhere", 3 * 30, 3 * n_left * N_CRAWLED)
    assert found.n_outside == 3 * (N_DOMAINS - 1)  # one is not linked
    assert (found.n_hosts, len(found.nodes)) == (N_CRAWLED, N_CRAWLED + 10)


def test_circles_outside_are_smaller_and_in_bounds(root: Path) -> None:
    """If few circles are wanted, then those outside leave most to crawled hosts."""
    for most in (8, 20, 36):
        found = draw_hosts(root, PictureScope("", "", most))
        assert len(found.nodes) <= most
        assert len(outside_of(found)) == most // 6
        outside = ("linked", "elsewhere")
        largest = max(x.radius for x in found.nodes if x.kind not in outside)
        assert all(x.radius < largest for x in found.nodes if x.kind in outside)


def test_hosts_outside_are_left_out_at_wish(root: Path) -> None:
    """If a visitor does not want them, then all circles are crawled hosts."""
    found = draw_hosts(root, PictureScope("", "", 60, has_outside=False))
    assert (outside_of(found), found.n_outside) == ({}, 0)
    assert len(found.links) == N_CRAWLED


def test_scopes_have_their_link_targets(root: Path) -> None:
    """If a host is looked at, then only links of its neighbours lead outside."""
    found = draw_hosts(root, PictureScope("host", "c3.in.example", 60))
    assert outside_of(found)["d39.example"] == ("linked", 3, 3 * 39 * 3)
    within = draw_hosts(root, PictureScope("domain", "in.example", 60))
    assert within == draw_hosts(root, PictureScope("", "", 60))


@pytest.mark.parametrize("name", ["d07.example", "h1.d07.example"])
def test_hosts_outside_have_a_picture(root: Path, name: str) -> None:
    """If a domain or host outside is looked at, then so are those that link to it."""
    found = draw_hosts(root, PictureScope("linked", name, 60))
    hosts = [f"h{k}.d07.example" for k in range(3)]
    hosts = [host for host in hosts if host.endswith(name)]
    assert outside_of(found) == dict.fromkeys(hosts, ("linked", 1, 7 * N_CRAWLED))
    assert found.n_hosts == N_CRAWLED
    assert draw_hosts(root, PictureScope("linked", "in.example", 60)) == HostPicture()
