"""Sitemaps in all formats, good and bad."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.source_tasks import SitemapTask
from rdfcrawl.sources.sitemaps.entry import (
    ChangeFrequency,
    EntryExtension,
    SitemapFormat,
    SitemapLimits,
    may_list,
)
from tests.support.read_sitemaps import FULL, NS, URL, read, urls


def test_a_sitemap() -> None:
    """If a sitemap has all that the protocol has, then all of it comes out."""
    entries, sitemap, faults = read(FULL)
    assert not faults
    assert (sitemap.format, sitemap.n_read, sitemap.is_cut) == ("urlset", 3, False)
    first, second, third = entries
    assert first.url == ("http://www.example.com/catalog?item=12&desc=vacation_hawaii")
    assert first.lastmod is not None
    assert first.lastmod.text == "2004-12-23T18:00:15Z"
    assert first.changefreq is ChangeFrequency.WEEKLY
    assert first.priority == 0.3
    assert first.extensions == (
        EntryExtension(
            "image", (("loc", "http://www.example.com/a.jpg"), ("caption", "A & B"))
        ),
        EntryExtension(
            "link",
            (
                ("@rel", "alternate"),
                ("@hreflang", "de"),
                ("@href", "http://www.example.com/de"),
            ),
        ),
    )
    assert second.url == "http://www.example.com/?a=1&b=2"
    assert third.url == "http://www.example.com/x?a=1&b=2"
    assert [x.position for x in entries] == [0, 1, 2]


def test_an_index() -> None:
    """If a sitemap is an index, then its entries are sitemaps, but not itself."""
    entries, sitemap, faults = read(
        f"<sitemapindex {NS}><sitemap><loc>http://www.example.com/1.xml.gz</loc>"
        f"<lastmod>2004-10-01</lastmod></sitemap><sitemap><loc>{URL}</loc></sitemap>"
        "<url><loc>http://www.example.com/page</loc></url></sitemapindex>"
    )
    assert sitemap.format is SitemapFormat.INDEX
    assert [(x.url, x.is_sitemap) for x in entries] == [
        ("http://www.example.com/1.xml.gz", True),
        ("http://www.example.com/page", False),
    ]
    assert faults == {Reason.PAGING_LOOP: 1}


def test_a_list() -> None:
    """If a sitemap is a list of URLs, then each line is one; other lines are none."""
    entries, sitemap, faults = read(
        "\ufeff\r\n http://e.example/a \r\n\r\n# no\nHTTPS://E.example/b?x=1&y=2\r"
        "hello\n/c\nurn:e:d\nhttp://e.example/é\nhttp://e.example/last"
    )
    assert sitemap.format is SitemapFormat.TEXT
    assert [x.url for x in entries] == [
        "http://e.example/a",
        "https://e.example/b?x=1&y=2",
        "http://e.example/%C3%A9",
        "http://e.example/last",
    ]
    assert faults == {Reason.BAD_URI: 3}


def test_rss_2() -> None:
    """If a sitemap is RSS 2.0, then the items' links are its entries."""
    entries, sitemap, faults = read(
        "<rss version='2.0' xmlns:atom='http://www.w3.org/2005/Atom'><channel>"
        "<title>t</title><link>http://e/</link><atom:link rel='self' href='http://e/f'/>"
        "<image><url>http://e/i.png</url><link>http://e/</link></image>"
        "<item><title>A &amp;amp; B</title><link>http://e/1?a=1&amp;b=2</link>"
        "<pubDate>Sat, 07 Sep 2002 00:00:01 GMT</pubDate>"
        "<enclosure url='http://e/a.mp3' length='1' type='audio/mpeg'/></item>"
        "<item><guid>http://e/2</guid><pubDate>x</pubDate></item>"
        "<item><guid isPermaLink='false'>http://e/3</guid></item>"
        "<item><link/><atom:link href='http://e/4'/></item></channel></rss>"
    )
    assert sitemap.format is SitemapFormat.RSS
    assert [x.url for x in entries] == [
        "http://e/1?a=1&b=2",
        "http://e/2",
        "http://e/4",
    ]
    assert entries[0].lastmod is not None
    assert entries[0].lastmod.text == "2002-09-07T00:00:01Z"
    assert [x.kind for x in entries[0].extensions] == ["title", "enclosure"]
    assert faults == {Reason.SYNTAX: 1, Reason.BAD_URI: 1}


