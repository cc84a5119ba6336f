"""The page of a report in a real browser: on a phone, on a desk, and in print."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.analysis.measures.first_seen import ALL_TIMES
from rdfcrawl.analysis.report.activities import ActivityCounts
from rdfcrawl.analysis.report.domains import DomainFacts, gather
from rdfcrawl.analysis.report.making import make_report
from rdfcrawl.analysis.report.url_lists import UrlLists
from rdfcrawl.analysis.report.writing import write_report
from rdfcrawl.core.sorting import SpillFolder
from tests.support.page_browser import check_view, watched_page
from tests.support.report_facts import LOST, MOVED, read, uri

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

NAMES = (
    *(
        "a.example",
        "127.0.0.1",
        "www.example",
        "mmmwmm.example",
        "\u6771\u4eac.example",
    ),
    *(f"university-of-{word}.example" for word in ("a-place", "elsewhere", "art")),
    *(f"site-{n}.example" for n in range(12)),
)
SHARES = 0, 0.01, 0.3, 0.3, 0.9, 1, 1, 1
# Texts of a chart as boxes of its units.
BOXES = """svg => [...svg.querySelectorAll("text.name")].map(name => {
  const box = name.getBBox();
  return [name.textContent, box.x, box.y, box.x + box.width, box.y + box.height];
})"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of a report of twenty sites, many with the same measures."""
    folder: Path = tmp_path_factory.mktemp("report")
    random = Random(1)
    sites = [DomainFacts(name, _site(name, random)) for name in NAMES]
    with SpillFolder(folder) as spills:
        figures = gather(sites, ALL_TIMES, UrlLists(spills))
        report = make_report(figures, ActivityCounts(), title="Report", scope="All.")
        return write_report(report, folder)[0].as_uri()


def _site(name: str, random: Random) -> list[Any]:
    n_pages, share = random.choice((1, 3, 10)), random.choice(SHARES)
    return [
        uri(
            f"a-page-with-a-long-name/{n}?of={'words' * 9}",
            domain=name,
            listed=0 if n < share * n_pages else None,
            linked=n % 4,
            fetches=(LOST,)
            if n % 9 == 8
            else (MOVED,)
            if n % 9 == 7
            else (read(n % 3),),
            pagerank=0.5,
        )
        for n in range(n_pages)
    ]


def check_names(page: Page, width: int) -> None:
    """See that each dot of figures 3 to 5 has a name, and that no two overlap."""
    for key in ("figure-3", "figure-4", "figure-5a", "figure-5b"):
        boxes = page.locator(f"#figure-of-{key} svg").evaluate(BOXES)
        titles = page.locator(f"#figure-of-{key} circle title").all_text_contents()
        assert len(boxes) == len(titles) == len(NAMES)
        for place, (name, left, top, right, bottom) in enumerate(boxes):
            assert any(title.startswith(name.removesuffix("…")) for title in titles)
            assert 0 <= left < right <= 480
            for other, begin, above, end, below in boxes[:place]:
                is_apart = (
                    right <= begin or end <= left or bottom <= above or below <= top
                )
                assert is_apart, (width, key, name, other)


@pytest.mark.in_turn(2)
def test_report_is_readable_at_any_width(url: str, chromium: Browser) -> None:
    """If a report has twenty sites, then it fits a phone, and all names are legible.

    axe-core finds no violation in light or dark colours.
    """
    for width in (390, 800, 1440):
        size: Any = {"width": width, "height": 900}
        with watched_page(chromium, viewport=size) as page:
            if width == 390:
                check_view(page, url, width)
            page.goto(url)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            check_names(page, width)
    with watched_page(chromium, viewport={"width": 700, "height": 900}) as page:
        page.goto(url)
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth") <= 700
        check_names(page, 700)
