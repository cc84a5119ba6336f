"""Names that nothing has: the line that says so names the one that was meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from rdfcrawl.core.options.scrapy_settings import unknown_settings
from tests.support.pages import ROOT

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


@pytest.mark.parametrize(
    ("setting", "value", "part"),
    [
        ("LOG_LEVEL", "VERBOSE", "LOG_LEVEL='VERBOSE': must be one of CRITICAL, "),
        ("LOG_FILE", "/no/log", "LOG_FILE=/no/log: No such file or directory; name"),
        ("USER_AGENT", "a\nb", "USER_AGENT='a\\nb': must be one line of text"),
        ("ITEM_PIPELINES", '{"no.X": 1}', "ITEM_PIPELINES: 'no.X': No module named"),
        ("SPIDER_MIDDLEWARES", '{"re.Nope": 1}', "SPIDER_MIDDLEWARES: 're.Nope': "),
        ("TWISTED_REACTOR", "no.X", "TWISTED_REACTOR: 'no.X': No module named 'no'"),
    ],
)
def test_wrong_value_of_a_setting_of_scrapy_is_one_line(
    commands: Commands, setting: str, value: str, part: str
) -> None:
    """If a setting that Scrapy reads has a wrong value, then one line says so."""
    seeds = "-aseeds=http://127.0.0.1:8000/"
    given: dict[str, Any] = {setting: value}
    result = commands.start("crawl", "linkeddata", seeds, **given).wait()
    assert result.code == 2, result.stderr
    (line,) = result.stderr.splitlines()
    assert part in line


def test_folder_of_responses_that_is_a_file_is_one_line(commands: Commands) -> None:
    """If responses cannot be kept in the folder of a crawl, then one line says so."""
    folder = commands.folder()
    (folder / "linkeddata").mkdir()
    (folder / "linkeddata" / "spool").touch()
    words = ("crawl", "linkeddata", "-aseeds=http://127.0.0.1:8000/")
    result = commands.start(*words, folder=folder).wait()
    assert result.code == 2, result.stderr
    assert "CRAWL_DIR: cannot keep responses in " in result.stderr
    assert "Traceback" not in result.stderr


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


def test_settings_of_the_docs_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a table of the docs has a setting, then no command calls it unknown."""
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "rdfcrawl.settings")
    settings = Settings()
    for name in ("settings", "scrapy", "scrapy-redis"):
        page = (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
        first_cells = re.findall(r"^\| ([^|]*) \|", page, re.MULTILINE)
        for cell in first_cells:
            for known in re.findall(r"`([A-Z][A-Z_]{3,})`", cell):
                if known not in settings:
                    settings.set(known, "1", "cmdline")
    assert len(settings) > 300
    assert list(unknown_settings(settings)) == []
