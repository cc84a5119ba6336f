"""Pages that redirect: `<meta http-equiv=refresh content="0; url=...">`.

Browsers and search engines treat a refresh without delay as a redirect.

Source: the WHATWG HTML standard, clause 4.2.5.3, "shared declarative refresh steps".
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag, urljoin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.downloader.client import HttpResponse

HEAD_BYTES: Final = 4096  # of a page, searched for the element
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
# Content that does not count, or not for clients that run scripts.
_SKIPPED: Final = re.compile(rb"<(script|style|template|noscript|title|textarea)[\s>/]")
_attributes: Final = re.compile(
    rb"""([^\s"'<>/=]{1,32})\s{0,16}=\s{0,16}("[^"]*"|'[^']*'|[^\s"'>]+)"""
).finditer
_content: Final = re.compile(
    r"\s*0+(?:\.[0-9.]*)?(?:\s*[;,]\s*|\s+)(?:url\s*=\s*)?(.*)",
    re.IGNORECASE | re.DOTALL,
).fullmatch


def refresh_target(url: str, response: HttpResponse) -> str:
    """Return the target of a refresh without delay; empty if there is none.

    >>> from rdfcrawl.downloader.client import HttpResponse
    >>> page = b"<META HTTP-EQUIV=Refresh CONTENT='0; URL=../b#c'>"
    >>> response = HttpResponse(media_type="text/html", body=page)
    >>> refresh_target("http://example.org/a/", response)
    'http://example.org/b#c'
    """
    if response.media_type not in _HTML or not response.body:
        return ""
    begin = response.body[:HEAD_BYTES]
    if b"http-equiv" not in begin.lower():
        return ""
    base, target = url, ""
    for name, attributes in _elements(begin):
        if name == b"<base" and base == url:
            base = urljoin(url, attributes.get(b"href", ""))
        elif attributes.get(b"http-equiv", "").strip().lower() == "refresh":
            target = _target(attributes.get(b"content", ""))
            break
    if not target:
        return ""
    target = urljoin(base, target)
    return "" if urldefrag(target).url == urldefrag(url).url else target


def _elements(begin: bytes) -> Iterator[tuple[bytes, dict[bytes, str]]]:
    """Yield the elements `<base` and `<meta` of a page, with their attributes."""
    lower = begin.lower()
    at = lower.find(b"<")
    while at >= 0:
        skipped = _SKIPPED.match(lower, at)
        end = lower.find(b">", at)
        if lower.startswith(b"<!--", at):
            end = lower.find(b"-->", at)
        elif skipped is not None:
            end = lower.find(b"</" + skipped[1], at)
        elif end > 0 and (name := lower[at : at + 5]) in (b"<base", b"<meta"):
            found = _attributes(begin, at + 5, end)
            yield name, {each[1].lower(): _text(each[2]) for each in found}
        if end < 0:
            return
        at = lower.find(b"<", end)


def _text(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    is_quoted = text[:1] in ("'", '"')
    return unescape(text[1:-1] if is_quoted else text)


def _target(content: str) -> str:
    found = _content(content[:HEAD_BYTES])
    if found is None:
        return ""
    target = found[1].strip()
    if target[:1] in ("'", '"'):
        return target[1:].partition(target[0])[0].strip()
    return target
