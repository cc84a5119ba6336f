"""Cookies within one chain of redirects.

Some sites set a cookie, redirect, and serve the document only to clients that return
the cookie. Cookies are not kept for other records.

Source: RFC 6265, clauses 5.1 to 5.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from rdfcrawl.core.times import parse_http_date
from rdfcrawl.downloader.client import MAX_COOKIES, RequestOptions
from rdfcrawl.uri.guard.policy import literal_address
from rdfcrawl.uri.hosts import registered_domain

MAX_COOKIE_CHARS: Final = 4096


@dataclass(frozen=True, slots=True)
class _Cookie:
    value: str
    is_host_only: bool
    is_secure: bool

    def is_for(self, host: str, path: str, key: tuple[str, str, str]) -> bool:
        """Return whether the cookie, of domain and path in `key`, is sent to a URL.

        Source: RFC 6265 5.1.3 and 5.1.4.
        """
        domain, of_path, _ = key
        if host != domain and (self.is_host_only or not host.endswith("." + domain)):
            return False
        is_below = path.startswith(of_path)
        return is_below and (
            len(path) == len(of_path) or of_path[-1] == "/" or path[len(of_path)] == "/"
        )


class ChainCookies:
    """The cookies set while one record is requested."""

    def __init__(self) -> None:
        self._cookies: dict[tuple[str, str, str], _Cookie] = {}
        self._sent: dict[str, str] = {}  # by URL
        self._latest = ""  # last cookies sent

    def note(self, url: str, lines: tuple[str, ...]) -> None:
        """Store the cookies of `Set-Cookie` lines of a response."""
        for line in lines[:MAX_COOKIES]:
            if len(line) <= MAX_COOKIE_CHARS and line.isascii() and line.isprintable():
                self._set(url, line)

    def header(self, url: str) -> str:
        """Return the value of `Cookie` for a request; empty if there is none."""
        if not self._cookies:
            return ""
        parts = urlsplit(url)
        host, path = parts.hostname or "", parts.path or "/"
        return "; ".join(
            f"{key[2]}={cookie.value}"
            for key, cookie in self._cookies.items()
            if cookie.is_for(host, path, key)
            and (parts.scheme == "https" or not cookie.is_secure)
        )

    def options_for(self, url: str, options: RequestOptions) -> RequestOptions:
        """Return the options of a request for a URL, with its cookies."""
        if any(
            h[0].lower() == "cookie" and h[1] != self._latest for h in options.headers
        ):
            return options  # the request has its own cookies
        headers = tuple(h for h in options.headers if h[0].lower() != "cookie")
        self._latest = self._sent[url] = self.header(url)
        if self._latest:
            headers = (*headers, ("Cookie", self._latest))
        return replace(options, headers=headers)

    def are_new_to(self, url: str) -> bool:
        """Return whether a URL was requested before, but without these cookies."""
        return self.header(url) != self._sent.get(url, "")

    def _set(self, url: str, line: str) -> None:
        pair, *attributes = line.split(";")
        name, equals, value = (text.strip() for text in pair.partition("="))
        if not (equals and name):
            return
        facts = {}
        for attribute in attributes:
            key, _, text = attribute.partition("=")
            facts[key.strip().lower()] = text.strip()
        parts = urlsplit(url)
        host = parts.hostname or ""
        domain = facts.get("domain", "").removeprefix(".").lower()
        is_secure = "secure" in facts
        if not _may_set(host, domain) or (is_secure and parts.scheme != "https"):
            return
        path = facts.get("path", "")
        if not path.startswith("/"):
            path = parts.path.rpartition("/")[0] or "/"
        identity = domain or host, path, name
        self._cookies.pop(identity, None)
        if not _has_expired(facts) and len(self._cookies) < MAX_COOKIES:
            self._cookies[identity] = _Cookie(value, not domain, is_secure)


def _may_set(host: str, domain: str) -> bool:
    """Return whether a host may set a cookie for a domain (RFC 6265 5.3)."""
    if not domain or domain == host:
        return True
    if literal_address(host) or not host.endswith("." + domain):
        return False
    site = registered_domain(host)  # excludes public suffixes
    return domain == site or domain.endswith("." + site)


def _has_expired(facts: dict[str, str]) -> bool:
    age = facts.get("max-age", "")
    if age.removeprefix("-").isdigit():
        return age.startswith("-") or not int(age[:9])
    expires = parse_http_date(facts.get("expires", ""))
    return expires is not None and expires <= datetime.now(UTC)
