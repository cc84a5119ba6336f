"""The commands of the guide "Crawl the product pages of a shop" work as described."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.otherweb.wanted_sites import WantedShop
from tests.support.command_forks import scrapy
from tests.support.pages import commands_in, read_page

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands

_SHOP = "https://shop.example"


def test_products_of_a_shop(commands: Commands) -> None:
    """If the commands are typed, then products come, then reasons, then the rest."""
    page, folder = read_page("wanted-pages.md"), commands.folder()
    site = WantedShop("127.81.9.77", 120)
    site.start()
    try:
        crawl, explain, retry = (
            [word.replace(_SHOP, site.root) for word in words[1:]]
            for words in commands_in(page)
        )
        few = {"WANT_TRIES": 4, "WANT_EXPLORATION": 0.0}
        result = commands.start(*crawl, folder=folder, **few).wait()
        assert result.code == 0, result.stderr
        assert {site.url(f"/p/{i}") for i in range(120)} <= result.graphs
        shown = "URLs not requested, of forms that led to nothing wanted ("
        assert shown in page
        assert shown in result.stderr
        asked = {request.target for request in site.requests}
        left = next(i for i in range(120) if f"/picture/{i}" not in asked)
        words = [word.replace("/picture/77", f"/picture/{left}") for word in explain]
        told = scrapy(*words, f"-sCRAWL_DIR={folder}", "-sCRAWL_ID=linkeddata").stdout
        for part in ("was queued, and not requested, as", "(form /picture/#)"):
            assert part in page
            assert part in told
        again = commands.start(*retry, folder=folder, **few).wait()
        assert again.code == 0, again.stderr
        asked = {request.target for request in site.requests}
        assert asked >= {f"/picture/{i}" for i in range(120)}
    finally:
        site.stop()
