"""Semantic Sitemaps in every combination, of the data web: `scrapy crawl sitemap`."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.semantic import DatasetWay, DumpKind, SemanticOptions
from rdfcrawl.dataweb.nodes.semantic_sitemap import DatasetNames, DatasetPlace
from rdfcrawl.stores.log.crawl_log import iter_latest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.dataweb.nodes.semantic import SemanticNode
    from tests.support.crawl_fixtures import Commands, CrawlResult

WAYS = tuple(DatasetWay)
COMBINATIONS = [ways for n in range(1, 5) for ways in combinations(WAYS, n)]
Triples = set[tuple[str, str, str]]


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """Yield a server of sites, each on a separate host."""
    with LocalWeb(first_address="127.84.0.1", n_hosts=48) as web:
        yield web


def crawl(
    commands: Commands, nodes: Iterable[SemanticNode], **arguments: object
) -> CrawlResult:
    """Crawl sites."""
    sites = ",".join(node.origin for node in nodes)
    result = commands.crawl(arguments={"sites": sites} | arguments, spider="sitemap")
    assert result.code == 0, result.stderr
    return result


def ground(statements: Iterable[tuple[str, str, str]]) -> Triples:
    """Return the triples without blank nodes."""
    return {one for one in statements if not (one[0] + one[2]).count("_:")}


def stored(result: CrawlResult) -> Triples:
    """Return the triples without blank nodes of all documents."""
    data = b"".join(piece.quads for piece in iter_latest(result.folder / "quads"))
    quads = ox.parse(data, format=ox.RdfFormat.N_QUADS)
    return ground((str(q.subject), str(q.predicate), str(q.object)) for q in quads)


def ways_asked(web: LocalWeb, node: SemanticNode) -> set[DatasetWay]:
    """Return the ways of the requests to a site; its samples are requested anyway."""
    samples = {url.removeprefix(node.origin) for url in node.samples()}
    fragments = {url.removeprefix(node.origin) for url in node.fragment_urls}
    asked = set()
    for target in web.targets(node):
        if target == node.dump_path:
            asked.add(DatasetWay.DUMP)
        elif target in fragments:
            asked.add(DatasetWay.FRAGMENTS)
        elif target.startswith("/sparql"):
            asked.add(DatasetWay.SPARQL)
        elif target.startswith("/id/") and target not in samples:
            asked.add(DatasetWay.PREFIX)
    return asked


@pytest.mark.in_turn(2, rooms=("sources",))
def test_least_intrusive_way_of_each_combination_is_taken(
    commands: Commands, web: LocalWeb
) -> None:
    """If a dataset is available in several ways, then only the best is taken."""
    nodes = [
        web.start(SemanticOptions(n_uris=20, ways=ways, names=names))
        for ways in COMBINATIONS
        for names in DatasetNames
    ]
    assert len(nodes) == 45
    found = stored(crawl(commands, nodes, follow="all"))
    for node in nodes:
        best = node.options.ways[0]
        declared = set(node.options.ways)
        if (
            node.options.names is DatasetNames.SECOND
            and DatasetWay.FRAGMENTS in declared
        ):
            best = (
                DatasetWay.FRAGMENTS
            )  # there they are several dumps, instead of the one
        assert ways_asked(web, node) & declared == {best}, node.options
        missing = ground(node.statements()) - found
        assert not missing, node.options
        if best is DatasetWay.DUMP and DatasetWay.PREFIX in declared:
            assert len(web.targets(node)) <= 14, web.targets(node)


def broken_sites(web: LocalWeb, *, to_prefix: bool) -> list[SemanticNode]:
    """Start sites of which all ways are broken but the last, or last but one.

    Args:
        web: serves them.
        to_prefix: the way that is left is the crawl of the prefix, after a dump.
    """
    files = {DatasetWay.DUMP, DatasetWay.FRAGMENTS}
    return [
        web.start(SemanticOptions(n_uris=8, ways=ways, broken=ways[:n]))
        for ways in COMBINATIONS
        for n in range(1, len(ways))
        if (ways[n] is DatasetWay.PREFIX and not files.isdisjoint(ways[:n]))
        is to_prefix
    ]


@pytest.mark.in_turn(2, rooms=("sources",))
def test_next_way_is_taken_for_each_that_is_broken(
    commands: Commands, web: LocalWeb
) -> None:
    """If the best ways to a dataset are broken, then the next one is taken."""
    nodes = broken_sites(web, to_prefix=False)
    found = stored(crawl(commands, nodes, follow="all"))
    for node in nodes:
        assert not ground(node.statements()) - found, node.options


def test_prefix_is_crawled_when_all_else_is_broken(
    commands: Commands, web: LocalWeb
) -> None:
    """If only the URIs resolve, then they are crawled from the samples on."""
    nodes = broken_sites(web, to_prefix=True)
    found = stored(crawl(commands, nodes, follow="all"))
    for node in nodes:
        assert not ground(node.statements()) - found, node.options


@pytest.mark.parametrize("confirms", [True, False], ids=["confirmed", "denied"])
def test_mirror_elsewhere_is_used_if_it_says_so_itself(
    commands: Commands, web: LocalWeb, *, confirms: bool
) -> None:
    """If the own dump is broken, then a mirror's is taken only if it is confirmed."""
    origin = web.origins(2)[1]
    main = web.start(
        SemanticOptions(
            n_uris=8,
            ways=(DatasetWay.DUMP,),
            broken=(DatasetWay.DUMP,),
            mirrors=(DatasetPlace(origin, 0),),
            dump_priority=1,
        )
    )
    mirror = web.start(SemanticOptions(mirrors_of=main, confirms=confirms))
    assert mirror.origin == origin
    result = crawl(commands, [main])
    assert (main.dump_path in web.targets(mirror)) is confirms
    assert (ground(main.statements()) <= stored(result)) is confirms
    assert ("fault/unconfirmed_claim" in result.statistics) is not confirms


