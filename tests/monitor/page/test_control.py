"""Control of a crawl of two spiders, as programs use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.page_answers import get, post
from tests.support.page_browser import serve_page
from tests.support.page_json import read_page_json

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


def test_seed_is_that_of_the_spider_that_is_named(
    commands: Commands, loopback: Loopback
) -> None:
    """If a crawl has two spiders, then a visitor says whose seed is added."""
    server = loopback(host="127.96.4.1")
    server.pages["*"] = loopback.response(b"<> <urn:x:p> <b> .")
    url, folder = server.url, commands.folder()
    given: dict[str, Any] = {"folder": folder, "CRAWL_ID": "two"}
    assert commands.crawl([url("/a")], **given).code == 0
    sites = {"sites": url("/sitemap.xml")}
    assert commands.crawl(spider="sitemap", arguments=sites, **given).code == 0
    page = serve_page(commands, folder, "--control", CRAWL_ID="two")

    asked = get(f"{page}/control", {"action": "add", "value": url("/new")}).text
    assert asked.index("<option>linkeddata") < asked.index("<option>sitemap")
    asked = get(f"{page}/control", {"action": "pause", "key": "a"}).text
    assert "<option" not in asked

    def add(path: str, spider: str) -> tuple[int, str]:
        fields = {"action": "add", "value": url(path), "spider": spider}
        answer = post(f"{page}/control", fields)
        return answer.status, answer.json.get("message") or answer.json["error"]

    status, told = add("/new", "nobody")
    assert (status, "are linkeddata, sitemap" in told) == (400, True)
    assert add("/new", "sitemap") == (200, f"{url('/new')}: queued")
    assert add("/other", "") == (200, f"{url('/other')}: queued")
    assert commands.crawl(**given).code == 0

    def spiders_of(path: str) -> list[str]:
        found = read_page_json(f"{page}/uri?u={url(path)}")["explanation"]["fetches"]
        return [each["spider"] for each in found]

    commands.wait_until(lambda: spiders_of("/new") and spiders_of("/other"))
    assert spiders_of("/new") == ["sitemap"]
    assert spiders_of("/other") == [""]  # the provenance does not name the first one
