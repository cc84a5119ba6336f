"""Read the entries of feeds: RSS 0.9x, 1.0 and 2.0, and Atom.

Source: RSS 1.0 (2000-12-06), RSS 2.0.11, RFC 4287.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import ATOM, RELATIONS
from rdfcrawl.core.times import PointInTime, parse_point
from rdfcrawl.sources.sitemaps.addresses import url_in, url_of
from rdfcrawl.sources.sitemaps.entry import SitemapEntry, SitemapLimits, extension_of
from rdfcrawl.uri import BadUri, parse_uri

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.sources.sitemaps.elements import Element

# The time of the update takes precedence.
_UPDATED = ("updated", "modified")
_PUBLISHED = ("published", "pubdate", "issued", "date", "created")
_KEPT = frozenset({"title", "enclosure", "content", "thumbnail", "group"})


def rss_entry(
    item: Element, position: int, base: str, log: FaultLog, limits: SitemapLimits
) -> SitemapEntry | None:
    """Return the entry of an RSS item; None without a link.

    The link is the first URL in `link`, in a `guid` that is a permanent link, in
    `rdf:about` or in `atom:link`.
    """
    url = ""
    for child in item.all("link"):
        if child.namespace != ATOM and not child.attribute("href"):
            url = url or url_in(child, base, log)
    for child in item.all("guid"):
        is_link = (child.attribute("ispermalink") or "true").strip().lower() != "false"
        if not url and is_link and child.text.strip().lower().startswith("http"):
            url = url_in(child, base, log)
    if not url and (about := item.attribute("about")):
        url = url_of(about, base, log)
    return _entry(item, position, url or _alternate(item, base, log), log, limits)


def atom_entry(
    entry: Element, position: int, base: str, log: FaultLog, limits: SitemapLimits
) -> SitemapEntry | None:
    """Return the entry of an Atom entry; None without a link.

    The link is the first `alternate` link, or the `src` of the content. The `id` is a
    name that is not requested.
    """
    url = _alternate(entry, base, log)
    for content in entry.all("content"):
        if not url and (src := content.attribute("src")):
            url = _resolved(src, content, entry, base, log)
    return _entry(entry, position, url, log, limits)


def _alternate(entry: Element, base: str, log: FaultLog) -> str:
    for link in entry.all("link"):
        href = (link.attribute("href") or "").strip()
        relation = (link.attribute("rel") or "alternate").strip().lower()
        is_alternate = relation.removeprefix(RELATIONS) == "alternate"
        if href and is_alternate and (url := _resolved(href, link, entry, base, log)):
            return url
    return ""


def _resolved(
    href: str, link: Element, entry: Element, base: str, log: FaultLog
) -> str:
    """Resolve by RFC 4287 2 and XML Base, within the entry."""
    try:
        for element in (entry, link):
            if relative := element.attributes.get("xml:base"):
                base = parse_uri(relative, base)
        if href and "://" not in href:
            href = parse_uri(href, base)
    except BadUri as error:
        log.note(error.fault.reason, error.fault.detail)
        return ""
    return url_of(href, base, log)


def _entry(
    element: Element, position: int, url: str, log: FaultLog, limits: SitemapLimits
) -> SitemapEntry | None:
    if not url:
        log.note(Reason.BAD_URI, f"an {element.name} without a link")
        return None
    kept = (x for x in element.children if x.local.lower() in _KEPT)
    return SitemapEntry(
        position=position,
        url=url,
        lastmod=_date(element.children, log),
        extensions=tuple(
            extension_of(child, limits.n_values)
            for child, _ in zip(kept, range(limits.n_extensions), strict=False)
            if child.local.lower() != "content" or child.attributes.get("url")
        ),
    )


def _date(children: Iterable[Element], log: FaultLog) -> PointInTime | None:
    dates = {child.local.lower(): child.text for child in children}
    for name in (*_UPDATED, *_PUBLISHED):
        if text := dates.get(name, "").strip():
            if point := parse_point(text):
                return point
            log.note(Reason.SYNTAX, f"not a date:  {text[:60]!r}")
    return None
