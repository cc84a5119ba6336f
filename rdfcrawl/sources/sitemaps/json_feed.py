"""Read the items of a JSON Feed.

Source: https://www.jsonfeed.org/version/1.1/
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.sources.sitemaps.entry import SitemapEntry, read_lastmod, url_of

_MAX_CHARS: Final = 8 * 1024 * 1024  # its items are read at once
_VERSION: Final = ("https://jsonfeed.org/version/", "http://jsonfeed.org/version/")
_MARKS: Final = ('"items"', "jsonfeed.org")
_BLANK: Final = "\ufeff \t\r\n"


def may_be_json_feed(head: str) -> bool:
    """Return whether a text may be a JSON Feed, by its beginning."""
    is_object = head.lstrip(_BLANK).startswith("{")
    return is_object and any(mark in head for mark in _MARKS)


def read_json_feed(texts: Iterable[str], log: FaultLog) -> list[Any] | None:
    """Return the items of a feed; None if it is another JSON document.

    `log` receives `INCOMPLETE` for invalid JSON, such as half a feed, and `TOO_LARGE`
    for one of more than 8 Mi characters: these have no items.
    """
    parts, n_chars = [], 0
    for text in texts:
        parts.append(text)
        n_chars += len(text)
        if n_chars > _MAX_CHARS:
            log.note(Reason.TOO_LARGE, f"a JSON Feed of more than {_MAX_CHARS:,} chars")
            return []
    try:
        feed = json.loads("".join(parts).lstrip(_BLANK))
    except (ValueError, RecursionError) as error:
        log.note(Reason.INCOMPLETE, f"no valid JSON: {str(error)[:200]}")
        return []
    version = feed.get("version") if isinstance(feed, dict) else None
    if not isinstance(version, str) or not version.startswith(_VERSION):
        return None
    items = feed.get("items")
    if not isinstance(items, list):
        log.note(Reason.INCOMPLETE, "a JSON Feed without items")
        return []
    return items


def json_entry(
    item: object, position: int, base: str, log: FaultLog
) -> SitemapEntry | None:
    """Return the entry of an item; None without a URL."""
    fields = item if isinstance(item, dict) else {}
    texts = {name: x for name, x in fields.items() if isinstance(x, str)}
    url = url_of(texts.get("url", ""), base, log)
    if not url:
        return None
    date = texts.get("date_modified") or texts.get("date_published") or ""
    return SitemapEntry(position=position, url=url, lastmod=read_lastmod(date, log))
