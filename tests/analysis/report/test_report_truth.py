"""Reports of crawls of sites that change say what is counted from the truth of these.

Of a crawl, only its requests are used: URL, status, and when each began. What sitemaps
list, what links to what, and what documents say is told by the truth.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import pytest

from rdfcrawl.analysis.report.making import report_crawl
from rdfcrawl.analysis.report.writing import iter_json
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.rank_building import rank
from rdfcrawl.core.namespaces import HTTP as HTTP_TERMS
from rdfcrawl.core.namespaces import PROV, SQUIRREL
from rdfcrawl.dataweb.evolution.parameters import VanishedAs
from rdfcrawl.dataweb.messages import NodeRequest
from rdfcrawl.rdf.fingerprints import Fingerprint, read_sketch
from rdfcrawl.rdf.html.visible_text import visible_text
from rdfcrawl.uri import NormalForm
from tests.support.fingerprints import fingerprint_statements, fingerprint_text
from tests.support.web_epochs import changing_web

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.dataweb.evolution.node import EvolvingNode
    from rdfcrawl.dataweb.evolution.truth import WebTruth
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.web_epochs import EpochWeb

SITES: list[dict[str, Any]] = [
    {},
    {"has_index": False, "per_sitemap": 7, "has_priority": True, "near": 0.8},
    {"has_changefreq": True, "vanishing": 0.1, "near": 0.5},
]
COMMON: dict[str, Any] = {
    "n_pages": 24,
    "births": 3.0,
    "lag_days": 3.0,
    "vanished_as": (VanishedAs.GONE,),
    "duplicates": 0.7,
    "near": 0.0,
    "added": 0.15,  # the sketches of some are near, those of others are not
    "has_canonical": False,
}
PARAMETER = "duplicate content, extra CGI parameter"


class SiteSight(NamedTuple):
    """What a crawl must have seen of one site, counted from the truth.

    Attributes:
        listed: when each URL was first listed, Unix time in ms.
        linked: when each URL was first linked to.
        entries: pairs of sitemaps and URLs.
        last: status and time of the last answer of each page that was asked for.
        prints: of each page that was read last, hash and sketch.
        lists: which of these are lists of twenty links or more.
    """

    listed: dict[str, int]
    linked: dict[str, int]
    entries: set[tuple[str, str]]
    last: dict[str, tuple[int, float]]
    prints: dict[str, Fingerprint]
    lists: set[str]

    def resemblance(self, one: str, other: str) -> float:
        """Return that of two pages; 0 if one of them was not read."""
        if not {one, other} <= self.prints.keys():
            return 0
        some, others = self.prints[one], self.prints[other]
        if some.text_hash == others.text_hash:
            return 1
        return read_sketch(some.sketch).resemblance(read_sketch(others.sketch))


def requests(result: CrawlResult) -> Iterator[tuple[str, int, int]]:
    """Yield URL, begin in ms and status of each request of a crawl, oldest first."""
    rows: Any = result.provenance.query(
        f"SELECT ?url ?begun ?status {{ GRAPH ?g {{ ?a <{SQUIRREL}crawled> ?url ;"
        f" <{PROV}startedAtTime> ?begun ; <{PROV}used> ?response ."
        f" ?response <{HTTP_TERMS}statusCodeValue> ?status }} }} ORDER BY ?begun"
    )
    for row in rows:
        begun = datetime.fromisoformat(row["begun"].value)
        ms = round(begun.timestamp() * 1000)
        yield row["url"].value, ms, int(row["status"].value)


def sights(
    web: EpochWeb, truth: WebTruth, asked: list[tuple[str, int, int]]
) -> dict[str, SiteSight]:
    """Return by host what must have been seen."""
    nodes = {node.origin: node for node in web.nodes}
    found = {origin: SiteSight({}, {}, set(), {}, {}, set()) for origin in nodes}
    outgoing = defaultdict(list)
    for links in truth.links.values():
        for link in links:
            outgoing[link.source].append(link)
    for url, ms, status in asked:
        parts, at = urlsplit(url), web.clock.web_time(ms / 1000)
        origin = f"{parts.scheme}://{parts.netloc}"
        site = found[origin]
        if url in truth.urls and status != 304:
            site.last[url] = status, at
        if status != 200:
            continue
        for file in nodes[origin].listings.files(at):
            for entry in file.entries if file.path == parts.path else ():
                site.listed.setdefault(origin + entry.path.path, ms)
                site.entries.add((url, origin + entry.path.path))
        for link in outgoing[url]:
            if link.span.holds(at) and link.target != url:
                site.linked.setdefault(link.target, ms)
    return found


def long_lists(site: SiteSight, truth: WebTruth) -> Iterator[str]:
    """Yield the lists of twenty links or more, as they were when they were read."""
    all_links = [link for links in truth.links.values() for link in links]
    for url, (status, at) in site.last.items():
        links = [x for x in all_links if x.source == url and x.span.holds(at)]
        if status == 200 and truth.urls[url].role == "list" and len(links) >= 20:
            yield url


def prints_of(node: EvolvingNode, site: SiteSight) -> Iterator[tuple[str, Fingerprint]]:
    """Yield hash and sketch of each document that was read last."""
    for url, (status, at) in site.last.items():
        if status == 200:
            request = NodeRequest("GET", url.removeprefix(node.origin))
            response = node.respond_at(request, at)
            if b"text/html" in response.head:
                yield url, fingerprint_text(visible_text(response.body.lower()))
            else:
                yield url, fingerprint_statements(response.body, url, has_graphs=False)


def pagerank_of_listed(
    web: EpochWeb, truth: WebTruth, sites: dict[str, SiteSight], asked: list[Any]
) -> dict[str, float]:
    """Return formula (4) of each site, by a matrix of all pairs of URLs."""
    documents: dict[str, float] = {}
    for url, ms, status in asked:
        if status == 200 and url in truth.urls:
            documents[url] = web.clock.web_time(ms / 1000)  # of the last version
    urls = sorted({u for x in sites.values() for u in (*x.listed, *x.linked, *x.last)})
    place = {url: n for n, url in enumerate(urls)}
    links = np.zeros((len(urls), len(urls)))
    for target, incoming in truth.links.items():
        for link in incoming:
            at = documents.get(link.source)
            if at is not None and link.span.holds(at) and target != link.source:
                links[place[target], place[link.source]] = 1
    degrees = links.sum(axis=0)
    shares = np.where(degrees > 0, links / np.maximum(degrees, 1), 1 / len(urls))
    ranks = np.full(len(urls), 1 / len(urls))
    for _ in range(200):
        ranks = 0.15 / len(urls) + 0.85 * shares @ ranks
    ranks[links.sum(axis=1) == 0] = 0
    of_site = {}
    for origin, site in sites.items():
        own = [n for url, n in place.items() if url.startswith(f"{origin}/")]
        listed = [place[url] for url in site.listed]
        of_site[origin] = float(ranks[listed].sum() / ranks[own].sum())
    return of_site


def tables_of(report: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the tables of a report: rows by their first cell, cells by column."""
    return {
        item["key"]: {
            row[0]: dict(zip(item["columns"], row, strict=True)) for row in item["rows"]
        }
        for section in report["sections"]
        for item in section["items"]
        if item["type"] == "table"
    }


