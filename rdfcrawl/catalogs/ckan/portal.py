"""Recognition of CKAN portals by a page or a URL; nothing is requested."""

from __future__ import annotations

import html
import re
from typing import Final

from rdfcrawl.catalogs.ckan.api import SCHEMES, is_api_url, portal_url
from rdfcrawl.uri import BadUri, requestable
from rdfcrawl.uri.origin import is_same_origin

LOOKED_AT_BYTES: Final = 512 * 1024
_ENOUGH: Final = 3  # of the marks below, where no generator is named

_META = re.compile(rb"<meta\s[^>]{0,500}>", re.IGNORECASE)
_IS_GENERATOR = re.compile(
    rb"\sname\s*=\s*[\"']?generator[\"'\s/>]", re.IGNORECASE
).search
_NAMES_CKAN = re.compile(
    rb"\scontent\s*=\s*[\"']?\s*ckan(?:[ /]+v?[0-9][0-9A-Za-z.+-]{0,20})?[\"'\s/>]",
    re.IGNORECASE,
).search
_SITE_ROOT = re.compile(
    rb"\sdata-site-root\s*=\s*(?:\"([^\"]{1,2000})\"|'([^']{1,2000})')", re.IGNORECASE
).search
_DATASET_LINK = rb"<a\s[^>]{0,500}?href\s*=\s*[\"']?(?:[^\"'>\s]*)/dataset"
# What CKAN's own templates have; each counts once.
_MARKS: Final = (
    re.compile(_DATASET_LINK + rb"(?:/[\w-]|[\"'?>\s])").search,
    re.compile(rb"href\s*=\s*[\"']?[^\"'>\s]*/organization(?:/|[\"'?>\s])").search,
    re.compile(rb"\sdata-module\s*=").search,
    re.compile(rb"\sdata-(?:site|locale)-root\s*=").search,
    re.compile(
        rb"/(?:webassets/(?:base|vendor)|fanstatic|base/(?:css|images)/(?:main|ckan)"
        rb"|public/base)"
    ).search,
    re.compile(rb"/api/3(?:/action/|[\"'/])").search,
    re.compile(rb"ckan-footer-logo|ckan-icon|docs\.ckan\.org").search,
)


def recognize(url: str, body: bytes = b"") -> str:
    """Return the URL of the portal of a page, or an empty string.

    A URL of the action API is enough. Of a page the first `LOOKED_AT_BYTES` count: the
    generator, or three marks of CKAN's templates. A root that the page names is
    believed on its own origin only.
    """
    try:
        base = portal_url(url)
    except BadUri:
        return ""
    if is_api_url(url):
        return base
    head = body[:LOOKED_AT_BYTES]
    if b"<" not in head[:1024]:
        return ""
    is_named = any(
        _IS_GENERATOR(meta[0]) and _NAMES_CKAN(meta[0]) for meta in _META.finditer(head)
    )
    if not is_named and sum(search(head) is not None for search in _MARKS) < _ENOUGH:
        return ""
    return _site_root(head, url) or base


def _site_root(head: bytes, url: str) -> str:
    """Return the root that CKAN's templates state, if the page has its origin."""
    found = _SITE_ROOT(head)
    if not found:
        return ""
    text = html.unescape((found[1] or found[2]).decode("utf-8", "replace"))
    try:
        root = requestable(text, url, schemes=SCHEMES)
    except BadUri:
        return ""
    is_above = requestable(url).startswith(root.rstrip("/"))
    return root.rstrip("/") if is_above and is_same_origin(root, url) else ""
