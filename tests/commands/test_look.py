"""`scrapy look`: what a site publishes, and the command that crawls it."""

from __future__ import annotations

import json
import shlex
import signal
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.dataweb.local import LocalWeb
from tests.conftest import LOOPBACK_NETS
from tests.support.ckan_sites import CkanSite
from tests.support.command_forks import scrapy, shared_forks
from tests.support.planted_services import PlantedEndpoint, PlantedRepository
from tests.support.planted_sites import (
    PlantedDumps,
    PlantedIndex,
    PlantedLinks,
    PlantedPages,
    PlantedResources,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.planted_sites import PlantedSite

_GIVEN = ("-sDOWNLOAD_DELAY=0", f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}")
_SITES = {
    PlantedPages: "crawl sitemap -a sites=",
    PlantedIndex: "crawl sitemap -a sites=",
    PlantedDumps: "crawl linkeddata -a seeds=",
    PlantedResources: "crawl resourcesync -a sources=",
    PlantedLinks: "crawl linkeddata -a seeds=",
}


_NOTHING = b"<html><title>A</title></html>"
_LISTING = (PlantedPages, PlantedIndex)


def look(url: str, *options: str) -> tuple[int, str]:
    """Return the exit code and the output."""
    done = scrapy("look", url, *options, *_GIVEN)
    assert not done.stderr
    return done.returncode, done.stdout


@pytest.mark.in_turn(2, rooms=("sources",))
@pytest.mark.parametrize("kind", _SITES, ids=lambda kind: kind.__name__)
def test_the_least_intrusive_door_is_named(
    kind: type[PlantedSite], loopback: Loopback
) -> None:
    """If a site offers a source, then it is the first door, found by few requests."""
    site = kind(loopback, "127.20.76.1")
    code, output = look(site.seeds()[0][0], "--json")
    found: dict[str, Any] = json.loads(output)
    assert code == 0
    door = found["doors"][0]
    assert door["kind"] == site.kind, found
    assert door["command"].startswith(_SITES[kind])
    assert found["requests"] <= 10
    assert door["pages"] == (len(site.listed()) if kind in _LISTING else None)
    is_sampled = kind in (*_LISTING, PlantedLinks)
    assert bool(found["properties"].get("urn:x:says", 0)) == is_sampled


def test_a_site_without_data_says_so(loopback: Loopback) -> None:
    """If a site has no statements, then the last line says so, and the exit code."""
    site = loopback({"/": loopback.response(_NOTHING, "text/html")})
    code, output = look(site.url("/"), '-sREDIS_PARAMS={"port": 1}')
    assert code == 1, "its Redis is its own"
    assert "(200): 0 statements" in output
    assert output.splitlines()[-1].startswith("no data was found")


def test_links_of_a_front_page_are_no_portal(loopback: Loopback) -> None:
    """If a front page links to data, then linked pages are the door, no guess is."""
    site = loopback(
        {
            "/": loopback.response(b"<a href=a.ttl>a</a>", "text/html"),
            "/a.ttl": loopback.response(b"<> <urn:x:says> 1 .", "text/turtle"),
        }
    )
    code, output = look(site.url("/"), "--json")
    assert code == 0
    assert [each["kind"] for each in json.loads(output)["doors"]] == ["linked pages"]


def test_pages_that_a_look_leaves_out_are_counted(loopback: Loopback) -> None:
    """If a site has more pages than a look reads, the last line has their number."""
    links = b"".join(b"<a href=/%d>a</a>" % n for n in range(20))
    site = loopback({"*": loopback.response(links, "text/html")})
    code, output = look(site.url("/?a&b"))
    assert code == 1
    (*_, none, left) = output.splitlines()
    assert none.startswith("no data was found")
    seeds = f"-a 'seeds={site.url('/?a&b')}' -a scope=host"
    assert left == (
        f"not read    18 linked pages: scrapy crawl linkeddata {seeds}"
        " -a follow=abox,hyperlink"
    )


def test_a_site_that_does_not_respond_is_no_site_without_data(
    loopback: Loopback,
) -> None:
    """If nothing listens at a URL, then the last line says so; HTTPS may be wrong."""
    port = loopback({}).port  # of another address
    place = f"//127.20.76.8:{port}/"
    for url in (f"http:{place}", f"ftp:{place}", place.strip("/")):
        code, output = look(url)
        assert code == 1
        last = output.splitlines()[-1]
        assert last.startswith("the site did not respond")
        assert (f"(http:{place}?)" in last) == (":/" not in url)


def test_a_site_that_does_not_respond_is_soon_left_alone(loopback: Loopback) -> None:
    """If robots.txt has no answer, then a look asks for nothing else."""
    site = loopback({"*": loopback.response(status="503 Service Unavailable")})
    code, output = look(site.url("/"))
    assert code == 1
    assert output.splitlines()[-1].startswith("the site did not respond")
    assert site.targets == ["/robots.txt"]


def test_an_interrupted_look_has_no_findings(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If Ctrl-C is pressed, then one line says so, and no finding is written."""
    site = loopback({"*": loopback.response(_NOTHING, "text/html")})
    given = (f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}", "-sDOWNLOAD_DELAY=20")
    words = ["-m", "scrapy", "look", site.url("/"), *given]
    told = tmp_path / "told"
    with told.open("wb") as out:
        process = shared_forks().start(words, out)
    commands.wait_until(lambda: site.targets)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 1
    assert told.read_text() == "scrapy: look: interrupted\n"


@pytest.mark.parametrize("path", ["/", "/dataset/x", "/api/3/action/package_list"])
def test_a_portal_is_found_that_nothing_names(path: str, loopback: Loopback) -> None:
    """If a portal is named by any of its URLs, then its API is the only door."""
    site = CkanSite(loopback, "127.20.76.2")
    site.dataset("lakes")
    code, output = look(site.at(path), "--json")
    assert code == 0
    (door,) = json.loads(output)["doors"]
    assert door["command"] == f"crawl ckan -a portals={site.at('/')}"


def test_services_are_found_that_nothing_names() -> None:
    """If the URL of a service is named, then the service is the first door."""
    address = "127.20.76.3"
    web = LocalWeb(first_address="127.20.76.4", n_hosts=1)
    with web, PlantedRepository(address) as repository:
        for site in (PlantedEndpoint(web), repository):
            ((url, spider),) = site.seeds()
            code, output = look(url, "--json")
            assert code == 0
            door = json.loads(output)["doors"][0]
            assert door["command"].startswith(f"crawl {spider} -a "), door
            assert door["command"].endswith(f"={url}")


def test_reservations_are_shown(loopback: Loopback) -> None:
    """If a page reserves uses of its content, then the look has its directives."""
    headers = {"X-Robots-Tag": "noai", "TDM-Reservation": "1"}
    page = loopback.response(b"<urn:x:s> <urn:x:p> 1 .", **headers)
    code, output = look(loopback({"/": page}).url("/"))
    assert code == 1
    assert "(200, tdm_reserved): 0 statements\n" in output
    assert "\nreserved    noai 1, reserved 1\n" in output


def test_a_host_that_leads_elsewhere_is_named(loopback: Loopback) -> None:
    """If the front page redirects to another host, then the target is shown."""
    site = loopback({"/": loopback.redirect("http://127.20.76.9:1/x")})
    code, output = look(site.url("/"))
    assert code == 1
    assert "(303, to http://127.20.76.9:1/x): 0 statements" in output


def test_the_command_is_quoted_for_a_shell(loopback: Loopback) -> None:
    """If a URL has characters of a shell, then the command has it as one word."""
    url = loopback({"*": loopback.response(b"<urn:x:s> <urn:x:p> 1 .")}).url("/?a&$(b)")
    code, output = look(url)
    assert code == 0
    command = output.splitlines()[-1].removeprefix("command")
    assert f"seeds={url}" in shlex.split(command)
    assert output.count("door ") == 1  # every URL has a response


@pytest.mark.parametrize("text", ["", "two words", "http://[::1", "data:,x"])
def test_a_text_that_names_no_site_is_refused(text: str) -> None:
    """If the operator names no site, then one line says so."""
    done = scrapy("look", text, *_GIVEN)
    assert done.returncode == 2
    assert "not a host" in done.stderr
