"""Responses that lead on by other means than usual redirects, in real crawls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from tests.conftest import RawRequest, RawServer, Reply
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

TURTLE = b"<urn:x:s> <urn:x:p> <urn:x:o> .\n"
REFRESH = '<meta http-equiv="refresh" content="{}">'
# Pages that browsers take for redirects to /doc/NAME, by name.
LEADING = {
    "usual": REFRESH.format("0; url=/doc/usual"),
    "upper": "<META HTTP-EQUIV=REFRESH CONTENT='0;URL=/doc/upper'>",
    "quoted": REFRESH.format("0; url='/doc/quoted'"),
    "no-name": REFRESH.format("0, /doc/no-name"),
    "fraction": REFRESH.format(" 0.0 ;url = /doc/fraction"),
    "base": '<base href="/doc/">' + REFRESH.format("0;url=base"),
    "entity": REFRESH.format("0; url=&#47;doc/entity"),
    "order": '<meta content="0; url=/doc/order" http-equiv=refresh />',
    "late": f"<!-- {'x' * 2000} --><style>a{{}}</style>"
    + REFRESH.format("0; url=/doc/late"),
}
# Pages that are documents, regardless of their statements about others.
STAYING = {
    "delayed": REFRESH.format("5; url=/doc/never"),
    "reload": REFRESH.format("0"),
    "itself": REFRESH.format("0; url=/stay/itself#a"),
    "script": REFRESH.format("0; url=javascript:a()"),
    "noscript": f"<noscript>{REFRESH.format('0; url=/doc/never')}</noscript>",
    "comment": f"<!--[if IE]>{REFRESH.format('0; url=/doc/never')}<![endif]-->",
    "in-script": f"<script>'{REFRESH.format('0; url=/doc/never')}'</script>",
    "forbidden": REFRESH.format("0; url=/private/x"),
    "open-comment": f"<!-- {REFRESH.format('0; url=/doc/never')}",
}
PAGE = (
    '<html><head>{}</head><body><div itemscope itemid="urn:x:s"><b itemprop="urn:x:p">'
)


class LeadingCrawl(NamedTuple):
    """One crawl of a host, and of another that it leads to."""

    main: RawServer
    away: RawServer
    result: CrawlResult

    def sent(self, target: str) -> list[str]:
        """Return the cookies of each request for a target; empty if it had none."""
        both = [*self.main.requests, *self.away.requests]
        return [x.headers.get("cookie", "") for x in both if x.target == target]


def with_cookies(loopback: Loopback, away: RawServer) -> dict[str, Reply]:
    """Return pages that set cookies, and want them back."""
    response, redirect = loopback.response, loopback.redirect

    def asking(request: RawRequest) -> bytes:
        """Redirect to the same URL until a request has the cookie."""
        if "seen=1" in request.headers.get("cookie", ""):
            return response(TURTLE)
        lines = b"Set-Cookie: seen=1; Path=/; HttpOnly\r\nSet-Cookie: old=1; Max-Age=0"
        return redirect(request.target).replace(b"\r\n", b"\r\n" + lines + b"\r\n", 1)

    def setting(target: str, *lines: str) -> bytes:
        head = "".join(f"Set-Cookie: {line}\r\n" for line in lines).encode()
        return redirect(target).replace(b"\r\n", b"\r\n" + head, 1)

    def kept(request: RawRequest) -> bytes:
        good = request.headers.get("cookie") == "a=b"
        return response(TURTLE) if good else response(status="403 Forbidden")

    return {
        "/asking": asking,
        "/on": setting(
            "/kept",
            "a=b",
            "c=d; Path=/elsewhere",
            "e=f; Secure",
            "g=h; Domain=example.org",
            "i=j; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        ),
        "/kept": kept,
        "/away": setting(away.url("/from-away"), "k=l"),
        "/endless": lambda request: setting(request.target, f"n={request.nth}"),
        "/same": lambda request: setting(request.target, "n=1"),
        "/plain": response(TURTLE),
    }


@pytest.fixture(scope="module", params=["own", "scrapy"])
def crawled(
    request: pytest.FixtureRequest, commands: Commands, loopback: Loopback
) -> LeadingCrawl:
    """Return a crawl of URIs that lead on, by our own requests and by Scrapy's."""
    host = f"127.68.0.{1 + (request.param == 'scrapy')}"
    away = loopback({"*": loopback.response(TURTLE)}, host=f"127.68.1{host[8:]}")
    pages: dict[str, Reply] = {
        "/robots.txt": loopback.response(
            b"User-agent: *\nDisallow: /private", "text/plain"
        ),
        "/choices": loopback.redirect("/doc/choices", "300 Multiple Choices"),
        "/no-choice": loopback.response(b"", status="300 Multiple Choices"),
        "/lead/away": page(loopback, REFRESH.format(f"0; url={away.url('/led')}")),
        "/lead/loop": page(loopback, REFRESH.format("0; url=/lead/back")),
        "/lead/back": page(loopback, REFRESH.format("0; url=/lead/loop")),
        **{f"/lead/{name}": page(loopback, head) for name, head in LEADING.items()},
        **{f"/stay/{name}": page(loopback, head) for name, head in STAYING.items()},
        **{f"/doc/{name}": loopback.response(TURTLE) for name in (*LEADING, "choices")},
        **with_cookies(loopback, away),
    }
    main = loopback(pages, host=host)
    seeds = [
        main.url(target)
        for target in pages
        if not target.startswith(("/doc", "/robots", "/kept", "/lead/back"))
    ]
    result = commands.crawl(seeds, FETCH_WITH_SCRAPY=request.param == "scrapy")
    assert result.code == 0, result.stderr
    return LeadingCrawl(main, away, result)