def ratio(cell: dict[str, float]) -> tuple[float, float]:
    """Return numerator and denominator of a cell, whose value is their quotient."""
    numerator, denominator = cell["numerator"], cell["denominator"]
    assert cell["value"] == (numerator / denominator if denominator else None)
    return numerator, denominator


def check_coverage(row: dict[str, Any], site: SiteSight, truth: WebTruth) -> None:
    """Compare formulas (1), (2), (3) and (5) of a site with counts of its URLs."""
    listed, linked, crawled = set(site.listed), set(site.linked), set(site.last)
    linked |= crawled - listed
    cluster = {
        url: min(x for x in crawled if x == url or site.resemblance(url, x) >= 0.9)
        for url in crawled
    }
    unique = set(cluster.values())
    unique_s = {cluster[url] for url in crawled & listed}
    unique_d = {cluster[url] for url in crawled & linked}
    indexed = {
        cluster[url]
        for url in crawled
        if site.last[url][0] == 200 and truth.urls[url].role in ("page", "duplicate")
    }
    seen = len(listed | linked)
    assert row["URLs seen"] == seen
    for name, part, whole in (
        ("coverage (1)", len(crawled & listed), len(crawled)),
        ("unique coverage (2)", len(unique_s), len(unique)),
        ("index coverage (3)", len(unique_s & indexed), len(indexed)),
        ("signal to noise (5)", len(unique), seen),
        ("the same of sitemaps", len(unique_s), len(listed)),
        ("the same of links", len(unique_d), len(linked)),
        ("efficiency of sitemaps", len(unique_s), len(crawled & listed)),
        ("efficiency of links", len(unique_d), len(crawled & linked)),
    ):
        assert ratio(row[name]) == (part, whole), name
        assert part > 0
    assert len(unique) < len(crawled)


