"""Entries of a sitemap or feed: their URLs, values, extensions and limits.

Invalid values are skipped, with the fault `SYNTAX`.

Source: RSS 1.0 (2000-12-06), RSS 2.0.11, RFC 4287.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.namespaces import ATOM, RELATIONS
from rdfcrawl.core.times import PointInTime, parse_point
from rdfcrawl.sources.sitemaps.markup import MarkupLimits
from rdfcrawl.uri import (
    BadUri,
    host_of,
    is_of_web,
    parse_uri,
    registered_domain,
    requestable,
)
from rdfcrawl.uri.hosts import DEFAULT_PORTS, port_of

if TYPE_CHECKING:
    from rdfcrawl.sources.sitemaps.elements import Element


# Characters of a URL that was broken over lines, joined with another URL, or damaged by
# markup or encoding; it cannot be restored.
_damage_in = re.compile(r"[\x00-\x1f<>\ufdd0\ufffd]").search
_blank_in = re.compile(r"\s").search
# White_Space of Unicode and invisible characters, which editors paste around URLs.
BLANKS = (
    " \t\n\r\x0b\x0c\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u200b\u200c\u200d\u2060\ufeff\xad"
)


def url_of(text: str, base: str, log: FaultLog) -> str:
    """Return the requestable URL in a text, or an empty string.

    The protocol requires absolute URLs. A URL that begins with `/` is unambiguous and
    repaired; the base of other relative URLs is unknown. `log` receives `BAD_URI` and
    `REPAIRED`.
    """
    text = text.strip(BLANKS)
    if _is_broken(text):
        log.note(Reason.BAD_URI, f"a broken URL: {text[:200]!r}")
        return ""
    try:
        if text.startswith("/"):
            url = requestable(text, base)
            log.note(Reason.REPAIRED, f"a relative URL: {text[:200]!r}")
            return url
        return requestable(text, None if is_of_web(base) else base)
    except BadUri as error:
        log.note(error.fault.reason, error.fault.detail)
        return ""


def _is_broken(text: str) -> bool:
    blank = _blank_in(text)
    return bool(_damage_in(text) or (blank and "://" in text[blank.end() :]))


def url_in(element: Element, base: str, log: FaultLog) -> str:
    """Return the URL in an element, or an empty string.

    A URL with markup in it is broken, because its extent is unknown.
    """
    if element.children:
        log.note(Reason.BAD_URI, f"markup in a URL: {element.text[:200]!r}")
        return ""
    return url_of(element.text, base, log) if element.text.strip(BLANKS) else ""


def may_list(entry_url: str, sitemap_url: str, robots_hosts: Collection[str]) -> bool:
    """Return whether a sitemap, by its URL after redirects, may list a requestable URL.

    Allowed are URLs of its own host, and of hosts (`host` or `host:port`) with the
    sitemap, or its index, in their robots.txt. Only default ports are allowed, so that
    a sitemap cannot make the crawler scan the ports of a machine.

    FTP servers rarely have a robots.txt or sitemaps, so an FTP server of the same
    registered domain belongs to the site.

    Source: sitemaps.org, "Sitemaps & Cross Submits".

    >>> may_list("http://a.example/x", "https://a.example/sitemap.xml", ())
    True
    >>> may_list("http://b.example/x", "https://a.example/s.xml", {"b.example"})
    True
    >>> may_list("ftp://ftp.a.example/x", "https://www.a.example/sitemap.xml", ())
    True
    """
    host, port = host_of(entry_url), port_of(entry_url)
    scheme = entry_url.partition(":")[0]
    is_default = port == DEFAULT_PORTS.get(scheme)
    own = host_of(sitemap_url)
    if host == own and (is_default or port == port_of(sitemap_url)):
        return bool(host)
    is_ftp = is_default and scheme in ("ftp", "ftps")
    if is_ftp and host and registered_domain(host) == registered_domain(own):
        return True
    return f"{host}:{port}" in robots_hosts or (is_default and host in robots_hosts)


_SUBMISSIONS: Final = {"urlset": "xml", "sitemapindex": "xml", "rss1": "rss"}


class SitemapFormat(StrEnum):
    """Format of a sitemap.

    Attributes:
        submission: the format in statistics; `xml` for an index.
    """

    submission: str

    URLSET = "urlset"
    INDEX = "sitemapindex"
    RSS = "rss"
    RSS_1 = "rss1"
    ATOM = "atom"
    JSON_FEED = "jsonfeed"
    TEXT = "text"

    def __init__(self, name: str) -> None:
        self.submission = _SUBMISSIONS.get(name, name)


class ChangeFrequency(StrEnum):
    """Expected change frequency of a page."""

    ALWAYS = "always"
    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class EntryExtension:
    """Data of an extension of the protocol about a URL.

    Attributes:
        kind: local name of its element, in lower case, such as `image` or `link` (of
            hreflang annotations).
        values: names and texts of its content, in document order. The names are local,
            with those of the enclosing elements: `publication/name`. Attributes are
            `@name`, or `restriction/@relationship`.
    """

    kind: str
    values: tuple[tuple[str, str], ...]

    def value(self, name: str) -> str:
        """Return the first value of this name, or an empty string."""
        return next((text for key, text in self.values if key == name), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapEntry:
    """One URL of a sitemap; `priority` is from 0.0 to 1.0 among those of its site."""

    position: int  # in the document, from 0, including skipped entries
    url: str
    is_sitemap: bool = False  # a sitemap of an index, not a page
    # date of the last change; in a feed, of update or publication
    lastmod: PointInTime | None = None
    changefreq: ChangeFrequency | None = None
    priority: float | None = None
    extensions: tuple[EntryExtension, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapLimits:
    """Limits on one sitemap; entries before a limit are kept."""

    # of the XML; `n_bytes` also applies to URL lists
    markup: MarkupLimits = field(default_factory=MarkupLimits)
    # URLs, sitemaps and datasets. The protocol allows 50,000.
    n_entries: int = 50_000
    n_extensions: int = 1_000  # of one entry; the protocol allows 1,000 images
    depth: int = 3  # of indexes in indexes; the protocol allows none
    n_values: int = 10_000  # of one element of a dataset or extension


DEFAULT_LIMITS: Final = SitemapLimits()


_PRIORITY = re.compile(r"(?:[01](?:\.[0-9]{0,20})?|\.[0-9]{1,20})").fullmatch


def read_lastmod(text: str, log: FaultLog) -> PointInTime | None:
    """Return the date; None and `SYNTAX` if invalid."""
    if not text.strip():
        return None
    point = parse_point(text)
    if point is None:
        log.note(Reason.SYNTAX, f"not a date:  {text[:60]!r}")
    return point


def read_frequency(text: str, log: FaultLog) -> ChangeFrequency | None:
    """Return the frequency; None and `SYNTAX` if invalid."""
    word = text.strip().lower()
    try:
        return ChangeFrequency(word) if word else None
    except ValueError:
        log.note(Reason.SYNTAX, f"not a change frequency:  {text[:60]!r}")
        return None


def read_priority(text: str, log: FaultLog) -> float | None:
    """Return the priority; None and `SYNTAX` if not from 0.0 to 1.0."""
    text = text.strip()
    if not text:
        return None
    if _PRIORITY(text) and (priority := float(text)) <= 1:
        return priority
    log.note(Reason.SYNTAX, f"not a priority:  {text[:60]!r}")
    return None


_MAX_DEPTH = 8


def extension_of(element: Element, max_values: int) -> EntryExtension:
    """Return the data of an extension element, at most `max_values` values."""
    values = tuple(islice(_values(element, ""), max_values))
    return EntryExtension(element.local.lower(), values)


def name_of(path: str) -> str:
    """Return a local name for a term, from the path of its value."""
    plain = "".join(x if x.isalnum() and x.isascii() else " " for x in path).split()
    first, *others = plain or ["value"]
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def _values(element: Element, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    for name, value in element.attributes.items():
        if not name.startswith("xmlns"):
            yield f"{path}@{name.rpartition(':')[2]}", value.strip()
    text = element.text.strip()
    if text:
        yield path.removesuffix("/"), text
    if depth < _MAX_DEPTH:
        for child in element.children:
            yield from _values(child, f"{path}{child.local}/", depth + 1)


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
