"""The view of a URI, in a real browser, and its data."""

from __future__ import annotations

import gzip
import json
import shutil
import urllib.error
import urllib.request
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import pytest
from scrapy.settings import Settings

from rdfcrawl.analysis.crawl_index.building import IndexBuilder
from rdfcrawl.analysis.crawl_index.tallies import all_tallies
from rdfcrawl.core.options.scrapy_settings import apply_defaults
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.monitor.explaining.explanation import FrontierFindings, explain_by_logs
from rdfcrawl.monitor.explaining.sources import SearchedLogs
from tests.support.page_browser import check_shown, serve_page, watched_page
from tests.support.written_logs import RawVersion, versions_in, write_log

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from rdfcrawl.monitor.explaining.values import UriExplanation
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

P = "http://p.example/p"
FAR = "http://127.0.28.9:8000/far"
SCRIPT = "</script><script>window.pwned=1</script><img src=x onerror='window.pwned=2'>"
BIDI = "abc\u202egpj.exe\u2066x\u200b"
PAGE = f"""<!DOCTYPE html><html><head><title>{SCRIPT}</title>
<script type="application/ld+json">{{"@id": "#x", "http://p.example/p": "ld"}}</script>
</head><body vocab="http://schema.org/" typeof="Thing">
<span property="name">&lt;script&gt;window.pwned=3&lt;/script&gt;</span>
</body></html>"""


class ShownCrawl(NamedTuple):
    """A finished crawl, and the page that shows it.

    Attributes:
        root: of its logs.
        site: URL of its site, without a slash.
        page: URL of the page.
    """

    root: Path
    site: str
    page: str

    def at(self, uri: str, **more: str) -> str:
        """Return the address of the view of a URI."""
        query = "".join(f"&{name}={quote(value)}" for name, value in more.items())
        return f"{self.page}/uri?u={quote(uri, safe='')}{query}"

    def told(self, uri: str) -> Any:
        """Return the view of a URI as JSON."""
        with urllib.request.urlopen(self.at(uri, format="json")) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def crawled(commands: Commands, loopback: Loopback) -> ShownCrawl:
    """Return a finished crawl of a site with something of everything."""
    server = loopback({}, host="127.0.28.1")
    url = server.url
    hostile = "".join(
        f"<> <{P}> {json.dumps(text)} .\n"
        for text in (SCRIPT, BIDI, "long " * 20_000, "javascript:alert(1)")
    )
    hostile += f"<> <{P}> <javascript:window.pwned=4> .\n"
    names = ("a", "moved", "dump.nt.gz", "page", "secret", "bad.ttl", "%3Cscript%3E")
    links = [*map(url, (f"/{name}" for name in names)), FAR, url("/hostile")]
    dump = gzip.compress(f"<{url('/s')}> <{P}> <{url('/t')}> .\n".encode())
    server.pages |= {
        "/robots.txt": loopback.response(
            b"User-agent: *\nDisallow: /secret\n", "text/plain"
        ),
        "/": loopback.response("".join(f"<> <{P}> <{x}> .\n" for x in links).encode()),
        "/a": loopback.response(f"<> <{P}> <{url('/deep')}> .".encode()),
        "/moved": loopback.redirect(url("/new")),
        "/new": loopback.response(f"<> <{P}> 'new' .".encode()),
        "/dump.nt.gz": loopback.response(dump, "application/gzip"),
        "/page": loopback.response(PAGE.encode(), "text/html"),
        "/bad.ttl": loopback.response(f"<> <{P}> {SCRIPT}".encode()),
        "/%3Cscript%3E": loopback.response(f"<> <{P}> 'x' .".encode()),
        "/hostile": loopback.response(hostile.encode()),
    }
    result = commands.crawl([url("/")], arguments={"scope": "host", "depth": 1})
    assert result.code == 0, result.stderr
    quads = f'<{url("/a")}> <{P}> "later" <{url("/a")}> .\n'.encode()
    write_log(result.folder, [RawVersion(url("/a"), 4_000_000_000_000, quads)], "z")
    page = serve_page(commands, result.folder.parent)
    found = ShownCrawl(result.folder, url("/").rstrip("/"), page)
    commands.wait_until(lambda: not found.told(url("/a"))["is_behind"])
    return found


