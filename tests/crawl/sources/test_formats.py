"""Crawls of webs that publish in every way there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.dataweb.config import DumpProfile, NodeKind, WebConfig
from rdfcrawl.dataweb.nodes.packings import PACKINGS
from rdfcrawl.dataweb.nodes.serializations import SERIALIZATIONS
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.dataweb.recall import judge

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.conformance_suites import Suites
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

N_COMBINATIONS = {
    profile: len(SERIALIZATIONS[profile]) * (1 + len(PACKINGS[profile]))
    for profile in DumpProfile
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("profile", DumpProfile)
def test_dumps_are_read_completely_in_any_packing(
    profile: DumpProfile, commands: Commands, tmp_path: Path
) -> None:
    """If each dump is in another form, then a crawl finds every statement of all."""
    config = WebConfig(
        n_nodes=max(N_COMBINATIONS[profile], 60),
        triples=30,
        degree=5,
        rdf_degree=4,
        weights={NodeKind.DUMP: 1.0},
        profile=profile,
        compressed=0.8,
        port=0,
        first_address="127.70.0.1",
    )
    with run_dataweb(config, tmp_path) as web:
        result = commands.start(
            *("crawl", "linkeddata", f"-aseeds=@{web.seeds_path}"),
            STATS_DUMP=True,
            EXTRACT_PROCESSES=2,
        ).wait()
    assert result.code == 0, result.stderr
    report = judge(tmp_path / "truth.nq", [str(result.folder / "quads")])
    assert report.missing == []
    assert report.micro == 1.0
    assert report.n_surplus == 0, report.surplus
    assert [key for key in result.statistics if key.startswith("fault/")] == []
    if profile is DumpProfile.EXTENDED:
        read = {key for key, n in result.statistics.items() if n and "/format/" in key}
        assert len(read) == len(SERIALIZATIONS[profile])


@pytest.mark.in_turn(3)
def test_rdfa_pages_are_read_though_they_are_served_as_html(
    commands: Commands, suites: Suites, tmp_path: Path
) -> None:
    """If the pages of the RDFa suite are all text/html, then 0.99 is found of them."""
    config = WebConfig(
        n_nodes=1,
        degree=0,
        weights={NodeKind.RDFA: 1.0},
        rdfa_dir=str(suites.checkout("rdfa")),
        port=0,
        first_address="127.73.0.1",
    )
    with run_dataweb(config, tmp_path) as web:
        result = commands.start(
            "crawl", "linkeddata", f"-aseeds=@{web.seeds_path}", "-ascope=host"
        ).wait()
    assert result.code == 0, result.stderr
    report = judge(tmp_path / "truth.nq", [str(result.folder / "quads")])
    assert report.n_expected > 2900
    assert report.micro >= 0.99, report.missing


def test_documents_are_stored_completely_in_any_order_of_statements(
    commands: Commands, loopback: Loopback
) -> None:
    """If they come together, in pieces, or from two readers, then none is lost."""
    server = loopback(host="127.73.1.1")
    lines = [b'<urn:x:s> <urn:x:p> "%d" .\n' % n for n in range(6000)]
    page = (
        b'<script type="application/ld+json">{"@id": "urn:x:a", "urn:x:p": "1"}'
        b'</script><p about="urn:x:b" property="urn:x:q">2</p>'
    )
    server.pages |= {
        "/at-once": loopback.response(b"".join(lines[:7]), "application/n-triples"),
        "/pieces": loopback.response(b"".join(lines), "application/n-triples"),
        "/readers": loopback.response(page, "text/html"),
        "/nothing": loopback.response(b"# nothing\n", "text/turtle"),
    }
    n_statements = {"/at-once": 7, "/pieces": 6000, "/readers": 2, "/nothing": 0}
    result = commands.crawl(
        [server.url(path) for path in n_statements], arguments={"follow": "none"}
    )
    writes = result.writes()
    for path, n_expected in n_statements.items():
        url = server.url(path)
        assert len(result.about(url)) == n_expected, path
        assert writes[url] == bool(n_expected), path
