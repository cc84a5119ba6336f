"""Look up a path in a robots.txt."""

from __future__ import annotations

from rdfcrawl.downloader.robots.policy import parse_robots

BASE = "http://h.example"
ONE_GROUP = "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nDisallow: /p\n"


def allows(text: str | bytes, path: str, agent: str = "rdfcrawl") -> bool:
    """Return the rules of a robots.txt for a path."""
    body = text.encode() if isinstance(text, str) else text
    return parse_robots(body, agent).allows(BASE + path)
