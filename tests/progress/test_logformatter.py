"""Log lines that hold text of the web."""

from __future__ import annotations

import logging

import pytest

from rdfcrawl.progress.logformatter import SafeFormatter


def _line(name: str, message: str, *args: object) -> str:
    record = logging.LogRecord(name, logging.ERROR, "x.py", 1, message, args, None)
    return SafeFormatter(logging.Formatter("%(message)s")).format(record)


@pytest.mark.parametrize(
    "name", ["rdfcrawl.fetch", "scrapy.core.scraper", "scrapy.core.engine", "a.user"]
)
def test_text_of_the_web_makes_no_line_of_its_own(name: str) -> None:
    """If an argument has line ends, then they are escaped, whoever logs it."""
    line = _line(name, "%s of %s", "a\nFORGED\x1b[2J", {"b": "\r\nFORGED"})
    assert "\n" not in line
    assert "\x1b" not in line


def test_lists_of_scrapy_stay_lists() -> None:
    """If Scrapy lists its components, then each is on a line."""
    line = _line("scrapy.middleware", "Enabled:\n%s", "['a',\n 'b']")
    assert line.split("\n") == ["Enabled:", "['a',", " 'b']"]
