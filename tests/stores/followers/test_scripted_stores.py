"""Stores that are known from their documentation, and bad ones, are loaded as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from tests.support import store_products
from tests.support.scripted_stores import (
    PASSWORD,
    TOKEN,
    ScriptedStore,
    in_turn,
    refusing,
)
from tests.support.store_contents import load, pages, said
from tests.support.store_http import Answer
from tests.support.written_logs import (
    RawVersion,
    Written,
    make_newer,
    said_in,
    tear_log,
    write_log,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands

A, B, C = "http://e/a", "http://e/b", "http://e/c"


def new_log(commands: Commands, said: str = "x") -> Path:
    """Return the folder of crawls, of which one has a log of three documents."""
    folder = commands.folder()
    write_log(folder / "c", [Written(graph, 1, [(graph, said)]) for graph in (A, B, C)])
    return folder


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    "name",
    [
        "QLEVER",
        "OLD_QLEVER",
        "STARDOG",
        "GRAPHDB",
        "NEPTUNE",
        "OLD_NEPTUNE",
        "BLAZEGRAPH",
    ],
)
def test_store_of_each_product_is_loaded(commands: Commands, name: str) -> None:
    """If a store behaves as documented, it receives the statements of the log."""
    folder = commands.folder()
    now = pages(6)
    write_log(folder / "c", [RawVersion(g, 1, quads) for g, quads in now.items()])
    with ScriptedStore(getattr(store_products, name)) as store:
        for action in ("load", "verify"):
            code, told = load(commands, folder, store, action)
            assert code == 0, told
        wanted = ox.parse(b"".join(now.values()), format=ox.RdfFormat.N_QUADS)
        assert said(store.quads()) == said(wanted)
        write_log(folder / "c", [RawVersion(g, 2, b"") for g in now], "2")
        code, told = load(commands, folder, store)
        assert code == 0, told
        assert store.quads() == set()


def test_passing_troubles_cost_nothing(commands: Commands) -> None:
    """If a store is busy, full, cut off, or lies for a while, all is there at last."""
    folder = new_log(commands)
    with ScriptedStore(store_products.STARDOG) as store:
        error = b'{"message": "java.lang.OutOfMemoryError", "code": "000012"}'
        store.misdeed = in_turn(
            Answer(status=503, headers={"Retry-After": "0"}),
            Answer(status=0),
            Answer(status=200, body=error, media_type="application/json"),
            Answer(status=507, body=b"quota exceeded"),
        )
        store.after = in_turn(Answer(status=0))
        code, told = load(commands, folder, store)
        assert code == 0, told
        assert said_in(store.quads()) == {(g, "x") for g in (A, B, C)}


@pytest.mark.parametrize("method", ["update", "graph-store"])
def test_refused_graph_is_named_and_the_others_are_loaded(
    commands: Commands, method: str
) -> None:
    """If a store refuses the name of a graph, it is set aside, and the rest goes on."""
    folder = new_log(commands)
    with ScriptedStore(store_products.GRAPHDB) as store:
        refusal = Answer(status=400, body=f"MALFORMED DATA: {B}".encode())
        store.misdeed = refusing(B, refusal)
        code, told = load(commands, folder, store, method=method)
        assert code == 1, told
        assert f"set aside: '{B}'" in told
        assert said_in(store.quads()) == {(A, "x"), (C, "x")}


@pytest.mark.parametrize(
    ("product", "options"),
    [("STARDOG", {"password": "n0t-it"}), ("QLEVER", {"token": "n0t-it"})],
)
def test_wrong_login_is_one_line_without_it(
    commands: Commands, product: str, options: dict[str, str]
) -> None:
    """If a login is wrong, one line says so, without it, and nothing is written."""
    folder = new_log(commands)
    with ScriptedStore(getattr(store_products, product)) as store:
        code, told = load(commands, folder, store, **options)
        assert (code, store.quads()) == (2, set()), told
        warning, _ = told.splitlines()
        (secret,) = options
        name = f"{product}_{secret}".upper()
        assert f"its {secret} is on the command line" in warning
        assert f"{name} or {name}_FILE in the environment" in warning
        assert "Traceback" not in told
        assert not {PASSWORD, TOKEN, 'wrong"'} & set(told.split())


def test_wrong_uri_is_one_line(commands: Commands) -> None:
    """If there is no store at a URI, one line says so."""
    folder = new_log(commands)
    with ScriptedStore(store_products.GRAPHDB) as store:
        store.uri += "-of-others"
        code, told = load(commands, folder, store)
        assert code == 2
        assert told.count("\n") == 2  # of which one is about the password
        assert "404" in told


def test_torn_log_is_loaded_and_a_newer_one_refused(commands: Commands) -> None:
    """If a log ends in half a member, it is read so far; a newer format is refused."""
    folder = new_log(commands)
    tear_log(folder / "c", Written(B, 2, [(B, "y")]), Written(C, 2, [(C, "torn")]))
    with ScriptedStore(store_products.STARDOG) as store:
        code, told = load(commands, folder, store)
        assert code == 0, told
        assert said_in(store.quads()) == {(A, "x"), (B, "y"), (C, "x")}
        make_newer(folder / "c")
        code, told = load(commands, folder, store)
        assert code == 2
        assert told.count("\n") == 1
