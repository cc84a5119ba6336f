"""The view of classes and properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.page_answers import get
from tests.support.page_browser import check_view, serve_page, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

FOAF = "http://xmlns.com/foaf/0.1/"
CODE = '"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def url(commands: Commands, loopback: Loopback) -> str:
    """Return the URL of the page of a crawl of a document with many properties."""
    lines = [f"<#{n}> a <{FOAF}Person> ; <{FOAF}name> 'n{n}' ." for n in range(5)]
    lines += [f"<#x> <urn:p{n}:q> {CODE!r}@en ." for n in range(120)]
    content = "\n".join(lines).encode()
    server = loopback({"/a": loopback.response(content)})
    result = commands.crawl([server.url("/a")])
    assert result.code == 0, result.stderr
    found = serve_page(commands, result.folder.parent)
    commands.wait_until(lambda: view(found, "/classes")["kinds"][0]["rows"])
    return found


def view(url: str, path: str, **query: str) -> Any:
    """Return a view as JSON."""
    return get(f"{url}{path}", query | {"format": "json"}).json


def test_terms_are_chosen_by_facets(url: str) -> None:
    """If terms are chosen by kind, vocabulary or name, then they have their counts."""
    both = view(url, "/classes")
    assert [x["kind"] for x in both["kinds"]] == ["class", "property"]
    assert both["kinds"][0]["rows"] == [
        {"kind": "class", "term": f"{FOAF}Person", "n": 5}
    ]
    assert (both["kinds"][1]["n_rows"], len(both["kinds"][1]["rows"])) == (122, 25)
    assert both["spaces"][0] == {"space": FOAF, "n_terms": 2, "n": 10}
    (of_foaf,) = view(url, "/classes", space=FOAF, kind="property")["kinds"]
    assert [(x["term"], x["n"]) for x in of_foaf["rows"]] == [(f"{FOAF}name", 5)]
    second = view(url, "/classes", kind="property", page="2")
    assert (second["n_pages"], len(second["kinds"][0]["rows"])) == (2, 22)
    (named,) = view(url, "/classes", q="P11:", kind="property")["kinds"]
    assert [x["term"] for x in named["rows"]] == ["urn:p11:q"]
    assert get(f"{url}/classes", {"kind": "thing"}).status == 400


def test_term_has_samples_and_queries_that_work(url: str) -> None:
    """If a term is chosen, then it has samples, and queries with answers."""
    found = view(url, "/term", kind="class", u=f"{FOAF}Person")
    assert found["n"] == 5
    (sample,) = found["samples"]
    assert sample["subject"].startswith(f"<{sample['document']}#")
    for each in found["queries"]:
        assert view(url, "/query", q=each["query"])["answer"]["n_rows"]
    assert get(f"{url}/term", {"kind": "class", "u": "urn:none"}).status == 404


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("width", [320, 1440])
def test_views_are_accessible_and_hostile_terms_text(
    url: str, chromium: Browser, width: int
) -> None:
    """If literals are code, then they are text; no view breaks a rule of axe-core."""
    allowed = ("status of 404",)
    size: Any = {"width": width, "height": 900}
    with watched_page(chromium, allowed=allowed, viewport=size) as page:
        for path in (
            "/classes",
            f"/classes?space={FOAF}",
            "/classes?kind=property&page=2",
            "/term?kind=property&u=urn:none",
            "/term?kind=property&u=urn:p1:q",
        ):
            check_view(page, f"{url}{path}", width)
        assert "<script>" in page.get_by_role("region", name="Samples").inner_text()
        assert page.locator("main script").count() == 0
