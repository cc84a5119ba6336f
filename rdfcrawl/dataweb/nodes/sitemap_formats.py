"""Sitemaps in every format of the protocol, and with the damage of the web.

Source: sitemaps.org protocol 0.9; RSS 1.0 and 2.0; RFC 4287 (Atom).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.utils import format_datetime
from enum import StrEnum
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from rdfcrawl.dataweb.nodes.site import w3c_date

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'


class SitemapSyntax(StrEnum):
    """Format of a sitemap."""

    URLSET = "urlset"
    INDEX = "index"  # of two urlsets
    NESTED = "nested"  # an index of indexes of urlsets
    TEXT = "text"
    RSS1 = "rss1"
    RSS2 = "rss2"
    ATOM = "atom"


class UrlsetDamage(StrEnum):
    """Defect of a urlset."""

    BOM = "bom"
    BLANKS = "blanks"  # before the declaration
    NO_NAMESPACE = "no-namespace"
    WRONG_NAMESPACE = "wrong-namespace"
    RAW_AMPERSAND = "raw-ampersand"
    ENTITY = "entity"  # one that is not declared
    UNCLOSED = "unclosed"  # `url` elements
    CDATA = "cdata"
    WRONG_TYPE = "wrong-type"  # text/html
    TRUNCATED = "truncated"  # in the last `loc`, which is lost: no page is `/page/`


@dataclass(frozen=True, slots=True)
class ListedUrl:
    """One page: URL, W3C datetime of its change, frequency of changes, priority."""

    url: str
    lastmod: str = ""
    priority: str = ""
    changefreq: str = ""


def write_sitemap(
    entries: Iterable[ListedUrl], sitemap_format: SitemapSyntax, *, changed: datetime
) -> bytes:
    """Write entries as a urlset, a list, or a feed.

    Args:
        entries: all that it has.
        sitemap_format: none of the indexes.
        changed: when the latest of the entries changed, for feeds.
    """
    match sitemap_format:
        case SitemapSyntax.TEXT:
            return "".join(f"{one.url}\n" for one in entries).encode()
        case SitemapSyntax.RSS1:
            return _write_rss1(entries)
        case SitemapSyntax.RSS2:
            return _write_rss2(entries, changed)
        case SitemapSyntax.ATOM:
            return _write_atom(entries, changed)
    return _write_urlset(entries)


def write_index(sitemaps: Iterable[tuple[str, datetime | str]]) -> bytes:
    """Write a sitemapindex of URLs and their times of change; empty states none."""
    items = "".join(
        f"<sitemap><loc>{escape(url)}</loc>{_write_lastmod(changed)}</sitemap>\n"
        for url, changed in sitemaps
    )
    return (
        f'{_DECLARATION}<sitemapindex xmlns="{NAMESPACE}">\n{items}</sitemapindex>\n'
    ).encode()


def write_damaged(entries: Iterable[ListedUrl], damage: UrlsetDamage) -> bytes:
    """Write a urlset that has one kind of damage."""
    body = _write_urlset(entries).decode()
    match damage:
        case UrlsetDamage.BOM:
            body = "\ufeff" + body
        case UrlsetDamage.BLANKS:
            body = "\n \t\n" + body
        case UrlsetDamage.NO_NAMESPACE:
            body = body.replace(f' xmlns="{NAMESPACE}"', "")
        case UrlsetDamage.WRONG_NAMESPACE:
            body = body.replace(NAMESPACE, "http://www.google.com/schemas/sitemap/0.84")
        case UrlsetDamage.RAW_AMPERSAND:
            body = body.replace("&amp;", "&")
        case UrlsetDamage.ENTITY:
            body = body.replace("<lastmod>", "<note>a&nbsp;page</note><lastmod>")
        case UrlsetDamage.UNCLOSED:
            body = body.replace("</url>", "")
        case UrlsetDamage.CDATA:
            body = re.sub(
                "<loc>(.*?)</loc>",
                lambda m: f"<loc><![CDATA[{m[1].replace('&amp;', '&')}]]></loc>",
                body,
            )
        case UrlsetDamage.TRUNCATED:
            # Before the number of the last page: the rest of the URL is one too.
            body = body[: body.rindex("/page/") + 6]
    return body.encode()


def _write_lastmod(changed: datetime | str) -> str:
    text = changed if isinstance(changed, str) else w3c_date(changed)
    return f"<lastmod>{text}</lastmod>" if text else ""


def _write_urlset(entries: Iterable[ListedUrl]) -> bytes:
    lines = [f'{_DECLARATION}<urlset xmlns="{NAMESPACE}">\n']
    for one in entries:
        row = f"<loc>{escape(one.url)}</loc>{_write_lastmod(one.lastmod)}"
        if one.changefreq:
            row += f"<changefreq>{one.changefreq}</changefreq>"
        if one.priority:
            row += f"<priority>{one.priority}</priority>"
        lines.append(f"<url>{row}</url>\n")
    return "".join((*lines, "</urlset>\n")).encode()


def _write_rss1(entries: Iterable[ListedUrl]) -> bytes:
    kept = list(entries)
    items = "".join(f'<rdf:li rdf:resource="{escape(one.url)}"/>' for one in kept)
    bodies = "".join(
        f'<item rdf:about="{escape(one.url)}"><title>A page</title>'
        f"<link>{escape(one.url)}</link><dc:date>{one.lastmod}</dc:date></item>\n"
        for one in kept
    )
    return (
        f'{_DECLARATION}<rdf:RDF xmlns="http://purl.org/rss/1.0/"'
        ' xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/">'
        '<channel rdf:about="/"><title>Pages</title><link>/</link>'
        f"<description>All</description><items><rdf:Seq>{items}</rdf:Seq></items>"
        f"</channel>\n{bodies}</rdf:RDF>\n"
    ).encode()


def _write_rss2(entries: Iterable[ListedUrl], changed: datetime) -> bytes:
    date = format_datetime(changed, usegmt=True)
    items = "".join(
        f"<item><title>A page</title><link>{escape(one.url)}</link>"
        f'<guid isPermaLink="false">urn:dataweb:{position}</guid>'
        f"<pubDate>{date}</pubDate></item>\n"
        for position, one in enumerate(entries)
    )
    return (
        f'{_DECLARATION}<rss version="2.0"><channel><title>Pages</title>'
        f"<description>All</description>\n{items}</channel></rss>\n"
    ).encode()


def _write_atom(entries: Iterable[ListedUrl], changed: datetime) -> bytes:
    date = w3c_date(changed)
    items = "".join(
        f"<entry><title>A page</title><id>urn:dataweb:{position}</id>"
        f'<link href="{escape(one.url)}"/><updated>{date}</updated></entry>\n'
        for position, one in enumerate(entries)
    )
    return (
        f'{_DECLARATION}<feed xmlns="http://www.w3.org/2005/Atom"><title>Pages</title>'
        f"<id>urn:dataweb:pages</id><updated>{date}</updated>\n{items}</feed>\n"
    ).encode()