def test_rss_1() -> None:
    """If a sitemap is RSS 1.0, then its items are siblings of the channel."""
    entries, sitemap, _ = read(
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'"
        " xmlns='http://purl.org/rss/1.0/' xmlns:dc='http://purl.org/dc/elements/1.1/'>"
        "<channel rdf:about='http://e/f'><link>http://e/</link><items><rdf:Seq>"
        "<rdf:li resource='http://e/1'/></rdf:Seq></items></channel>"
        "<item rdf:about='http://e/1'><link>http://e/1</link><dc:date>2004-05</dc:date>"
        "</item><item rdf:about='http://e/2'/></rdf:RDF>"
    )
    assert sitemap.format is SitemapFormat.RSS_1
    assert [x.url for x in entries] == ["http://e/1", "http://e/2"]
    assert entries[0].lastmod is not None
    assert entries[0].lastmod.text == "2004-05"


def test_atom() -> None:
    """If a sitemap is Atom, then the alternate links are its entries."""
    entries, sitemap, faults = read(
        "<feed xmlns='http://www.w3.org/2005/Atom'><link href='http://e/'/>"
        "<entry><link rel='edit' href='http://e/edit'/><link href='/1?a&amp;b'/>"
        "<id>urn:x</id><updated>2005-07-31T12:29:29.2Z</updated><published>2004</published>"
        "<content type='xhtml'><div><a href='http://e/no'>no</a></div></content></entry>"
        "<entry xml:base='http://f/a/'><link rel='alternate' href='b'/></entry>"
        "<entry><content src='http://e/3'/></entry><entry><id>http://e/4</id></entry></feed>"
    )
    assert sitemap.format is SitemapFormat.ATOM
    assert [x.url for x in entries] == [
        "http://www.example.com/1?a&b",
        "http://f/a/b",
        "http://e/3",
    ]
    assert entries[0].lastmod is not None
    assert entries[0].lastmod.text == "2005-07-31T12:29:29.2Z"
    assert faults == {Reason.BAD_URI: 1}


def test_json_feed() -> None:
    """If a sitemap is a JSON Feed, then the URLs of its items are its entries."""
    entries, sitemap, faults = read(
        '{"items": [{"id": "1", "url": "http://e/1?a&b", "date_modified":'
        ' "2010-02-07T14:04:00-05:00"}, {"id": "2", "url": "/2",'
        ' "date_published": "2010"}, {"id": "http://e/3"}, "http://e/4", {"url": 5}],'
        ' "title": "", "version": "https://jsonfeed.org/version/1.1"}'
    )
    assert sitemap.format is SitemapFormat.JSON_FEED
    assert [x.url for x in entries] == ["http://e/1?a&b", "http://www.example.com/2"]
    dates = [x.lastmod.text for x in entries if x.lastmod]
    assert dates == ["2010-02-07T19:04:00Z", "2010"]
    assert faults == {Reason.REPAIRED: 1, Reason.BAD_URI: 3}


@pytest.mark.parametrize(
    ("body", "reason", "is_cut"),
    [
        (
            '{"version": "https://jsonfeed.org/version/1", "items": [{"url": "ht',
            Reason.INCOMPLETE,
            True,
        ),
        ('{"version": "https://jsonfeed.org/version/1"}', Reason.INCOMPLETE, True),
        ('{"a": "jsonfeed.org", "items": []}', Reason.UNKNOWN_FORMAT, False),
        ('{"items": ' + "[" * 100_000, Reason.INCOMPLETE, True),
        ('{"items": ["' + "a" * 9_000_000 + '"]}', Reason.TOO_LARGE, True),
    ],
    ids=["cut", "no items", "other", "deep", "large"],
)
def test_bad_json_feeds_have_no_entries(
    body: str, reason: Reason, *, is_cut: bool
) -> None:
    """If a JSON Feed is cut, too large or another document, then a fault says so."""
    entries, sitemap, faults = read(body)
    assert entries == []
    assert faults == {reason: 1}
    assert sitemap.is_cut is is_cut