def missed_of(site: SiteSight) -> Counter[str]:
    """Count the classes of table 2 on a site without redirects.

    Of two URLs of one page that resemble each other, one at most is missed content. The
    other is a duplicate, and in the table if it was not found to be one.
    """
    found: Counter[str] = Counter()
    for url in site.last.keys() - site.listed.keys():
        page, _, is_second = url.partition("?")
        others = [x for x in site.prints if x != url and x.partition("?")[0] == page]
        if url not in site.prints:
            found["errors"] += 1
        elif url in site.lists:
            found["table of contents"] += 1
        elif not others:
            found["missing content"] += 1
        else:
            likeness = site.resemblance(url, others[0])
            is_second_choice = bool(is_second) or others[0] in site.listed
            if not is_second_choice or likeness < 0.7:
                found["missing content"] += 1
            elif likeness < 0.9:
                found[PARAMETER] += 1
    return found


def check_missed(rows: dict[str, Any], sites: Iterable[SiteSight]) -> None:
    """Compare table 2 with the URLs of all sites."""
    missed = sum(map(missed_of, sites), Counter[str]())
    wanted = "errors", PARAMETER, "table of contents", "missing content"
    assert min(missed[name] for name in wanted) > 0
    for name, row in rows.items():
        assert ratio(row["share"]) == (missed[name], missed.total()), name


def check_first_seen(row: dict[str, Any], site: SiteSight) -> None:
    """Compare formula (6) of a site with the times of its URLs."""
    both = site.listed.keys() & site.linked.keys()
    deltas = [site.linked[url] // 1000 - site.listed[url] // 1000 for url in both]
    assert row["SeenDelta (6), s"] == sum(deltas)
    assert row["sitemaps first"] == sum(delta > 0 for delta in deltas)
    assert row["links first"] == sum(delta < 0 for delta in deltas)
    assert ratio(row["mean, s"]) == (sum(deltas), len(both))


@pytest.mark.in_turn(2)
def test_report_is_what_the_truth_tells(commands: Commands) -> None:
    """If sites of several seeds are crawled twice, the measures are the truth's."""
    folder = commands.folder()
    with changing_web("127.94.9.1", *(COMMON | site for site in SITES)) as web:
        arguments = {"follow": "abox,hyperlink", "harvest": "sitemap", "scope": "host"}
        fronts = web.fronts.split(",")
        *_, last = web.epochs(
            lambda: commands.crawl(fronts, folder=folder, arguments=arguments),
            n=2,
            days=5,
        )
        assert last.result.code == 0, last.result.stderr
        truth, root = web.truth(last.at), last.result.folder
        asked = list(requests(last.result))
        sites = sights(web, truth, asked)
        for node in web.nodes:
            site = sites[node.origin]
            site.prints.update(prints_of(node, site))
            site.lists.update(long_lists(site, truth))
        ranks = pagerank_of_listed(web, truth, sites, asked)
    build(root, NormalForm())
    rank(root)
    tables = tables_of(json.loads("".join(iter_json(report_crawl(root)))))
    for origin, site in sites.items():
        name = urlsplit(origin).hostname or ""
        check_coverage(tables["coverage"][name], site, truth)
        check_first_seen(tables["first-seen"][name], site)
        cell = tables["coverage"][name]["PageRank coverage (4)"]
        assert cell["value"] == pytest.approx(ranks[origin], abs=1e-5)
    check_missed(tables["table-2"], sites.values())
    n_entries = sum(len(site.entries) for site in sites.values())
    assert ratio(tables["table-1"]["xml"]["share"]) == (n_entries, n_entries)
