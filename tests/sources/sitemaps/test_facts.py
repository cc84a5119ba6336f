"""What sitemaps say about URLs, as statements."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.core.times import parse_point
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.sources.sitemaps.description import describe_entry
from rdfcrawl.sources.sitemaps.entry import (
    ChangeFrequency,
    EntryExtension,
    SitemapEntry,
)
from rdfcrawl.sources.sitemaps.protocol import Sitemap
from tests.support.examples import examples

MAP, PAGE = "http://e/sitemap.xml", "http://e/a"
NAMESPACES = (
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
    'xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)


def facts(content: str) -> str:
    """Return the statements about the entry of a sitemap; all are right."""
    body = f"<urlset {NAMESPACES}><url><loc>{PAGE}</loc>{content}</url></urlset>"
    log = FaultLog()
    (entry,) = Sitemap(body.encode(), url=MAP, log=log)
    assert isinstance(entry, SitemapEntry)
    lines = list(describe_entry(entry, sitemap=MAP))
    block = b"".join(iter_checked(lines, log))
    assert not log.all()
    assert block.count(b"\n") == len(lines)
    return block.decode()


@pytest.mark.parametrize(
    ("content", "statement"),
    [
        ("", f"<{MAP}> <urn:rdfcrawl:vocab#lists> <{PAGE}> ."),
        (
            "<lastmod>2004-12</lastmod>",
            (
                f"<{PAGE}> <http://purl.org/dc/terms/modified> "
                '"2004-12"^^<http://www.w3.org/2001/XMLSchema#gYearMonth> .'
            ),
        ),
        (
            "<priority>0.8</priority>",
            (
                f"<{PAGE}> <urn:rdfcrawl:vocab#priority> "
                '"0.8"^^<http://www.w3.org/2001/XMLSchema#decimal> .'
            ),
        ),
        (
            "<changefreq>weekly</changefreq>",
            f'<{PAGE}> <urn:rdfcrawl:vocab#changefreq> "weekly" .',
        ),
        (
            "<image:image><image:loc>http://e/i.jpg</image:loc></image:image>",
            f"<{PAGE}> <http://schema.org/image> <http://e/i.jpg> .",
        ),
        (
            (
                "<image:image><image:loc>http://e/i.jpg</image:loc>"
                "<image:title>T</image:title></image:image>"
            ),
            '<http://e/i.jpg> <http://schema.org/name> "T" .',
        ),
        (
            (
                "<video:video><video:content_loc>http://e/v.mp4</video:content_loc>"
                "</video:video>"
            ),
            "<http://schema.org/contentUrl> <http://e/v.mp4> .",
        ),
        (
            "<video:video><video:duration>600</video:duration></video:video>",
            '"PT600S"^^<http://www.w3.org/2001/XMLSchema#duration> .',
        ),
        (
            ("<video:video><video:restriction relationship='allow'/></video:video>"),
            '<urn:rdfcrawl:vocab#restrictionRelationship> "allow" .',
        ),
        (
            (
                "<news:news><news:publication><news:name>N</news:name></news:publication>"
                "</news:news>"
            ),
            f'<{PAGE}> <http://schema.org/publisher> "N" .',
        ),
        (
            "<news:news><news:title>T</news:title></news:news>",
            (
                f"<{PAGE}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "
                "<http://schema.org/NewsArticle> ."
            ),
        ),
        (
            "<xhtml:link rel='alternate' hreflang='de-CH' href='http://e/de'/>",
            f"<{PAGE}> <http://www.w3.org/1999/xhtml/vocab#alternate> <http://e/de> .",
        ),
        (
            "<xhtml:link rel='alternate' hreflang='de-CH' href='http://e/de'/>",
            '<http://e/de> <http://purl.org/dc/terms/language> "de-CH" .',
        ),
        (
            "<mobile:mobile type='pc'/>",
            '<urn:rdfcrawl:vocab#extensionName> "mobile" .',
        ),
    ],
)
def test_facts(content: str, statement: str) -> None:
    """If a sitemap says something of a URL, then there is a statement of it."""
    assert statement in facts(content)


def test_a_sitemap_of_an_index_is_listed_as_one() -> None:
    """If an entry is a sitemap, then the statement says that."""
    entry = SitemapEntry(position=0, url="http://e/1.xml", is_sitemap=True)
    lines = list(describe_entry(entry, sitemap=MAP))
    assert lines == [f"<{MAP}> <urn:rdfcrawl:vocab#listsSitemap> <http://e/1.xml> .\n"]


@settings(max_examples=examples(150), deadline=None)
@given(
    st.sampled_from(["image", "video", "news", "link", "title", "enclosure", "odd"]),
    st.lists(
        st.tuples(
            st.one_of(
                st.sampled_from(["loc", "@href", "@hreflang", "@url", "title", ""]),
                st.text(max_size=8),
            ),
            st.one_of(
                st.text(max_size=20), st.text(max_size=9).map("http://e/".__add__)
            ),
        ),
        max_size=6,
    ),
)
def test_any_extension(kind: str, values: list[tuple[str, str]]) -> None:
    """If an extension says anything, then its statements are right or left out."""
    entry = SitemapEntry(
        position=3,
        url=PAGE,
        lastmod=parse_point("2004-12-23T18:00Z"),
        changefreq=ChangeFrequency.NEVER,
        priority=1e-7,
        extensions=(EntryExtension(kind, tuple(values)),),
    )
    log = FaultLog()
    lines = list(describe_entry(entry, sitemap=MAP))
    block = b"".join(iter_checked(lines, log))
    assert block.count(b"\n") == len(lines)