@pytest.mark.parametrize(
    "body",
    [
        "<urlset><url><loc>http://e/a</loc></url></urlset>",
        (
            "<urlset xmlns='http://www.google.com/schemas/sitemap/0.84'>"
            "<url><loc>http://e/a</loc></url></urlset>"
        ),
        "<s:urlset><s:url><s:loc>http://e/a</s:loc></s:url></s:urlset>",
        "<URLSET><Url><LOC>http://e/a</LOC></Url></URLSET>",
        "\n\n <?xml version='1.0'?><urlset><url><loc>http://e/a</loc></url></urlset>",
        "<url><loc>http://e/a</loc></url>",
        "<urlset><url><loc>http://e/a</url></urlset>",
        "<urlset><url><loc>http://e/a<lastmod>2004</lastmod></urlset>",
        "<urlset><url><loc>http://e/a</loc>",
        "<urlset><url><loc>http://e/a</loc><lastmod>20",
        (
            "<urlset><url><loc>http://e/a</loc><priority>high</priority>"
            "<changefreq>sometimes</changefreq><lastmod>soon</lastmod></url></urlset>"
        ),
        (
            "<br />\n<b>Warning</b>: x in /y on line 3<br />\n"
            "<urlset><url><loc>http://e/a</loc></url></urlset>"
        ),
        "Notice: x\n<?xml version='1.0'?><urlset><url><loc>http://e/a</loc></url></urlset>",
        "<!DOCTYPE urlset><urlset><!-- <url> --><url><loc>http://e/a</loc></url></urlset>",
        "<urlset><url><loc>http://e/a</loc></url></urlset><urlset></urlset>trailing",
        "http://e/a",
    ],
)
def test_what_the_web_has(body: str) -> None:
    """If a sitemap is as broken as many are, then its URL is still read."""
    assert urls(body) == ["http://e/a"]
    assert urls(body.encode("utf-16")) == ["http://e/a"]


@pytest.mark.parametrize(
    "loc",
    [
        "",
        "page.html",
        "www.example.com/page",
        "gopher://e/a",
        "javascript:alert(1)",
        "http://e/a\n  b",
        "http://e/a\tb",
        "http://e/a http://e/b",
        "http://e/a<br/>b",
        "http://e/a&lt;b",
        "http://e/<b",
        "http://e/a</b",
        "http://",
        "http://e/" + "x" * 3000,
    ],
)
def test_no_url_is_invented(loc: str) -> None:
    """If the URL in a text is unknown, then there is no entry."""
    entries, _, faults = read(
        f"<urlset><url><loc>{loc}</loc></url><url><loc>http://e/2</loc></url></urlset>"
    )
    assert [x.url for x in entries] == ["http://e/2"]
    assert Reason.BAD_URI in faults


def test_a_path_is_resolved() -> None:
    """If a URL lacks scheme and host, then it is of the sitemap's."""
    body = "<urlset><url><loc>/a</loc></url></urlset>"
    assert urls(body) == ["http://www.example.com/a"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", Reason.EMPTY),
        (" \n ", Reason.EMPTY),
        ("<html><body>404</body></html>", Reason.UNKNOWN_FORMAT),
        ('{"urls": []}', Reason.UNKNOWN_FORMAT),
        ("\x00\x01\x02\x03", Reason.UNKNOWN_FORMAT),
        ("<a/>", Reason.UNKNOWN_FORMAT),
    ],
)
def test_what_is_no_sitemap(body: str, reason: Reason) -> None:
    """If a document is not a sitemap, then it is a fault, with any media type."""
    entries, _, faults = read(body, media_type="application/xml")
    assert not entries
    assert faults == {reason: 1}


def listing(n: int) -> str:
    """Return a sitemap of so many URLs."""
    body = "".join(f"<url><loc>http://e/{x}</loc></url>" for x in range(n))
    return f"<urlset>{body}</urlset>"


@pytest.mark.parametrize(
    "body", [listing(30), "\n".join(f"http://e/{n}" for n in range(30))]
)
def test_the_number_of_entries_is_bounded(body: str) -> None:
    """If a sitemap has more entries than allowed, then the first ones are kept."""
    entries, sitemap, faults = read(body, SitemapLimits(n_entries=20))
    assert len(entries) == 20
    assert faults == {Reason.TOO_MANY_ENTRIES: 1}
    assert sitemap.is_cut


@pytest.mark.parametrize("blank", ["\xa0", "\u2003", "\u200b", "\ufeff", "\u2028"])
def test_blanks_of_unicode_around_a_url_are_none_of_it(blank: str) -> None:
    """If a URL is between blanks of any kind, then it is that URL."""
    url = "http://e/x"
    assert urls(f"<urlset><url><loc>{blank}{url}{blank}</loc></url></urlset>") == [url]
    assert urls(f"{blank}{url}{blank}\n{blank}{url}/2\n") == [url, f"{url}/2"]


