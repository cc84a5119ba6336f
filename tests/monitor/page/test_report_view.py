"""The report on the page: made on request, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from rdfcrawl.analysis.verifications import NUMBERS
from tests.support.page_answers import get
from tests.support.page_browser import check_shown, serve_page, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


@pytest.fixture(scope="module")
def url(commands: Commands, loopback: Loopback) -> str:
    """Return the URL of the page of a finished crawl."""
    server = loopback()
    server.pages["*"] = loopback.response(b"<> <urn:x:p> <b> .")
    result = commands.crawl([server.url("/a")])
    assert result.code == 0, result.stderr
    server.pages["/b"] = loopback.response(b"<> <urn:x:p> <c> .")
    folder = result.folder.parent
    compared = commands.start(
        "verify", server.url("/"), folder=folder, CRAWL_ID="linkeddata"
    ).wait()
    assert compared.code == 1, compared.stderr
    return serve_page(commands, result.folder.parent)


@pytest.mark.in_turn(2, rooms=("analysis/report",))
def test_report_is_made_and_shown(url: str, chromium: Browser) -> None:
    """If a visitor requests a report, then it is made, and appears by itself."""
    with watched_page(chromium) as page:
        page.goto(f"{url}/report")
        assert "No report was made yet" in page.locator("main").inner_text()
        page.get_by_role("button", name="Make now").click()
        growth = page.get_by_role("img", name="Documents stored, by day")
        expect(growth).to_be_visible(timeout=60_000)
        assert growth.locator("rect").first.evaluate("it => getComputedStyle(it).fill")
        outcomes = page.get_by_role("region", name="Outcomes").locator("tbody tr")
        assert "SUCCESSFUL" in outcomes.first.inner_text()
        check_shown(page, "/report", 1280)
        page.get_by_role("link", name="Open the report").click(timeout=60_000)
        assert page.title() == "Report of the crawl linkeddata"
        # Its style is applied under its own policy.
        assert page.locator("main").count() == 1
        assert page.evaluate("getComputedStyle(document.body).margin") != "8px"


def test_report_is_had_as_files(url: str, commands: Commands) -> None:
    """If there is a report, then all of it is JSON, and each item CSV."""
    get(f"{url}/report", {"make": "1"})

    def is_made() -> bool:
        return get(f"{url}/report", {"format": "json"}).json["making"] is None

    commands.wait_until(is_made)
    found = get(f"{url}/report", {"format": "json"}).json
    assert found["report"]["outcomes"]
    n_pages, fresh, low, high = found["report"]["freshness"]
    assert n_pages >= 1
    assert 0 <= low <= fresh <= high <= 1
    assert found["refusal"] == ""
    item = found["report"]["parts"][0]["items"][0]["key"]
    assert get(f"{url}/report/file", {"name": f"{item}.csv"}).text.startswith("series,")
    assert get(f"{url}/report/file", {"name": "report.json"}).json["sections"]
    page = get(f"{url}/report/page", {})
    assert page.headers["Content-Security-Policy"].endswith("; sandbox")


def test_the_last_comparison_with_a_site_is_shown(url: str, commands: Commands) -> None:
    """If documents were compared with their site, the result is shown by source."""
    found = get(f"{url}/report", {"format": "json"}).json
    assert found["n_verified"] == len(found["verified"])
    (linked,) = [x for x in found["verified"] if x["kind"] == "linked pages"]
    assert linked["stale"] == 1
    assert linked["equal"] >= 1
    assert not linked["is_full"]
    assert linked["ended"].endswith("Z")
    assert "linked pages" in get(f"{url}/report", {}).text
    elsewhere = {"site": "other.example"}
    assert "No site was compared yet" in get(f"{url}/report", elsewhere).text
    get(f"{url}/report", {"make": "1"})
    table = {"name": "verified.csv"}
    commands.wait_until(lambda: get(f"{url}/report/file", table).status == 200)
    rows = get(f"{url}/report/file", table).text.splitlines()
    assert rows[0] == f"site,source,name,{','.join(NUMBERS)},pages,UTC"
    assert f"{linked['site']},linked pages,{linked['name']}," in "\n".join(rows)


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/report/file", {"name": "../index.sqlite"}, 404),
        ("/report/file", {"name": "report.html"}, 404),
        ("/report", {"site": "../../x"}, 400),
        ("/report/page", {"site": "other.example"}, 404),
    ],
)
def test_names_do_not_lead_out_of_the_report(
    url: str, path: str, query: dict[str, str], status: int
) -> None:
    """If a name is that of no report, then nothing is read for it."""
    assert get(f"{url}{path}", query).status == status


def test_other_sites_have_no_report_made(url: str) -> None:
    """If another site has led to it, then no report is made."""
    answer = get(f"{url}/report", {"make": "1"}, {"Sec-Fetch-Site": "cross-site"})
    assert answer.status == 403
