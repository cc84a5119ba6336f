"""Real stores on servers, loaded as in the guide, equal the log.

All that needs these servers is here, as to start one is more CPU than its tests.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyoxigraph as ox
import pytest

from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.stores.followers.sparql.options import PROFILES
from tests.crawl.operation.test_followers import stored
from tests.crawl.operation.test_stores import (
    WEB,
    begin_crawl,
    in_parquet,
    lines_of,
    logged,
    truth,
)
from tests.stores.followers.test_sparql import follow
from tests.support.pages import commands_in, read_page
from tests.support.sparql_stores import iter_store
from tests.support.store_contents import SITE, pages, said
from tests.support.store_services import PASSWORD, USER
from tests.support.written_logs import RawVersion, write_log

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.store_services import (
        FusekiService,
        StoreService,
        VirtuosoService,
    )

PAGE = "sparql-stores.md"
FIRST_MS, LATER_MS = 1_700_000_000_000, 1_800_000_000_000


def versions() -> dict[str, bytes]:
    """Return what pages say, and a dump that has graphs of some of them, too."""
    own = pages(12)
    dump = "".join(iter_store(20, with_default=False, n_graphs=6)).encode()
    for n in range(7, 9):
        dump += own[f"{SITE}/é日本-{n}"].replace(b"_:", b"_:dump")
    return own | {f"{SITE}/dump": dump}


def words_of_the_guide(given: str, store: StoreService) -> list[str]:
    """Return the command for a store, with the address of a store of the tests."""
    typed = commands_in(read_page(PAGE))
    loads = [words for words in typed if words[1:3] == ["store", "load"]]
    words = next(words for words in loads if words[3].startswith(f"{given}:"))
    real = store.uri if given == store.uri.partition(":")[0] else ""
    real = real or f"{given}://{urlsplit(store.uri).netloc}/update"
    return [word.replace(words[3], real) for word in words[1:]]


@pytest.mark.service
@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("scheme", "name", "method"),
    [
        ("fuseki+http", "fuseki_store", ""),
        ("fuseki+http", "fuseki_store_with_login", "graph-store"),
        ("oxigraph+http", "oxigraph_store", "graph-store"),
        ("sparql+http", "oxigraph_store", ""),
        ("rdf4j+http", "rdf4j_store", ""),
        ("virtuoso+http", "virtuoso_store", ""),
        ("virtuoso+http", "virtuoso_store", "update"),
    ],
)
def test_real_store_has_what_the_log_says(
    commands: Commands,
    scheme: str,
    name: str,
    method: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the guide's command is typed, a store is equal, and again after changes."""
    store: StoreService = request.getfixturevalue(name)
    store.clear()
    folder = commands.folder()
    words = words_of_the_guide(scheme, store)
    more = {"STORES": json.dumps({store.uri: {"method": method}})} if method else {}
    if store.options:
        secret = folder / "secret"
        secret.write_text(f"{PASSWORD}\n")
        product = scheme.partition("+")[0].upper()
        monkeypatch.setenv(f"{product}_USER", USER)
        monkeypatch.setenv(f"{product}_PASSWORD_FILE", str(secret))
    now = versions()
    write_log(folder / "c", [RawVersion(g, FIRST_MS, q) for g, q in now.items()])
    for step in range(2):
        for action in ("load", "verify"):
            typed = [word if word != "load" else action for word in words]
            done = commands.start(*typed, folder=folder, CRAWL_ID="c", **more).wait()
            assert done.code == 0, done.stderr
            assert ("it is up to date" in done.stderr) == (action == "load")
            assert PASSWORD not in done.stderr
        wanted = ox.parse(b"".join(now.values()), format=ox.RdfFormat.N_QUADS)
        there, expected = said(store.quads()), said(wanted)
        for graph in there.keys() | expected.keys():
            assert there.get(graph) == expected.get(graph)
        if step:
            return
        gone, changed = [f"{SITE}/é日本-{n}" for n in (1, 5)], f"{SITE}/é日本-0"
        later = {changed: f'<{changed}> <{SITE}/p> "new" <{changed}> .\n'.encode()}
        later |= {f"{SITE}/new": now[f"{SITE}/é日本-9"].replace(b"b9x", b"new")}
        later |= dict.fromkeys(gone, b"")
        write_log(
            folder / "c", [RawVersion(g, LATER_MS, q) for g, q in later.items()], "2"
        )
        now |= later


@pytest.mark.in_turn(2)
@pytest.mark.service
def test_stores_equal_the_web_and_then_the_new_web(
    commands: Commands,
    tmp_path: Path,
    fuseki_store: FusekiService,
    virtuoso_store: VirtuosoService,
) -> None:
    """If the web changes and is crawled again, no store has more or less than it."""
    stores: dict[str, Any] = {f"oxigraph:{tmp_path}/oxigraph": {}}
    stores[f"parquet:{tmp_path}/parquet"] = {}
    services: list[StoreService] = [fuseki_store, virtuoso_store]
    for service in services:
        service.clear()
    folder = commands.folder()
    for generation, method in enumerate(("graph-store", "update")):
        stores |= {x.uri: x.options | {"method": method} for x in services}
        config = replace(WEB, generation=generation, first_address="127.92.1.1")
        with run_dataweb(config, tmp_path / "web") as web:
            result = begin_crawl(commands, web, stores, folder).wait()
            assert result.code == 0, result.stderr
            wanted = truth(web)
        log = ox.parse(logged(result), format=ox.RdfFormat.N_QUADS)
        assert lines_of(log) == wanted
        assert {q.removesuffix(" .\n") for q in stored(tmp_path / "oxigraph")} == wanted
        assert in_parquet(tmp_path / "parquet") == wanted
        for service in services:
            assert lines_of(service.quads()) == wanted


@pytest.mark.service
def test_virtuoso_takes_documents_of_blank_nodes_alone(
    virtuoso_store: VirtuosoService, tmp_path: Path
) -> None:
    """If each statement has a blank node, documents are equal, and nothing is more."""
    virtuoso_store.clear()
    documents = {}
    for graph in (f"<{SITE}/{n}>" for n in range(3)):
        near = f"_:a <http://example.org/p/near> _:b {graph} .\n"
        documents[graph[1:-1]] = f'_:a <http://example.org/p/n> "x" {graph} .\n{near}'
    write_log(tmp_path, [RawVersion(g, 1, q.encode()) for g, q in documents.items()])
    follow(tmp_path, virtuoso_store.uri, method="update", **virtuoso_store.options)
    wanted = ox.parse("".join(documents.values()), format=ox.RdfFormat.N_QUADS)
    assert said(virtuoso_store.quads()) == said(wanted)


def test_each_store_of_the_reference_is_in_the_guide() -> None:
    """If there is a profile of a store, then the guide has a command for it."""
    uris = [words[3] for words in commands_in(read_page(PAGE)) if words[1] == "store"]
    assert {uri.partition("+")[0] for uri in uris} == set(PROFILES)
    crawl = next(words for words in commands_in(read_page(PAGE)) if words[1] == "crawl")
    (setting,) = [word for word in crawl if word.startswith("STORES=")]
    assert json.loads(setting.partition("=")[2]).keys() <= set(uris)
