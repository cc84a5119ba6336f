"""Documents that describe very many datasets cost Redis a bounded amount for each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

N_DATASETS = 100
PREFIXES = """@prefix void: <http://rdfs.org/ns/void#> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
"""
EACH = """<#v{n}> a void:Dataset ; void:dataDump </v{n}.nt> .
<#v{n}> void:uriSpace "{url}s{n}/" .
<#d{n}> a dcat:Dataset ; dcat:distribution [ dcat:downloadURL </d{n}.ttl> ] .
<#s{n}> a sd:Service ; sd:endpoint </sparql> .
"""


@pytest.mark.in_turn(2, rooms=("sources",))
def test_many_datasets_share_round_trips(
    commands: Commands,
    loopback: Loopback,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """If a document has many datasets, then each costs a round trip at most."""
    server = loopback({})
    each = (EACH.format(n=n, url=server.url("/")) for n in range(N_DATASETS))
    document = (PREFIXES + "".join(each)).encode()
    server.pages["/void"] = loopback.response(document)
    notes = tmp_path / "statistics"
    monkeypatch.setenv("REDIS_PROBE", str(notes))
    probes = {
        "tests.support.redis_probe.BeforeDiscovery": 650,
        "tests.support.redis_probe.AfterDiscovery": 750,
    }
    result = commands.crawl(
        [server.url("/void")], depth="0", ITEM_PIPELINES=json.dumps(probes)
    )
    assert result.code == 0, result.stderr
    lines = notes.read_text(encoding="utf-8").splitlines()
    before, after = map(json.loads, lines[:2])
    n_reads = after["total_reads_processed"] - before["total_reads_processed"]
    n_bytes = after["total_net_output_bytes"] - before["total_net_output_bytes"]
    n_commands = after["total_commands_processed"] - before["total_commands_processed"]
    assert n_commands > N_DATASETS, "the datasets were not registered"
    assert n_reads < N_DATASETS
    assert n_bytes < 4096 * N_DATASETS
