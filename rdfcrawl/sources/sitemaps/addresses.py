"""Read the URLs of a sitemap, and check whether the sitemap may list them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason
from rdfcrawl.uri import BadUri, host_of, is_of_web, registered_domain, requestable
from rdfcrawl.uri.hosts import DEFAULT_PORTS, port_of

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
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
