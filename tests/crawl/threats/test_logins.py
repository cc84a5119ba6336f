"""Logins that an operator gives stay out of output, logs and files."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from rdfcrawl.frontier.redis.embedded import find_server
from tests.support.redis_fixtures import RedisServer
from tests.support.scripted_stores import ScriptedStore
from tests.support.store_products import OXIGRAPH

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

PARTS = ("Mk7", "Qx8", "Zj9", "Vw6", "Pn5")
SECRET = "Mk7@Qx8:Zj9/Vw6%Pn5#"  # each part may end it for some reader
ENCODED = quote(SECRET, safe="")
STATEMENT = b'<urn:x:s> <urn:x:p> "o" .\n'
RAW = (
    ("crawl", "linkeddata", "-aseeds={url}"),
    ("crawl", "{url}"),
    ("crawl", "linkeddata", "-aseeds=http://h.example/", "-sSTORE=x://{login}h/"),
    ("rdf", "{url}"),
    ("explain", "{url}"),
    ("ping", "{url}"),
    ("store", "verify", "fuseki+http://{login}h.example/ds"),
)


@pytest.fixture
def server(server_directory: Path) -> Iterator[RedisServer]:
    """Yield a server that wants the password."""
    server = RedisServer(find_server(), server_directory)
    server.start()
    server.order(f"CONFIG SET requirepass {SECRET}")
    yield server
    server.end()


def leaks(folder: Path) -> list[str]:
    """Return the files below a folder that have a part of the password, and where."""
    found = []
    for path in folder.rglob("*"):
        if not path.is_file() or path.name.startswith("seeds"):
            continue
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        match = re.search("|".join(PARTS).encode(), content)
        if match is not None:
            near = content[max(0, match.start() - 200) : match.end() + 20]
            found.append(f"{path.name}: {near!r}")
    return found


@pytest.mark.service
def test_no_part_of_a_password_is_shown_or_kept(
    commands: Commands, loopback: Loopback, server: RedisServer
) -> None:
    """If an operator gives logins, then no output, log or file has a part of them."""
    web = loopback(
        {"/": loopback.response(STATEMENT, "application/n-triples")}, host="127.81.70.1"
    )
    place = web.url("/").removeprefix("http://")
    folder = commands.folder()
    settings: dict[str, Any] = {
        "REDIS_URL": server.url.replace("://", f"://:{ENCODED}@"),
        "CRAWL_ID": "c",
        "RETRY_TIMES": 0,
    }
    noisy: dict[str, Any] = {
        "FETCH_WITH_SCRAPY": True,
        "HTTPAUTH_USER": "me",
        "HTTPAUTH_PASS": SECRET,
        "HTTPAUTH_DOMAIN": "127.81.70.1",
        "FTP_PASSWORD": SECRET,
        "WARC": True,
        "LOG_LEVEL": "DEBUG",
    }
    seeds = [
        f"http://me:{ENCODED}@{place}",
        f"http://me:{SECRET}@{place}",  # no URL
        f"ftp://me:{ENCODED}@127.81.70.1:9/",
    ]
    with ScriptedStore(OXIGRAPH) as store:
        uri = store.uri.replace("://", f"://me:{ENCODED}@")
        result = commands.crawl(
            seeds, folder=folder, STORES=json.dumps({uri: {}}), **settings, **noisy
        )
        assert store.quads(), result.stderr
    assert "Overridden settings" in result.stderr
    assert result.about(web.url("/")), result.stderr

    raw = {"login": f"me:{SECRET}@", "url": f"http://me:{SECRET}@{place}"}
    running = [
        commands.start(*(x.format(**raw) for x in words), folder=folder, **settings)
        for words in (
            *RAW,
            ("report",),
            ("explain", f"http://me:{ENCODED}@{place}"),
            ("frontier", "uri", f"http://me:{ENCODED}@{place}"),
            ("frontier", "export", str(folder / "export.gz")),
            ("store", "status"),
        )
    ]
    for each in running:
        each.wait()
    assert leaks(folder) == []
