"""Redirects, names of graphs, bases and blank nodes, as a crawl leaves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

P = "http://a.example/p"
HERE = f"<> <{P}> <relative> .".encode()
BLANKS = f'_:a <{P}> _:b , [ <{P}> "in" ] . _:b <{P}> _:a, "été" .'.encode()


class RepeatedCrawl(NamedTuple):
    """Two hosts, and two crawls of them, one after the other."""

    here: RawServer
    there: RawServer
    first: CrawlResult
    second: CrawlResult
    n_first: int  # requests of `here` when the first crawl was over


@pytest.fixture(scope="module")
def crawled(commands: Commands, loopback: Loopback) -> RepeatedCrawl:
    """Return two crawls of one web; the second began from scratch."""
    here, there = loopback(host="127.0.21.1"), loopback(host="127.0.21.2")
    response, redirect = loopback.response, loopback.redirect
    here.pages |= {
        "/id/x": redirect("/doc/x"),
        "/doc/x": response(HERE),
        "/id/away": redirect(there.url("/doc/away#me")),
        "/twin/1": redirect("/doc/twins"),
        "/twin/2": redirect("../doc/twins"),
        "/doc/twins": response(HERE),
        "/there-and-back": redirect(there.url("/back")),
        "/doc/back": response(HERE),
        "/fragment": response(HERE),
        "/base": response(b"@base <http://b.example/x/> . " + HERE),
        "/blanks": response(BLANKS),
        "/temporary": redirect("/doc/temporary", "307 Temporary Redirect"),
        "/doc/temporary": response(HERE),
        "/html-then-rdf": redirect("/doc/seed"),
        "/doc/seed": response(HERE),
    }
    there.pages |= {
        "/doc/away": response(HERE),
        "/back": redirect(here.url("/doc/back"), "302 Found"),
    }
    targets = [
        "/id/x", "/id/away", "/twin/1", "/twin/2", "/there-and-back", "/fragment#a",
        "/fragment#b", "/base", "/blanks", "/temporary", "/html-then-rdf", "/doc/seed",
    ]  # fmt: skip
    seeds = [here.url(target) for target in targets]
    folder = commands.folder()
    first = commands.crawl(seeds, folder=folder, arguments={"follow": "none"})
    assert first.quads
    assert len(first.provenance)
    n_first = len(here.requests)
    second = commands.crawl(
        seeds, folder=folder, arguments={"follow": "none", "fresh": 1}
    )
    return RepeatedCrawl(here, there, first, second, n_first)


@pytest.mark.parametrize(
    ("name", "document"),
    [("/id/x", "/doc/x"), ("/temporary", "/doc/temporary"), ("/fragment", "/fragment")],
)
def test_graph_and_base_are_the_final_url(
    crawled: RepeatedCrawl, name: str, document: str
) -> None:
    """If a host redirects to itself, then the final URL is graph name and base."""
    at = crawled.here.url
    relative = at(document).rpartition("/")[0] + "/relative"
    assert crawled.first.about(at(document)) == {(at(document), P, relative)}
    assert name == document or not crawled.first.about(at(name))


def test_redirect_on_the_host_is_in_the_provenance(crawled: RepeatedCrawl) -> None:
    """If a host redirects to itself, then one crawl follows the full chain."""
    at, result = crawled.here.url, crawled.first
    assert result.statuses(at("/id/x")) == ["SUCCESSFUL"]
    assert result.chain(at("/id/x")) == [at("/id/x"), at("/doc/x")]
    assert result.statuses(at("/doc/x")) == []


def test_redirect_to_another_host_is_handed_over(crawled: RepeatedCrawl) -> None:
    """If a host redirects to another, then that one's document has the chain."""
    name, document = crawled.here.url("/id/away"), crawled.there.url("/doc/away")
    assert crawled.first.statuses(name) == ["REDIRECTED"]
    assert crawled.first.statuses(document) == ["SUCCESSFUL"]
    assert crawled.first.chain(document) == [name, document]
    relative = crawled.there.url("/doc/relative")
    assert crawled.first.about(document) == {(document, P, relative)}


def test_chain_across_hosts_and_back(crawled: RepeatedCrawl) -> None:
    """If a chain of redirects crosses hosts twice, then it is complete at its end."""
    chain = [
        crawled.here.url("/there-and-back"),
        crawled.there.url("/back"),
        crawled.here.url("/doc/back"),
    ]
    assert crawled.first.chain(chain[-1]) == chain
    assert crawled.first.about(chain[-1])


@pytest.mark.parametrize("target", ["/doc/twins", "/fragment", "/doc/seed"])
def test_one_document_of_many_names_is_fetched_once(
    crawled: RepeatedCrawl, target: str
) -> None:
    """If two URIs lead to one document, then it is fetched once and stored once."""
    first = crawled.here.targets[: crawled.n_first]
    assert first.count(target) == 1
    assert crawled.first.writes()[crawled.here.url(target)] == 1


def test_base_of_the_document_wins(crawled: RepeatedCrawl) -> None:
    """If a document sets its base, then relative IRIs resolve against that."""
    graph = crawled.here.url("/base")
    expected = ("http://b.example/x/", P, "http://b.example/x/relative")
    assert crawled.first.about(graph) == {expected}


def test_blank_nodes_are_the_same_in_every_crawl(crawled: RepeatedCrawl) -> None:
    """If a document has not changed, then another crawl stores the same bytes."""
    graph = crawled.here.url("/blanks")
    first, second = crawled.first.raw(graph), crawled.second.raw(graph)
    assert first.count(b"\n") == 5
    assert first == second


def test_fresh_fetches_everything_again(crawled: RepeatedCrawl) -> None:
    """If a crawl begins from scratch, then it requests the same URLs once more."""
    targets, n_first = crawled.here.targets, crawled.n_first
    assert sorted(targets[:n_first]) == sorted(targets[n_first:])
    assert crawled.first.quads == crawled.second.quads


def test_fresh_moves_old_data_aside(crawled: RepeatedCrawl) -> None:
    """If a crawl begins from scratch, then earlier statements are kept elsewhere."""
    assert set(crawled.second.writes().values()) == {1}
    (before,) = crawled.second.folder.glob("before-*")
    assert list((before / "quads").glob("*.nq.gz"))
    assert list((before / "provenance").glob("*.jsonl.gz"))


def test_requests_name_the_crawler_and_its_formats(crawled: RepeatedCrawl) -> None:
    """If anything is requested, then the request names us and our formats."""
    requests = [*crawled.here.requests, *crawled.there.requests]
    assert all("rdfcrawl/" in r.headers["user-agent"] for r in requests)
    accepts = {r.headers["accept"] for r in requests if r.target != "/robots.txt"}
    assert all("text/turtle" in accept for accept in accepts)
    assert "*/*" not in {r.headers.get("accept", "*/*") for r in requests}
