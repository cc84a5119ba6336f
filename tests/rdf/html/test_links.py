"""Links that pages state."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.formats import Link, Relation
from rdfcrawl.rdf.html.page import ParsedPage
from rdfcrawl.rdf.html.page_links import MAX_LINKS, has_links_in_body, links_of_page
from rdfcrawl.uri import BadUri, requestable
from tests.support.examples import examples

URL = "http://a.example/dir/page"


def links(html: str, *, hyper: bool = True, log: FaultLog | None = None) -> set[Link]:
    """Return the links of a page."""
    page = ParsedPage(html.encode(), url=URL)
    return links_of_page(page, wants_hyperlinks=hyper, log=log or FaultLog())


@pytest.mark.parametrize(
    ("html", "link"),
    [
        (
            "<link rel=alternate type='text/turtle; charset=utf-8' href=x.ttl>",
            Link("http://a.example/dir/x.ttl", Relation.ALTERNATE, "text/turtle"),
        ),
        (
            "<link rel='meta Alternate' type=APPLICATION/RDF+XML href=/x>",
            Link("http://a.example/x", Relation.ALTERNATE, "application/rdf+xml"),
        ),
        (
            "<link rel=describedby href=//b.example/d>",
            Link("http://b.example/d", Relation.DESCRIBEDBY),
        ),
        (
            "<link rel=linkset type=application/linkset+json href=l>",
            Link(
                "http://a.example/dir/l", Relation.LINKSET, "application/linkset+json"
            ),
        ),
        ("<link rel=canonical href=c#f>", Link(f"{URL[:-4]}c", Relation.CANONICAL)),
        ("<link rel=next href='?p=2'>", Link(f"{URL}?p=2", Relation.NEXT)),
        (
            "</head><body><p>x<a class=b rel='nofollow next' href='?p=2'>",
            Link(f"{URL}?p=2", Relation.NEXT),
        ),
        (
            "<link rel='canonical describedby' href=/c>",
            Link("http://a.example/c", Relation.DESCRIBEDBY),
        ),
        (
            "<base href=http://b.example/b/><link rel=next href=c>",
            Link("http://b.example/b/c", Relation.NEXT),
        ),
    ],
)
def test_links_with_a_relation_are_always_found(html: str, link: Link) -> None:
    """If a page states a relation, then it is a link, wanted hyperlinks or not."""
    assert links(html, hyper=False) == {link}
    assert links("<head>" + html, hyper=True) == {link}


@pytest.mark.parametrize(
    "html",
    [
        "<link rel=alternate type=text/html hreflang=fr href=/fr>",
        "<link rel=alternate type=application/rss+xml href=/feed>",
        "<link rel=alternate href=/fr>",
        "<link rel='stylesheet prev icon' href=/s>",
        "<link rel=canonical href=page#top>",
        "<link rel=next href='#2'><link rel=next href=''><link rel=next>",
        "<a rel=next href='javascript:x'>",
        "<!-- <link rel=next href=/a> --><script>'<link rel=next href=/a>'</script>",
        "<template><link rel=next href=/a></template>",
    ],
)
def test_what_is_no_data_is_no_link(html: str) -> None:
    """If a relation leads to no data, to nowhere or to the page, then it is none."""
    assert links(html) == set()
    assert links(html, hyper=False) == set()


@pytest.mark.parametrize(
    ("html", "url", "relation"),
    [
        ("<a href=x>", "http://a.example/dir/x", Relation.HYPERLINK),
        ("<a href=' /x '>", "http://a.example/x", Relation.HYPERLINK),
        ("<a href='/\\b.example/x'>", "http://b.example/x", Relation.HYPERLINK),
        ("<a href='/../x/./y#f'>", "http://a.example/x/y", Relation.HYPERLINK),
        ("<a href='/é'>", "http://a.example/%C3%A9", Relation.HYPERLINK),
        ("<map><area href=x></map>", "http://a.example/dir/x", Relation.HYPERLINK),
        ("<a rel='NoFollow me' href=/x>", "http://a.example/x", Relation.NOFOLLOW),
        ("<a rel=ugc href=/x>", "http://a.example/x", Relation.NOFOLLOW),
        ("<a rel=sponsored href=/x>", "http://a.example/x", Relation.NOFOLLOW),
        (
            "<meta name=robots content=none><a href=/x>",
            "http://a.example/x",
            "nofollow",
        ),
        (
            "<meta name=Robots content='noindex,NOFOLLOW'><a href=/x>",
            "http://a.example/x",
            "nofollow",
        ),
        (
            "<meta name=googlebot content=nofollow><a href=/x>",
            "http://a.example/x",
            "hyperlink",
        ),
    ],
)
def test_hyperlinks_are_found_when_wanted(html: str, url: str, relation: str) -> None:
    """If hyperlinks are wanted, then they are found, and whether they are vouched."""
    assert links(html) == {Link(url, Relation(relation))}
    assert links(html, hyper=False) == set()


def test_a_robots_meta_leaves_relations_alone() -> None:
    """If robots shall not follow, then links to data keep their relation."""
    html = "<meta name=robots content=nofollow><link rel=next href=/x>"
    assert links(html) == {Link("http://a.example/x", Relation.NEXT)}


def test_links_beyond_the_limit_are_left() -> None:
    """If a page has very many links, then those with a relation come first."""
    log = FaultLog()
    html = "".join(f"<a href=/{i}>x</a>" for i in range(MAX_LINKS + 10))
    found = links(html + "<a rel=next href=/next>", log=log)
    assert len(found) == MAX_LINKS
    assert Link("http://a.example/next", Relation.NEXT) in found
    assert log.count(Reason.TOO_LARGE) == 1


def test_a_page_without_relations_in_its_body_is_not_parsed_whole() -> None:
    """If only the head can have links, then only the head is parsed."""
    page = ParsedPage(b"<head><link rel=next href=/x></head><body><p>", url=URL)
    assert not has_links_in_body(page, wants_hyperlinks=False)
    assert links_of_page(page, wants_hyperlinks=False, log=FaultLog())
    assert "tree" not in vars(page)


@given(st.text(st.sampled_from("/\\.:?#@ab%2é \t\n[]&;"), max_size=12))
@settings(max_examples=examples(500), deadline=None)
def test_links_resolve_as_the_standard_says(href: str) -> None:
    """If a link is any text, then the result equals parsing it against the page."""
    attribute = href.replace("&", "&amp;")
    found = {link.url for link in links(f'<a href="{attribute}">')}
    try:
        expected = {requestable(href.strip(), URL)} - {URL}
    except BadUri:
        expected = set()
    if not href.strip() or href.strip().startswith("#"):
        expected = set()
    assert found == expected
