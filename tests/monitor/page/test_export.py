"""Downloads of the statements of a crawl from its page."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING
from urllib.request import Request

import pytest

from rdfcrawl.monitor.page.views.export import FORMATS
from tests.support.exporting import open_directly
from tests.support.page_answers import get
from tests.support.page_browser import serve_page

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


@pytest.fixture(scope="module")
def url(commands: Commands, loopback: Loopback) -> str:
    """Return the URL of the page of a crawl of one document."""
    server = loopback(
        {"/a": loopback.response(b'<> a <urn:x:T> ; <urn:x:p> "v", "w" .')}
    )
    return serve_page(commands, commands.crawl([server.url("/a")]).folder.parent)


@pytest.mark.parametrize("form", FORMATS)
def test_statements_are_downloaded(url: str, form: str) -> None:
    """If a visitor downloads the statements, then the file has all of them."""
    with open_directly(Request(f"{url}/export/file?as={form}")) as answer:
        content = gzip.decompress(answer.read()).decode()
        place = answer.headers["Content-Disposition"]
    assert place == f'attachment; filename="linkeddata.{form}"'
    assert '"v"' in content
    assert '"w"' in content


def test_downloads_of_other_kinds_are_refused(url: str) -> None:
    """If a format is unknown, or another site asks, then nothing is exported."""
    assert get(f"{url}/export/file", {"as": "exe"}).status == 400
    foreign = {"Sec-Fetch-Site": "cross-site"}
    assert get(f"{url}/export/file", {"as": "nt.gz"}, foreign).status == 403


def test_commands_name_the_crawl(url: str) -> None:
    """If other formats are wanted, then the page has the commands for this crawl."""
    commands = get(f"{url}/export", {"format": "json"}).json["commands"]
    assert "scrapy export -s CRAWL_ID=linkeddata --to crawl.parquet" in commands