def test_site_that_only_confirms_is_not_crawled(
    commands: Commands, web: LocalWeb
) -> None:
    """If a site only has to confirm a claim, then its own pages are left."""
    origin = web.origins(2)[1]
    main = web.start(
        SemanticOptions(
            n_uris=4, claims=(f"{origin}/dump.nt.gz",), ways=(DatasetWay.DUMP,)
        )
    )
    other = web.start(SemanticOptions(n_uris=20, pages=(f"{origin}/id/3",)))
    result = crawl(commands, [main])
    assert set(web.targets(other)) <= {"/robots.txt", "/sitemap.xml"}
    assert result.statistics["fault/unconfirmed_claim"]


def test_samples_that_differ_are_reported(commands: Commands, web: LocalWeb) -> None:
    """If a sample differs from the dump, both sides are reported, and nothing else.

    Other resources have URIs that begin with those of the samples.
    """
    same, other = (
        web.start(SemanticOptions(n_uris=40, n_samples=3, samples_differ=differ))
        for differ in (False, True)
    )
    result = crawl(commands, [same, other], slice=1)
    reported = {
        (subject, predicate.rpartition("#")[2])
        for subject, predicate, *_ in result.quads
        if predicate.endswith(("#notInDump", "#notInSample"))
    }
    assert reported == {
        (uri, side) for uri in other.samples() for side in ("notInDump", "notInSample")
    }
    assert result.statistics["fault/sample_differs"] == 3


def test_samples_are_compared_with_an_endpoint(
    commands: Commands, web: LocalWeb
) -> None:
    """If a dataset is taken by its endpoint, then that describes the samples."""
    ways = (DatasetWay.SPARQL, DatasetWay.PREFIX)
    same, other = (
        web.start(
            SemanticOptions(
                n_uris=40,
                n_samples=3,
                ways=ways,
                slicing="subject",
                names=DatasetNames.SECOND,
                samples_differ=differ,
            )
        )
        for differ in (False, True)
    )
    result = crawl(commands, [same, other])
    reported = {
        (subject, predicate.rpartition("#")[2])
        for subject, predicate, *_ in result.quads
        if predicate.endswith(("#notInDump", "#notInSample"))
    }
    assert reported == {
        (uri, side) for uri in other.samples() for side in ("notInDump", "notInSample")
    }
    assert not [graph for graph in result.graphs if "DESCRIBE" in graph]


def test_dump_is_sliced_as_its_site_says(commands: Commands, web: LocalWeb) -> None:
    """If a dump is cut, then each resource has the statements of its own URI."""
    methods = ("subject", "subject-object", "cbd", "scbd", "msg")
    kinds = [*DumpKind, DumpKind.NTRIPLES]
    nodes = [
        web.start(
            SemanticOptions(
                n_uris=12,
                slicing=method,
                dump=kind,
                n_samples=0,
                names=DatasetNames.SECOND,
            )
        )
        for method, kind in zip(methods, kinds, strict=True)
    ]
    result = crawl(commands, nodes, slice=1)
    for node in nodes:
        for number in range(12):
            wanted = node.description(number)
            found = result.about(node.uri(number))
            assert len(found) == len(set(wanted)), (node.options.slicing, number)
            bare = {(s.strip("<>"), p.strip("<>"), o.strip("<>"))
                    for s, p, o in ground(wanted)}  # fmt: skip
            assert bare <= found, (node.options.slicing, number)
        assert not result.about(node.dump_url)