def test_second_loc_is_listed_too() -> None:
    """If a `url` has two `loc`s, then both are entries, and an image's is none."""
    body = (
        '<urlset xmlns:image="i"><url><loc>http://e/1</loc><loc>http://e/2</loc>'
        "<image:loc>http://e/3</image:loc><lastmod>2005</lastmod></url></urlset>"
    )
    entries, _, faults = read(body)
    assert [entry.url for entry in entries] == ["http://e/1", "http://e/2"]
    assert all(entry.lastmod for entry in entries)
    assert faults == {Reason.REPAIRED: 1}


@pytest.mark.parametrize(
    "head", ["# ours\n", "\n  # ours, of http://e/0\n\n#\r\n", "\ufeff# ours\r"]
)
def test_comments_may_stand_before_a_list(head: str) -> None:
    """If a list of URLs begins with comments, then it is still one."""
    entries, sitemap, faults = read(f"{head}http://e/1\n# more\nhttp://e/2\n")
    assert [entry.url for entry in entries] == ["http://e/1", "http://e/2"]
    assert sitemap.format is SitemapFormat.TEXT
    assert not faults


def test_links_of_a_feed_are_relative_to_its_base() -> None:
    """If a feed has an `xml:base`, then links and bases of entries begin there."""
    body = (
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://e.example/blog/">'
        '<entry><link href="1"/></entry>'
        '<entry xml:base="old/"><link href="2"/></entry></feed>'
    )
    assert urls(body) == ["http://e.example/blog/1", "http://e.example/blog/old/2"]


def test_an_entry_that_is_left_out_has_a_position() -> None:
    """If an entry has no URL, then those after it keep their positions."""
    body = listing(3).replace("http://e/1", "nothing")
    assert [entry.position for entry in read(body)[0]] == [0, 2]


@pytest.mark.parametrize(
    ("entry", "sitemap", "hosts", "is_allowed"),
    [
        ("http://a.example/x", "http://a.example/s.xml", (), True),
        ("https://a.example/x", "http://a.example/s.xml", (), True),
        ("http://a.example:8080/x", "http://a.example:8080/s.xml", (), True),
        ("http://a.example:22/x", "http://a.example/s.xml", (), False),
        ("http://www.a.example/x", "http://a.example/s.xml", (), False),
        ("http://b.example/x", "http://a.example/s.xml", (), False),
        ("http://b.example/x", "http://a.example/s.xml", ("b.example",), True),
        ("http://b.example:22/x", "http://a.example/s.xml", ("b.example",), False),
        ("http://b.example:22/x", "http://a.example/s.xml", ("b.example:22",), True),
        ("http://a.example.evil/x", "http://a.example/s.xml", (), False),
        ("http://a.example@evil.example/x", "http://a.example/s.xml", (), False),
        ("http://[::1]/x", "http://[::1]/s.xml", (), True),
        ("ftp://ftp.a.example/x", "https://www.a.example/s.xml", (), True),
        ("ftps://a.example/x", "https://www.a.example/s.xml", (), True),
        ("ftp://ftp.a.example:2121/x", "https://www.a.example/s.xml", (), False),
        ("ftp://ftp.b.example/x", "https://www.a.example/s.xml", (), False),
        ("ftp://you.github.io/x", "https://me.github.io/s.xml", (), False),
        ("ftp://x.co.uk/x", "https://y.co.uk/s.xml", (), False),
        ("ftp://10.0.0.1/x", "http://10.0.0.2/s.xml", (), False),
    ],
)
def test_who_may_list(
    entry: str, sitemap: str, hosts: tuple[str, ...], is_allowed: bool
) -> None:
    """If a URL is of another host, then its robots.txt must name the sitemap."""
    assert may_list(entry, sitemap, hosts) is is_allowed


def test_task_of_an_index_leads_below() -> None:
    """If a sitemap is an index, then its sitemaps are deeper, for the same hosts."""
    task = SitemapTask(depth=3, robots_hosts=("a.example",), is_confirming=True)
    assert task.below() == replace(task, depth=4)


def test_the_capability_of_resourcesync_is_read() -> None:
    """If a list is one of ResourceSync, then its capability is known."""
    _, sitemap, _ = read(
        "<urlset xmlns:rs='http://www.openarchives.org/rs/terms/'>"
        "<rs:md capability='resourcelist'/><url><loc>http://e/a</loc></url></urlset>"
    )
    assert sitemap.capability == "resourcelist"
