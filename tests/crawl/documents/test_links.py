"""Which links of a document are followed, and how far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
N_CLASSES = 12


@dataclass(frozen=True)
class Followed:
    """One crawl of a small separate web.

    Attributes:
        home: server of the seed `/d/seed`.
        crowd: server of the seed `/d/many`, which has many links to itself.
        other: a server that the seeds link to.
        result: of the crawl.
    """

    home: RawServer
    crowd: RawServer
    other: RawServer
    result: CrawlResult

    def asked(self) -> set[str]:
        """Return the requests to `home` except the seed, without `/d/`."""
        targets = self.home.targets
        assert len(targets) == len(set(targets)), "something was fetched twice"
        found = {target.removeprefix("/d/") for target in targets}
        return found - {"seed", "/robots.txt"}


def _fill(
    home: RawServer, crowd: RawServer, other: RawServer, loopback: Loopback
) -> None:
    at = home.url
    seed = f"""
    <subject> <{at("/d/predicate")}> <object#one>, <object#two>, <no/x>, </beside> .
    <subject> <{RDF_TYPE}> <class> .
    <subject> <{at("/d/other")}> "<{at("/d/in-a-literal")}>", <{at("/d/by-other")}> .
    <subject> <{at("/d/predicate")}> <{other.url("/elsewhere")}>, <mailto:a@b.c> .
    <urn:x:s> <{at("/d/third")}> <ftp://example.org/x> .
    """
    many = "".join(f"<> <{RDF_TYPE}> <k/{n}> .\n" for n in range(N_CLASSES))
    home.pages["/d/seed"] = loopback.response(seed.encode())
    home.pages["/d/object"] = loopback.response(
        f"<> <{at('/d/predicate')}> <deep> ; a <deep-class> .".encode()
    )
    crowd.pages["/d/many"] = loopback.response(many.encode())


CRAWLS: dict[str, dict[str, object]] = {
    "default": {"scope": "host", "depth": 1},
    "tbox": {"follow": "tbox", "scope": "host", "max_per_host": 6},
    "prefix": {"follow": "object,-{at}/d/other", "scope": "prefix", "deny": "/no/"},
    "predicate": {"follow": "+{at}/d/predicate", "allow": "/(obj|else|deep|robots)"},
}


@pytest.fixture(scope="module")
def crawls(commands: Commands, loopback: Loopback) -> dict[str, Followed]:
    """Return four crawls of equal webs with different arguments."""
    running = {}
    for number, (name, given) in enumerate(CRAWLS.items(), start=1):
        home, crowd, other = servers = (
            loopback(host=f"127.0.20.{10 * number}"),
            loopback(host=f"127.0.20.{10 * number + 1}"),
            loopback(host=f"127.0.20.{10 * number + 2}"),
        )
        _fill(home, crowd, other, loopback)
        folder = commands.folder()
        arguments = {key: str(value) for key, value in given.items()}
        for key in arguments.keys() & {"allow", "deny"}:
            (folder / key).write_text(f"# expressions\n\n{arguments[key]}\n")
            arguments[key] = str(folder / key)
        if "follow" in arguments:
            arguments["follow"] = arguments["follow"].format(at=home.url(""))
        seeds = [home.url("/d/seed"), crowd.url("/d/many")]
        crawl = commands.start_crawl(seeds, folder=folder, arguments=arguments)
        running[name] = servers, crawl
    return {
        name: Followed(*servers, crawl.wait())
        for name, (servers, crawl) in running.items()
    }


@pytest.mark.parametrize("name", CRAWLS)
def test_crawl_ends_well(crawls: dict[str, Followed], name: str) -> None:
    """If links lead nowhere, then the crawl ends with exit code 0 all the same."""
    assert crawls[name].result.code == 0, crawls[name].result.stderr


def test_default_follows_subjects_and_objects(crawls: dict[str, Followed]) -> None:
    """If nothing is said, then subjects and objects are followed, to the depth."""
    expected = {"subject", "object", "no/x", "/beside", "by-other"}
    assert crawls["default"].asked() == expected


def test_scope_host_keeps_to_the_hosts(crawls: dict[str, Followed]) -> None:
    """If the scope is the host, then links to others are not followed."""
    assert crawls["default"].other.targets == []


def test_tbox_follows_predicates_and_classes(crawls: dict[str, Followed]) -> None:
    """If `follow` is `tbox`, then only predicates and classes are followed."""
    assert crawls["tbox"].asked() == {"predicate", "other", "third", "class"}


def test_max_per_host_is_exact(crawls: dict[str, Followed]) -> None:
    """If a host may give six URLs, then six of it are requested, seeds included."""
    assert len(set(crawls["tbox"].crowd.targets) - {"/robots.txt"}) == 6


def test_predicate_is_skipped_and_pattern_denied(crawls: dict[str, Followed]) -> None:
    """If a predicate is skipped and a pattern denied, then other objects remain."""
    assert crawls["prefix"].asked() == {"object", "deep"}


def test_scope_prefix_keeps_to_the_folder(crawls: dict[str, Followed]) -> None:
    """If the scope is the prefix, then siblings of the seed's folder are left out."""
    assert "/beside" not in crawls["prefix"].home.targets
    assert crawls["prefix"].other.targets == []


def test_named_predicate_is_followed_to_other_hosts(
    crawls: dict[str, Followed],
) -> None:
    """If `follow` names a predicate and the scope is any, then hosts are crossed."""
    assert crawls["predicate"].asked() == {"object", "deep"}
    assert crawls["predicate"].other.targets == ["/robots.txt", "/elsewhere"]


def test_depth_and_parent_are_written_down(crawls: dict[str, Followed]) -> None:
    """If a document was found by a link, then provenance says where and how deep."""
    crawl = crawls["prefix"]
    url = crawl.home.url
    for target, depth, parent in (
        ("/d/object", "1", "/d/seed"),
        ("/d/deep", "2", "/d/object"),
    ):
        crawled = f"?a sq:crawled <{url(target)}> ;"
        assert crawl.result.ask(f"{crawled} sq:depth ?x .") == [depth]
        assert crawl.result.ask(f"{crawled} rc:parent ?x .") == [url(parent)]
