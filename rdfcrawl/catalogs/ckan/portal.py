"""Whether a page is one of a CKAN portal: told by the page, nothing is asked for."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.catalogs.ckan.api import SCHEMES, is_api_url, portal_url
from rdfcrawl.uri import BadUri, requestable
from rdfcrawl.uri.origin import is_same_origin

if TYPE_CHECKING:
    from collections.abc import Mapping

LOOKED_AT_BYTES: Final = 512 * 1024
_ENOUGH: Final = 3  # of the marks below, where no generator is named

_META = re.compile(rb"<meta\s[^>]{0,500}>", re.IGNORECASE)
_IS_GENERATOR = re.compile(
    rb"\sname\s*=\s*[\"']?generator[\"'\s/>]", re.IGNORECASE
).search
_VERSION = re.compile(
    rb"\scontent\s*=\s*[\"']?\s*ckan(?:[ /]+v?([0-9][0-9A-Za-z.+-]{0,20}))?[\"'\s/>]",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalHint:
    """A portal that a page is of.

    Attributes:
        url: as `api.Portal` wants it.
        version: of CKAN, if the page names it.
    """

    url: str
    version: str = ""


def recognize(
    url: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> PortalHint | None:
    """Return the portal that a page is of; None if the page does not show it.

    A URL of the action API tells by itself. Of a page its begin is looked at,
    `LOOKED_AT_BYTES`: the generator it names, or three marks of CKAN's templates.
    A root that the page names is believed on its own origin only.

    Args:
        url: final one, after redirects.
        body: of the page, decoded.
        headers: of the answer, by any spelling of their names.
    """
    try:
        base = portal_url(url)
    except BadUri:
        return None
    if is_api_url(url):
        return PortalHint(url=base)
    head = body[:LOOKED_AT_BYTES]
    if b"<" not in head[:1024]:
        return None
    version, is_named = _generator(head)
    n_marks = sum(search(head) is not None for search in _MARKS)
    cookies = (headers or {}).items()
    if any(
        name.lower() == "set-cookie" and re.match(r"ckan=", value)
        for name, value in cookies
    ):
        n_marks += 1
    if not is_named and n_marks < _ENOUGH:
        return None
    root = _site_root(head, url)
    return PortalHint(url=root or base, version=version)


def _generator(head: bytes) -> tuple[str, bool]:
    """Return the version of CKAN, and whether it is named at all."""
    for meta in _META.finditer(head):
        if _IS_GENERATOR(meta[0]) and (found := _VERSION(meta[0])):
            return (found[1] or b"").decode("ascii", "replace"), True
    return "", False


def _site_root(head: bytes, url: str) -> str:
    """Return the root that CKAN's templates state, if it is of the page's origin."""
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
