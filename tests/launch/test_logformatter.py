"""Log lines that hold text of the web."""

from __future__ import annotations

import errno
import logging

import pytest
import scrapy

from rdfcrawl.core.errors import HeldBack, StoreFault, safe_text
from rdfcrawl.core.records import Document, Record
from rdfcrawl.launch.scrapy_classes import QuietLogFormatter, SafeFormatter


def _line(name: str, message: str, *args: object) -> str:
    record = logging.LogRecord(name, logging.ERROR, "x.py", 1, message, args, None)
    return SafeFormatter(logging.Formatter("%(message)s")).format(record)


@pytest.mark.parametrize(
    "name",
    ["rdfcrawl.downloader", "scrapy.core.scraper", "scrapy.core.engine", "a.user"],
)
def test_text_of_the_web_makes_no_line_of_its_own(name: str) -> None:
    """If an argument has line ends, then they are escaped for all loggers."""
    line = _line(name, "%s of %s", "a\nFORGED\x1b[2J", {"b": "\r\nFORGED"})
    assert "\n" not in line
    assert "\x1b" not in line


@pytest.mark.parametrize("name", ["middleware", "addons", "crawler"])
def test_lists_of_scrapy_stay_lists(name: str) -> None:
    """If Scrapy lists its components, then each is on a line."""
    line = _line(f"scrapy.{name}", "Enabled:\n%s", "['a',\n 'b']")
    assert line.split("\n") == ["Enabled:", "['a',", " 'b']"]


STEERS = [
    *range(0x20),
    0x7F,
    *range(0x80, 0xA0),  # C1: a terminal takes U+009B as ESC [
    0x61C,
    0x200E,
    0x200F,
    0x2028,
    0x2029,
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    0xD800,
    0xDFFF,
]


def test_no_character_steers_a_terminal() -> None:
    """If text has control or direction characters, then each of them is escaped."""
    for code in STEERS:
        sign = chr(code)
        assert sign not in safe_text(f"a{sign}b"), hex(code)
        assert safe_text(sign).startswith("\\"), hex(code)
        # As an argument, and in the message itself, where lines and columns may end.
        assert sign not in _line("rdfcrawl.downloader", "%s", f"a{sign}b"), hex(code)
        if sign not in "\t\n":
            assert sign not in _line("rdfcrawl.downloader", f"a{sign}b"), hex(code)
            assert sign not in _line("scrapy.crawler", f"a{sign}b"), hex(code)


def test_text_that_steers_nothing_stays() -> None:
    """If text is of any script, then it is shown unchanged."""
    for sign in " ~\xa0\u061b\u061dé字\u200d\u2027\u202f\u2065\u206a\ue000\U0001f600":
        assert safe_text(sign) == sign


def test_failure_is_indented_below_its_line() -> None:
    """If a line has a traceback, then text in it neither steers nor begins a line."""
    try:
        int("a\nFORGED\x9b2J")
    except ValueError as error:
        failure = type(error), error, error.__traceback__
    record = logging.LogRecord("a", 40, "x.py", 1, "failed", (), failure)
    text = SafeFormatter(logging.Formatter("%(message)s")).format(record)
    assert [line for line in text.split("\n")[1:] if not line.startswith("    ")] == []
    assert "\x9b" not in text


def test_numbers_are_formatted_as_numbers() -> None:
    """If arguments are numbers or have names, then their formats hold."""
    assert _line("a", "%d of %.1f: %s", 3, 2.25, "\x1b") == "3 of 2.2: \\x1b"
    assert _line("a", "%(n)d %(text)s", {"n": 3, "text": "\x1b"}) == "3 \\x1b"


FULL = OSError(errno.ENOSPC, "No space left on device")
DOCUMENT = Document(record=Record("http://a.example/"), url="http://a.example/")


@pytest.mark.parametrize(
    ("item", "error", "is_quiet"),
    [
        (DOCUMENT, StoreFault("no room", may_pass=True), True),
        (DOCUMENT, StoreFault("broken"), True),
        (DOCUMENT, HeldBack(), True),
        (DOCUMENT, FULL, True),
        (DOCUMENT, ValueError(), False),
        ({"url": "of a user"}, StoreFault("broken"), False),
        ({"url": "of a user"}, FULL, False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_documents_that_come_again_are_no_errors(
    item: object, error: Exception, *, is_quiet: bool
) -> None:
    """If a document goes back to the queue, then its line is no error of an item."""
    spider = scrapy.Spider("a")
    line = QuietLogFormatter().item_error(item, error, None, spider)
    assert (line["level"] < logging.ERROR) is is_quiet
