"""Judges a crawl by the log of the servers, and by the graphs that it has stored."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pyoxigraph as ox

if TYPE_CHECKING:
    from pathlib import Path

    from tests.matrix.webs import Web

_SAYS: Final = ox.NamedNode("urn:x:says")
_OF_HOSTS: Final = ("/robots.txt", "/.well-known/", "/sitemap.xml")


@dataclass
class Verdict:
    """Results of a crawl, and their cost for the hosts.

    Attributes:
        missing: good pages that are not stored, by the name of their host.
        not_requested: how many of them were not even requested.
        requests: of all, without robots.txt and other files of a host.
        plain: the same without misbehaviour.
        twice: good pages that were requested more than once.
        most: requests of the bad URL that was requested most, and its host.
        n_good: good pages there are.
    """

    missing: dict[str, list[str]] = field(default_factory=dict)
    not_requested: int = 0
    requests: int = 0
    plain: int = 0
    twice: int = 0
    most: tuple[int, str] = (0, "")
    n_good: int = 0

    @property
    def n_missing(self) -> int:
        """How many good pages are missing."""
        return sum(map(len, self.missing.values()))

    @property
    def lacks(self) -> str:
        """Name the hosts that lack pages, and how many."""
        return "\n".join(f"{name}: {len(urls)}" for name, urls in self.missing.items())

    @property
    def ratio(self) -> float:
        """Requests for each of a run without misbehaviour."""
        return self.requests / max(1, self.plain)


def requests_in(log_path: Path) -> list[tuple[float, str, str, str]]:
    """Return the requests: time, host, door, target."""
    if not log_path.exists():
        return []
    lines = map(json.loads, log_path.read_text().splitlines())
    return [tuple(line) for line in lines if len(line) == 4]


def most_sent(log_path: Path) -> int:
    """Return the most bytes that a response had sent when it was cut."""
    lines = map(json.loads, log_path.read_text().splitlines())
    return max((line[4] for line in lines if len(line) == 5), default=0)


def stored_pages(crawl_folder: Path) -> set[str]:
    """Return the stored documents of a crawl that have the expected statements."""
    pages = set()
    for path in sorted((crawl_folder / "quads").rglob("*.nq.gz")):
        with gzip.open(path) as file:
            data = file.read()
        for quad in ox.parse(data, format=ox.RdfFormat.N_QUADS):
            name, said = quad.graph_name, quad.object
            if not isinstance(name, ox.NamedNode) or not isinstance(said, ox.Literal):
                continue
            if quad.predicate == _SAYS and name.value.endswith(said.value):
                pages.add(name.value)
    return pages


def judge(web: Web, log_path: Path, crawl_folder: Path, skip: int = 0) -> Verdict:
    """Judge a crawl; the first `skip` lines of the log are not its own."""
    verdict = Verdict(plain=web.n_plain())
    log = requests_in(log_path)[skip:]
    asked = Counter((host, target) for _, host, _, target in log)
    stored = stored_pages(crawl_folder)
    for host, urls in web.good.items():
        missing = sorted(urls - stored)
        if missing:
            verdict.missing[f"{web.names[host]} ({host})"] = missing
        targets = {url: "/" + url.split("/", 3)[3] for url in urls}
        verdict.not_requested += sum(
            not asked[host, target] for url, target in targets.items() if url in missing
        )
        verdict.n_good += len(urls)
        verdict.twice += sum(asked[host, each] > 1 for each in targets.values())
    for url in sorted(web.heals - stored):
        host = url.split("/")[2].partition(":")[0]
        verdict.missing[f"{web.names[host]} ({host}, healing)"] = [url]
    verdict.requests = sum(
        n for (_, target), n in asked.items() if not target.startswith(_OF_HOSTS)
    )
    bad = [
        (n, f"{web.names[host]} {host}{target}")
        for (host, target), n in asked.items()
        if (host, target.partition("?")[0]) in web.bad
    ]
    verdict.most = max(bad, default=(0, ""))
    return verdict
