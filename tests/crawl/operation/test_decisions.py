"""The log of decisions: why links were not queued."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rdfcrawl.frontier.queue.candidate_adder import is_sampled
from rdfcrawl.stores.log.decisions import LoggedDecision, read_decisions
from rdfcrawl.stores.reading import iter_quads
from rdfcrawl.uri import NormalForm, fingerprint

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

P = "http://p.example/p"
BAD = "http://e.example:99999/"


def decisions_of(folder: Path) -> list[LoggedDecision]:
    """Return all decisions of a crawl."""
    return list(read_decisions(b"".join(iter_quads(folder / "decisions"))))


def page(*links: str) -> bytes:
    """Return a document with links."""
    return "".join(f"_:s <{P}> <{x}> .\n" for x in links).encode()


def test_each_refusal_is_logged_with_its_reason(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If links are refused for several reasons, then the log has each of them."""
    host, other = "127.0.26.1", "127.0.26.2"
    server = loopback({}, host=host)
    elsewhere = loopback({"/x": loopback.response(page())}, host=other)
    url = server.url
    trap = url("/a/b" * 5 + "/")
    server.pages |= {
        "/": loopback.response(
            page(
                url("/one"),
                url("/private/x"),
                elsewhere.url("/x"),
                trap,
                BAD,
            )
        ),
        "/one": loopback.response(page(url("/%6fne"), url("/two"))),
        "/two": loopback.response(page(url("/three"))),
    }
    deny = tmp_path / "deny.txt"
    deny.write_text("/private/\n")
    result = commands.crawl(
        [url("/")], arguments={"scope": "host", "depth": 2, "deny": deny}
    )
    assert result.code == 0
    found = {(x.uri, x.reason, x.parent) for x in decisions_of(result.folder)}
    assert found == {
        (url("/private/x"), "denied", url("/")),
        (elsewhere.url("/x"), "out_of_scope", url("/")),
        (trap, "url_trap", url("/")),
        (BAD, "bad_uri", url("/")),
        (url("/%6fne"), "duplicate", url("/one")),
        (url("/three"), "too_deep", url("/two")),
    }
    counts = Counter(reason for _, reason, _ in found)
    for reason, n in counts.items():
        assert result.statistics[f"decision/{reason}"] == n
    assert url("/two") in result.graphs


def test_sampled_and_bounded(commands: Commands, loopback: Loopback) -> None:
    """If a share of URIs is logged, then always the same ones, within the bounds."""
    server = loopback({}, host="127.0.26.3")
    links = [f"http://far{n}.example/{n}" for n in range(400)]
    server.pages |= {"/": loopback.response(page(*links))}
    seeds, scope = [server.url("/")], {"scope": "host"}
    half = commands.crawl(seeds, arguments=scope, DECISIONS_SAMPLE=0.5)
    wanted = {
        link
        for link in links
        if is_sampled(fingerprint(NormalForm().normalize(link)), 0.5)
    }
    assert 100 < len(wanted) < 300
    assert {x.uri for x in decisions_of(half.folder)} == wanted
    few = commands.crawl(seeds, arguments=scope, DECISIONS_MAX_PER_DOCUMENT=10)
    assert len(decisions_of(few.folder)) == 10
    assert few.statistics["decision/not_logged"] == 390
    none = commands.crawl(seeds, arguments=scope, DECISIONS_SAMPLE=0)
    assert not (none.folder / "decisions").exists()
    assert none.statistics["link/filtered"] == 400


def test_budgets_are_logged(commands: Commands, loopback: Loopback) -> None:
    """If a host has spent its budget, then the log names the refused URLs."""
    server = loopback({}, host="127.0.26.4")
    links = [server.url(f"/{n}") for n in range(10)]
    server.pages |= {"/": loopback.response(page(*links))}
    server.pages |= {f"/{n}": loopback.response(page()) for n in range(10)}
    result = commands.crawl([server.url("/")], arguments={"max_per_host": 4})
    found = decisions_of(result.folder)
    assert {x.reason for x in found} == {"host_budget"}
    assert {x.parent for x in found} == {server.url("/")}
    asked = {server.url(x) for x in server.targets}
    assert {x.uri for x in found} == set(links) - asked
    assert len(found) == 7