def show(page: Page, crawled: ShownCrawl, uri: str, **more: str) -> str:
    """Open the view of a URI; return its text."""
    page.goto(crawled.at(uri, **more))
    return page.locator("main").inner_text()


@pytest.mark.in_turn(2, rooms=("monitor/explaining",))
def test_each_fate_is_shown_with_its_cause(
    crawled: ShownCrawl, chromium: Browser
) -> None:
    """If a URI has met some fate, then its view says which, and why."""
    site = crawled.site
    with watched_page(chromium) as page:
        text = show(page, crawled, f"{site}/a")
        assert "was fetched" in text
        assert page.locator(".way li").all_inner_texts()[0].startswith(f"{site}/ ")
        assert "by content-type" in text

        text = show(page, crawled, f"{site}/moved")
        hops = page.locator(".hops li").all_inner_texts()
        assert hops == [f"{site}/moved", f"{site}/new"]
        text = show(page, crawled, f"{site}/new")
        assert "was fetched as the target of a redirect" in text

        assert "packed in gzip" in show(page, crawled, f"{site}/dump.nt.gz")
        text = show(page, crawled, f"{site}/page")
        assert "json-ld 1" in text
        assert "rdfa " in text

        text = show(page, crawled, f"{site}/secret")
        assert "was queued, and not requested" in text
        assert "robots_disallowed" in text
        assert "disallowed" in page.locator(".about").first.inner_text()

        text = show(page, crawled, FAR)
        assert "was found, and not queued" in text
        assert "out_of_scope" in text
        text = show(page, crawled, f"{site}/deep")
        assert "too_deep" in text

        text = show(page, crawled, f"{site}/nowhere")
        assert "was never seen" in text
        assert "cannot be crawled" in show(page, crawled, "http://exa mple/")


def test_versions_are_compared(crawled: ShownCrawl, chromium: Browser) -> None:
    """If a document has two versions, then the view shows the difference."""
    uri = f"{crawled.site}/a"
    with watched_page(chromium) as page:
        show(page, crawled, uri)
        assert "1 added, 1 removed, 0 kept" in page.locator("main").inner_text()
        assert '"later"' in page.locator(".statements ins").inner_text()
        assert "/deep" in page.locator(".statements del").inner_text()
        earlier = page.locator("#version option").nth(1).get_attribute("value") or ""
        page.select_option("#version", earlier)
        page.get_by_role("button", name="Show").click()
        turtle = page.locator("pre.statements").last.inner_text()
        assert "/deep>" in turtle
        assert '"later"' not in turtle


def test_hostile_data_is_shown_as_text(crawled: ShownCrawl, chromium: Browser) -> None:
    """If literals and URLs are code, then nothing runs, and all is shown as text."""
    site = crawled.site
    with watched_page(chromium) as page:
        for uri in (
            *(f"{site}/hostile", f"{site}/page", f"{site}/bad.ttl"),
            *(f"{site}/%3Cscript%3E", "javascript:window.pwned=5", SCRIPT, BIDI),
            f'{site}/"><script>window.pwned=6</script>',
        ):
            show(page, crawled, uri)
            assert page.evaluate("window.pwned") is None
            assert page.locator("main script, main img").count() == 0
            for href in page.locator("a").evaluate_all(
                "links => links.map(link => link.getAttribute('href'))"
            ):
                assert href.startswith(("/", "#"))
        text = show(page, crawled, f"{site}/hostile")
        assert "onerror=" in text
        assert "abc\\u202Egpj.exe\\u2066x\\u200B" in text
        assert "more characters)" in text
        assert len(page.content()) < 100_000
        assert page.evaluate(
            "document.documentElement.scrollWidth <= window.innerWidth"
        )


