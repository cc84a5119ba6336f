"""Sitemaps that tests read, and their entries."""

from __future__ import annotations

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.sources.sitemaps.entry import (
    SitemapEntry,
    SitemapLimits,
)
from rdfcrawl.sources.sitemaps.protocol import Sitemap

URL = "http://www.example.com/maps/sitemap.xml"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
FULL = f"""<?xml version="1.0" encoding="UTF-8"?>
<urlset {NS} xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
  xmlns:xhtml="http://www.w3.org/1999/xhtml">
<url><loc>http://www.example.com/catalog?item=12&amp;desc=vacation_hawaii</loc>
<lastmod>2004-12-23T18:00:15+00:00</lastmod><changefreq>weekly</changefreq>
<priority>0.3</priority>
<image:image><image:loc>http://www.example.com/a.jpg</image:loc>
<image:caption>A &amp; B</image:caption></image:image>
<xhtml:link rel="alternate" hreflang="de" href="http://www.example.com/de"/></url>
<url><loc><![CDATA[http://www.example.com/?a=1&b=2]]></loc><lastmod>2005</lastmod></url>
<url> <loc>
  http://www.example.com/x?a=1&b=2#part
</loc> </url>
</urlset>"""


def read(
    body: str | bytes, limits: SitemapLimits | None = None, **options: object
) -> tuple[list[SitemapEntry], Sitemap, dict[Reason, int]]:
    """Return the entries, the sitemap, and how often each fault was counted."""
    log = FaultLog()
    sitemap = Sitemap(
        body.encode() if isinstance(body, str) else body,
        url=URL,
        log=log,
        limits=limits or SitemapLimits(),
        **options,  # type: ignore[arg-type]
    )
    entries = [item for item in sitemap if isinstance(item, SitemapEntry)]
    return entries, sitemap, {fault.reason: fault.count for fault in log.all()}


def urls(body: str | bytes) -> list[str]:
    """Return the URLs alone."""
    return [entry.url for entry in read(body)[0]]
