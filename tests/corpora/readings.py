"""Read cases by the three ways to a document: crawl, `scrapy rdf` and `extract`."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING

from scrapy.http import Headers, Response
from scrapy.settings import Settings

from rdfcrawl import extract
from rdfcrawl.stores.log.crawl_log import iter_latest
from rdfcrawl.uri.guard.policy import MAX_PORT
from tests.conftest import LOOPBACK_NETS
from tests.corpora.comparing import Reading, confined, reading_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tests.corpora.cases import Case
    from tests.support.crawl_fixtures import Commands, RunRdf

_find_faults = re.compile(r"^fault +(\w+)", re.MULTILINE).findall


def crawl(
    commands: Commands, cases: Sequence[Case], bases: Mapping[str, str]
) -> dict[str, Reading]:
    """Crawl all cases at one time; return the result of each, by its name."""
    urls = {case.name: f"{bases[case.name]}/{case.document.path}" for case in cases}
    folder = commands.folder()
    rows = folder / "rows.jl"
    result = commands.crawl(
        list(urls.values()),
        folder=folder,
        arguments={"depth": 0, "harvest": "none"},
        FEEDS=json.dumps({str(rows): {"format": "jsonlines"}}),
        LOG_LEVEL="WARNING",
        ROBOTSTXT_OBEY=0,
    )
    assert result.code == 0, result.stderr
    pieces: dict[str, bytes] = {}
    for piece in iter_latest(result.folder / "quads"):
        pieces[piece.graph] = pieces.get(piece.graph, b"") + piece.quads
    read = {
        row["requested"]: row for row in map(json.loads, rows.read_text().splitlines())
    }
    return {
        name: reading_of(
            pieces.get(url, b""),
            [fault["reason"] for fault in read[url]["faults"]],
            url,
            read[url]["format"],
        )
        for name, url in urls.items()
    }


def extract_all(cases: Sequence[Case], bases: Mapping[str, str]) -> dict[str, Reading]:
    """Pass all cases to `extract`; return the result of each, by its name."""
    settings = Settings(
        {"GUARD_ALLOW_NETS": LOOPBACK_NETS, "GUARD_PORTS": f"1-{MAX_PORT}"}
    )

    async def one(case: Case) -> Reading:
        document = case.document
        headers = Headers(dict(document.headers))
        if document.media_type:
            headers["Content-Type"] = document.media_type
        url = f"{bases[case.name]}/{document.path}"
        response = Response(url, headers=headers, body=document.body)
        with await extract(response, settings=settings) as found:
            faults = [str(fault.reason) for fault in found.faults]
            n_quads = found.nquads().read()
            reading = reading_of(n_quads, faults, url, found.format)
            return confined(reading, bases[case.name])

    async def everything() -> dict[str, Reading]:
        return {case.name: await one(case) for case in cases}

    return asyncio.run(everything())


def show_all(
    rdf: RunRdf, cases: Sequence[Case], bases: Mapping[str, str], folder: Path
) -> dict[str, Reading]:
    """Pass each case to `scrapy rdf`; return the result of each, by its name."""
    return {case.name: _shown(rdf, case, bases[case.name], folder) for case in cases}


def _shown(rdf: RunRdf, case: Case, base: str, folder: Path) -> Reading:
    url, target = f"{base}/{case.document.path}", folder / "shown.nq"
    target.unlink(missing_ok=True)  # without statements, it is not written
    allowed = f"-sGUARD_PORTS=1-{MAX_PORT}", "-sROBOTSTXT_OBEY=0"
    done = rdf(*allowed, "--to", target, url)
    assert done.returncode in {0, 1}, done.stderr
    n_quads = target.read_bytes() if target.exists() else b""
    reading = reading_of(n_quads, _find_faults(done.stderr), url)
    return confined(reading, base)
