"""Names that nothing has: the line that says so names the one that was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("linkedata",), "unknown, perhaps linkeddata;"),
        (("linkeddata", "-aseed=http://a.example/"), "unknown, perhaps seeds;"),
        (("linkeddata", "-aseeds=a.example"), "is seeds=https://a.example/"),
        (("linkeddata", f"-aseeds={__file__}"), f"the file is seeds=@{__file__}"),
        (("sitemap", "-asites=a.example/x"), "the host is sites=https://a.example/x"),
    ],
)
def test_error_names_what_was_meant(
    commands: Commands, words: tuple[str, ...], part: str
) -> None:
    """If a name or a URL is wrong, then one line says which one is right."""
    result = commands.start("crawl", *words).wait()
    assert result.code == 2
    (line,) = [x for x in result.stderr.splitlines() if x.startswith("scrapy: ")]
    assert part in line


@pytest.mark.parametrize("command", ["crawl", "workers", "results"])
def test_settings_that_do_not_exist_are_named(commands: Commands, command: str) -> None:
    """If no setting has a name, then the command says so; it does not end for it."""
    words = {"crawl": ("linkeddata",), "workers": ("-n1", "linkeddata"), "results": ()}
    wrong: dict[str, Any] = {"DOWNLOAD_DELY": 0, "GREATEST": 3, "WARC_MAX_BYTES": 10**9}
    result = commands.start(command, *words[command], **wrong).wait()
    lines = [x for x in result.stderr.splitlines() if "neither Scrapy" in x]
    there_is_none = "neither Scrapy nor rdfcrawl has this setting"
    assert lines == [
        f"scrapy: -s DOWNLOAD_DELY: {there_is_none}, perhaps DOWNLOAD_DELAY",
        f"scrapy: -s GREATEST: {there_is_none}",
    ]
    assert result.code == (2 if command == "results" else 0)
