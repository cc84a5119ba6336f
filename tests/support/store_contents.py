"""Logs to fill stores from, and the contents of these stores."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyoxigraph as ox

from tests.support.sparql_stores import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.scripted_stores import ScriptedStore

SITE = "http://example.org/doc"


def pages(n_pages: int) -> dict[str, bytes]:
    """Return statements of pages: blank nodes, umlauts, and shared graphs."""
    own: dict[str, bytes] = {}
    for n in range(n_pages):
        at = f"{SITE}/é日本-{n}"  # a graph that no store may read as Latin-1
        street = (
            f'_:b{n}x <http://example.org/p/street> "Ü \\"d\\" \\\\ {n}"@de <{at}> .'
        )
        own[at] = (
            f"<{at}> <http://example.org/p/address> _:b{n}x <{at}> .\n{street}\n"
            f"_:b{n}x <http://example.org/p/near> _:b{n}x <{at}> .\n"
        ).encode()
    common = "http://example.org/graph/common"
    for n in range(3):  # two say the same, one more
        both = f'<{SITE}/x> <http://example.org/p/name> "{n // 2}" <{common}> .\n'
        own[f"{SITE}/é日本-{n}"] += both.encode()
    return own


def said(quads: Iterable[ox.Quad]) -> dict[str, set[str]]:
    """Return the statements of each graph, with canonical blank nodes and values."""
    graphs: dict[str, list[bytes]] = {}
    store = ox.Store()  # Virtuoso has `1` for `true`
    store.extend(quads)
    for quad in store:
        graphs.setdefault(str(quad.graph_name), []).append(f"{quad} .\n".encode())
    return {name: canonical(b"".join(lines)) for name, lines in graphs.items()}


def load(
    commands: Commands,
    folder: Path,
    store: ScriptedStore,
    action: str = "load",
    **options: str,
) -> tuple[int, str]:
    """Run `scrapy store` on a crawl; return its exit code and output."""
    stores = json.dumps({store.uri: store.options | options})
    done = commands.start(
        "store", action, store.uri, folder=folder, CRAWL_ID="c", STORES=stores
    ).wait()
    return done.code, done.stderr