def test_statements_are_downloaded_as_no_page(crawled: ShownCrawl) -> None:
    """If statements are downloaded, then as a file that no browser renders."""
    uri = quote(f"{crawled.site}/hostile", safe="")
    for form in ("ttl", "nq"):
        address = f"{crawled.page}/uri/statements?u={uri}&format={form}"
        with urllib.request.urlopen(address) as answer:
            assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Content-Disposition"].startswith("attachment")
            body = answer.read().decode()
        assert "long " * 20_000 in body
    for query in ("u=http://nowhere.example/", f"u={uri}&format=html", ""):
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{crawled.page}/uri/statements?{query}")


def test_start_has_documents_and_faults(crawled: ShownCrawl, chromium: Browser) -> None:
    """If no URI is given, then recent documents and faults are linked."""
    with watched_page(chromium, viewport={"width": 320, "height": 700}) as page:
        page.goto(f"{crawled.page}/uri")
        assert page.evaluate(
            "document.documentElement.scrollWidth <= window.innerWidth"
        )
        faulty = page.get_by_role("row", name="robots_disallowed").last
        faulty.get_by_role("link").click()
        assert page.locator(".answer .uri").inner_text() == f"{crawled.site}/secret"
        page.get_by_label("URI, in any spelling").fill(f"{crawled.site}/%61")
        page.get_by_role("button", name="Explain").click()
        assert "was fetched" in page.locator(".answer").inner_text()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    "uri",
    [
        *("{site}/a", "{site}/secret", "{site}/nowhere", "{site}/page"),
        *("", FAR, "http://exa mple/", "{site}/hostile"),
    ],
)
def test_answers_break_no_rule_of_axe(
    crawled: ShownCrawl, chromium: Browser, uri: str
) -> None:
    """If any answer is shown, then axe-core finds no violation.

    Nor is it wider than the window.
    """
    uri = uri.replace("{site}", crawled.site)
    wide: Any = {"width": 1600, "height": 900}
    narrow: Any = {"width": 320, "height": 900}
    with watched_page(chromium, viewport=narrow) as page:
        show(page, crawled, uri)
        check_shown(page, uri, 320)
        page.set_viewport_size(wide)
        assert page.evaluate("document.documentElement.scrollWidth") <= 1600


def test_answers_by_index_are_those_by_scanning(
    crawled: ShownCrawl, tmp_path: Path
) -> None:
    """If an index names the members of a URI, then the answer is that of all members.

    The index may be complete, or behind, or bounded.
    """
    root = tmp_path / "linkeddata"
    ignored = shutil.ignore_patterns("frontier", "page")
    shutil.copytree(crawled.root, root, ignore=ignored)
    settings = Settings({"CRAWL_DIR": str(tmp_path)})
    apply_defaults(settings)
    options = CrawlOptions.from_settings(settings, "linkeddata")

    def ask(uri: str, logs: SearchedLogs) -> UriExplanation:
        return explain_by_logs(uri, uri, FrontierFindings(None), options, logs)

    site = crawled.site
    uris = {FAR, f"{site}/nowhere", f"{site}/secret", f"{site}/%61", f"{site}/new"}
    uris |= {document.graph for document in versions_in(root)}
    plain = SearchedLogs(root)
    scanned = {uri: ask(uri, plain) for uri in uris}
    assert len({each.verdict for each in scanned.values()}) > 3
    form = options.normal_form
    for n_read in (2, 1_000_000):
        with closing(IndexBuilder(root, all_tallies(form))) as builder:
            turns = iter([False] * (n_read - 1))
            builder.catch_up(partial(next, turns, True))
        for uri in uris:
            logs = SearchedLogs.indexed(root, form)
            assert ask(uri, logs) == scanned[uri]
            assert logs.n_unread_bytes < plain.n_unread_bytes
            assert bool(logs.n_unread_bytes) == (n_read == 2)
    bounded = {"most_bytes": 0, "most_members": 24, "most_member_bytes": 1 << 20}
    for uri in uris:
        assert ask(uri, SearchedLogs.indexed(root, form, **bounded)) == scanned[uri]