def page(loopback: Loopback, head: str) -> bytes:
    """Return a page with one statement."""
    return loopback.response(f"{PAGE.format(head)}v</b></div>".encode(), "text/html")


def test_choices_lead_to_the_preferred_one(crawled: LeadingCrawl) -> None:
    """If 300 has a `Location`, then it is a redirect; else it leads nowhere."""
    assert crawled.result.about(crawled.main.url("/doc/choices"))
    assert crawled.result.faults(crawled.main.url("/no-choice")) == [
        "redirect_bad_target"
    ]


def test_pages_that_only_lead_on_are_redirects(crawled: LeadingCrawl) -> None:
    """If a page is refreshed by another without delay, then that is the document."""
    main, result = crawled.main, crawled.result
    for name in LEADING:
        assert main.targets.count(f"/doc/{name}") == 1, name
        assert result.about(main.url(f"/doc/{name}")), name
        assert not result.about(main.url(f"/lead/{name}")), name
        assert not result.faults(main.url(f"/lead/{name}")), name
    assert result.about(crawled.away.url("/led"))
    assert not result.about(main.url("/lead/away"))


def test_other_pages_stay_documents(crawled: LeadingCrawl) -> None:
    """If a refresh has a delay, is no markup or must not be followed, it is a page."""
    main, result = crawled.main, crawled.result
    for target in (*(f"/stay/{name}" for name in STAYING), "/lead/back"):
        if target != "/stay/open-comment":  # nothing of it is a page
            assert result.about(main.url(target)), target
    assert "/private/x" not in main.targets
    assert "/doc/never" not in main.targets


def test_cookies_last_for_a_chain_of_redirects(crawled: LeadingCrawl) -> None:
    """If a redirect sets a cookie, then its target alone gets it."""
    main, result = crawled.main, crawled.result
    assert result.about(main.url("/asking"))
    assert crawled.sent("/asking") == ["", "seen=1"]
    assert result.about(main.url("/kept"))
    assert crawled.sent("/kept") == ["a=b"]
    assert crawled.sent("/from-away") == [""]
    assert result.about(crawled.away.url("/from-away"))
    assert {*crawled.sent("/plain"), *crawled.sent("/robots.txt")} == {""}


def test_cookies_lead_round_in_circles_for_a_while_only(crawled: LeadingCrawl) -> None:
    """If a site sets ever other cookies, or the same one, then the redirects end."""
    main, result = crawled.main, crawled.result
    assert result.faults(main.url("/endless")) == ["redirect_limit"]
    assert result.faults(main.url("/same")) == ["redirect_loop"]
    assert crawled.sent("/same") == ["", "n=1"]
