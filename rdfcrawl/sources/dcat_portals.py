"""Recognize portals that publish their catalog in DCAT, without requests.

Sources: ArcGIS Hub, "Federate data and manage catalog feeds" and its Feed API; Socrata,
`/data.json` of Project Open Data; Opendatasoft, Explore API 2.1, exports of a catalog,
and the header of its themes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from rdfcrawl.uri import BadUri, requestable
from rdfcrawl.uri.hosts import origin_of

LOOKED_AT_BYTES: Final = 256 * 1024
_DATA_JSON: Final = "/data.json"
_SCHEMES: Final = frozenset({"http", "https"})
_API_PATHS: Final = ("/api/", "/resource/")  # at the root of a host


class _Platform(NamedTuple):
    """The marks of a platform; a portal has a host for itself.

    Attributes:
        path: of the catalog.
        mark: text in each page, which is found fast.
        is_page: searches the element or statement that has the mark.
        is_api: matches the paths of the API.
        is_catalog: matches the paths of the catalog in all forms of DCAT.
    """

    path: str
    mark: bytes
    is_page: Callable[[bytes], object]
    is_api: Callable[[str], object]
    is_catalog: Callable[[str], object]


_HUB: Final = _Platform(
    "/api/feed/dcat-us/1.1.json",
    b"opendata-ui/",
    re.compile(
        rb"<(?:script|link)\s[^<>]{0,300}(?:src|href)\s*+=\s*+[\"']?"
        rb"https://hubcdn\.arcgis\.com/opendata-ui/[^\"'\s<>]{1,300}\.(?:css|js)"
        rb"|<meta\s[^<>]{0,100}name\s*+=\s*+[\"']?opendata-ui/config/environment",
        re.IGNORECASE,
    ).search,
    re.compile(
        r"/api/(?:feed/(?:rss/2\.0|dcat-(?:us|ap)/)|search/v1/collections)"
    ).match,
    re.compile(r"/api/feed/dcat-(?:us|ap)/[0-9.]+(?:json)?\Z").match,
)
_ID: Final = "[a-z0-9]{4}-[a-z0-9]{4}"
_SOCRATA: Final = _Platform(
    _DATA_JSON,
    b"socrata.featureFlags",
    re.compile(rb"window\.socrata\.featureFlags\s*+=").search,
    re.compile(
        rf"/(?:resource/{_ID}\.(?:json|csv|geojson)|api/views/{_ID}(?:[/.]|\Z))"
    ).match,
    re.compile(re.escape(_DATA_JSON) + r"\Z").match,
)
_OPENDATASOFT: Final = _Platform(
    "/api/explore/v2.1/catalog/exports/dcat",
    b"ods-front-header",
    re.compile(
        rb"<(?:nav|header|div)\s[^<>]{0,300}class\s*+=\s*+[\"']?"
        rb"(?:[\w-]{1,80}\s){0,20}ods-front-header[\"'\s>]",
        re.IGNORECASE,
    ).search,
    re.compile(
        r"/api/(?:explore/v2\.[0-9]/catalog|v2/catalog/(?:datasets|exports)"
        r"|(?:datasets|records)/1\.0)(?:/|\Z)"
    ).match,
    re.compile(
        r"/api/(?:explore/v2\.[0-9]|v2)/catalog/exports/(?:dcat\w{0,20}|rdf|ttl"
        r"|data\.json)/?\Z"
    ).match,
)
_PLATFORMS: Final = (_HUB, _SOCRATA, _OPENDATASOFT)
CATALOG_PATHS: Final = tuple(each.path for each in _PLATFORMS)


def is_catalog_url(url: str) -> bool:
    """Return whether a requestable URL is that of a catalog in DCAT."""
    path = _path_of(url)
    return any(each.is_catalog(path) for each in _PLATFORMS)


def catalog_url(url: str, body: bytes = b"") -> str:
    """Return the URL of the catalog of a portal; empty if there is none.

    A URL of the API suffices; for the catalog itself, in any form of DCAT, the result
    is this URL. In the first `LOOKED_AT_BYTES` of a page, a mark of the platform counts
    that each of its pages has.

    >>> catalog_url("https://data.example/api/views/abcd-1234.json")
    'https://data.example/data.json'
    """
    try:
        url = requestable(url, schemes=_SCHEMES)
    except BadUri:
        return ""
    path = _path_of(url)
    if is_catalog_url(url):
        return url
    origin = origin_of(url)
    if path.startswith(_API_PATHS):
        for each in _PLATFORMS:
            if each.is_api(path):
                return origin + each.path
    head = body[:LOOKED_AT_BYTES]
    for each in _PLATFORMS:
        if each.mark in head and each.is_page(head):
            return origin + each.path
    return ""


def _path_of(url: str) -> str:
    """Return the path of a requestable URL."""
    return url.removeprefix(origin_of(url)).partition("?")[0]
