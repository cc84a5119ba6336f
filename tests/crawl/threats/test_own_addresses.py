"""Crawls on a machine whose public addresses lead to its own services."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.conftest import RawServers
from tests.support.crawl_fixtures import CrawlResult
from tests.support.crawl_names import scripted_names
from tests.support.crawl_webs import Loopback
from tests.support.ftp_servers import OddFtp
from tests.support.namespaces import machines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Reply

SITE = "93.184.216.34"  # stands for a site of the web, being allowed
OWN = "93.184.216.37"
OWN6 = "2a00:1450:4001:81b::200e"
ROUTED = "93.185.7.7"  # in a network that is routed to the machine
REDIS_PORT = 6379
QUAD = b'<> <urn:x:p> "secret" .'
LONGEST_SECS = 300


class Ways(NamedTuple):
    """Two crawls, by our own client and by Scrapy's, and their requests."""

    results: list[CrawlResult]
    links: list[str]
    asked: list[str]


def links_of(port: int, ftp: str) -> list[str]:
    """Return URLs of services on the machine."""
    hosts = (OWN, f"[{OWN6}]", ROUTED, "[64:ff9b::5db8:d825]", "own.example")
    return [
        *(f"http://{host}:{port}/link" for host in hosts),
        f"http://{SITE}:{REDIS_PORT}/",  # an allowed address, but not such a port
        ftp,
    ]


def pages(url: str, links: list[str]) -> dict[str, Reply]:
    """Return the pages of a site that lead to the machine."""
    response, redirect = RawServers.response, RawServers.redirect
    body = "".join(f"<> <urn:x:p> <{link}> .\n" for link in links)
    body += "".join(f"<> <urn:x:p> </{n}> .\n" for n in ("301", "good", "context"))
    body += "@prefix void: <http://rdfs.org/ns/void#> .\n"
    body += f"<#d> a void:Dataset ; void:sparqlEndpoint <{url}sparql> ;"
    body += f" void:dataDump <{url}dump.nt> .\n"
    context = json.dumps({"@context": f"{url}context", "@id": "urn:x:s"})
    return {
        "/": response(body.encode()),
        "/301": redirect(f"{url}301", "301 X"),
        "/context": response(context.encode(), "application/ld+json"),
        "/good": response(b"<> <urn:x:p> <urn:x:o> ."),
    }


def crawls(folder: Path, seed: str) -> list[CrawlResult]:
    """Crawl twice, at the same time."""
    running = []
    for is_scrapy in (False, True):
        own = folder / f"{is_scrapy}"
        given = {
            "CRAWL_DIR": own,
            "FETCH_WITH_SCRAPY": is_scrapy,
            "GUARD_ALLOW_NETS": f"{SITE}/32",
            "USER_AGENT": "test/1 (+http://t.invalid/; a@t.invalid)",
            "DOWNLOAD_DELAY": 0,
            "HOST_PATIENCE_SECS": 0,
            "HOST_BACKOFF_SECS": 0.05,
            "DESCRIBE": "off",
        }
        line = [sys.executable, "-m", "scrapy", "crawl", "linkeddata"]
        line += [f"-aseeds={seed}", "-aharvest=all", "-afollow=abox"]
        line += [f"-s{name}={value}" for name, value in given.items()]
        process = subprocess.Popen(line, stderr=subprocess.PIPE, env=os.environ)
        running.append((process, own))
    results = []
    for process, own in running:
        said = process.communicate(timeout=LONGEST_SECS)[1].decode()
        results.append(CrawlResult(process.returncode, said, own / "linkeddata", 0, 0))
    return results


def give_addresses() -> None:
    """Give the machine public addresses."""
    for words in (
        *(f"addr add {address}/32 dev lo" for address in (SITE, OWN)),
        f"addr add {OWN6}/128 dev lo",
        "route add local 93.185.0.0/16 dev lo",
    ):
        subprocess.run(["ip", *words.split()], check=True)


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    """Yield crawls of a site that leads to all services of the machine."""
    folder = tmp_path_factory.mktemp("own")
    with ExitStack() as stack:
        stack.enter_context(machines(0))
        give_addresses()
        names = {"own.example": [[OWN]]}
        stack.enter_context(scripted_names(folder, names))
        loopback = stack.enter_context(Loopback())
        services = [loopback(host="0.0.0.0")]
        services.append(loopback(host="::", port=services[0].port))
        services.append(loopback(host=SITE, port=REDIS_PORT))
        for service in services:
            service.pages["*"] = loopback.response(QUAD)
        ftp = stack.enter_context(OddFtp(files={"/a.nt": QUAD}, host=OWN))
        links = links_of(services[0].port, ftp.url("a.nt"))
        url = f"http://{OWN}:{services[0].port}/"
        loopback(pages(url, links), host=SITE, port=80)
        results = crawls(folder, f"http://{SITE}/")
        asked = [target for service in services for target in service.targets]
        n = sum(service.n_connections for service in services)
        asked += ["connection"] * (n - len(asked))
        yield Ways(results, links, [*asked, *ftp.commands])


def test_services_of_the_machine_are_not_connected_to(ways: Ways) -> None:
    """If pages link to public addresses of the machine, no service gets a request."""
    assert [each.code for each in ways.results] == [0, 0], ways.results[0].stderr
    assert ways.asked == []
    for result in ways.results:
        assert f"http://{SITE}/good" in result.graphs


def test_refusal_names_the_address(ways: Ways) -> None:
    """If a link leads to the machine, then its fault names the setting to allow it."""
    for result in ways.results:
        said = {link: result.details(link) for link in ways.links}
        *own, redis, _ = said.values()
        assert all("address of this machine" in x and "_NETS" in x for (x,) in own)
        refusal = f"port {REDIS_PORT} of {SITE} is not among GUARD_PORTS"
        assert redis == [f"{refusal}; GUARD_PORTS=80,443,{REDIS_PORT} would allow it"]
