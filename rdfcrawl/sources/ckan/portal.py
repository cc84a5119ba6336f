"""Recognize CKAN portals by a page or a URL, without requests."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from rdfcrawl.uri import BadUri, requestable
from rdfcrawl.uri.hosts import is_same_origin

SCHEMES: Final = frozenset({"http", "https"})
LOOKED_AT_BYTES: Final = 512 * 1024
_NAMED_WITHIN_BYTES: Final = 64 * 1024
_ENOUGH: Final = 3  # of the marks below, without a generator
_MAX_LINKS: Final = 1000  # with the path of a mark, to examine
_MAX_LINK_BYTES: Final = 2048  # of an element up to that path

_ACTION_PATH = re.compile(r"/api(?:/[123])?(?:/(?:action|rest|search)\b.*)?/?\Z")
_SITE_PATH = re.compile(
    r"/(?:dataset|organization|group|user|about|harvest|datastore|catalog\.[a-z0-9]+)"
    r"(?:[/.].*)?\Z"
)
_find_metas = re.compile(rb"<meta\s[^>]{0,500}>").findall
_IS_GENERATOR = re.compile(rb"\sname\s*+=\s*+[\"']?generator[\"'\s/>]").search
_NAMES_CKAN = re.compile(
    rb"\scontent\s*+=\s*+[\"']?\s*+ckan"
    rb"(?:[ /]+v?[0-9][0-9a-z.+-]{0,20})?[\"'\s/>]"
).search
_SITE_ROOT = re.compile(
    rb"data-site-root(?<=\sdata-site-root)\s*+=\s*+"
    rb"(?:\"([^\"]{1,2000})\"|'([^']{1,2000})')",
    re.IGNORECASE,
).search
_DATASET: Final = b"/dataset"
_dataset_paths = re.compile(_DATASET + rb"(?:/[\w-]|[\"'?>\s])").finditer
_organization_paths = re.compile(rb"/organization(?:/|[\"'?>\s])").finditer
_is_link = re.compile(rb"href\s*+=\s*+[\"']?[^\"'>\s]*+\Z").match
_is_anchor = re.compile(rb"<a\s").match
# Other marks of CKAN's templates. Each expression begins with a literal that is found
# fast, and that few other pages have.
_TEMPLATE_MARKS: Final = tuple(
    re.compile(text).search
    for text in (
        rb"-root(?:(?<=\sdata-site-root)|(?<=\sdata-locale-root))\s*+=",
        rb"/api/3(?:/action/|[\"'/])",
        rb"data-module(?<=\sdata-module)\s*+=",
        rb"kan(?:(?<=ckan)-(?:footer-logo|icon)|(?<=docs\.ckan)\.org)",
        (
            rb"/(?:webassets/(?:base|vendor)|fanstatic"
            rb"|base/(?:css|images)/(?:main|ckan)|public/base)"
        ),
    )
)


def portal_url(url: str) -> str:
    """Return the URL of the portal of any URL within it.

    CKAN's own paths are cut off: the API, pages of datasets, catalogues.

    Raises:
        BadUri: the URL cannot be requested.

    >>> portal_url("https://h.example/data/api/3/action/package_list?limit=1")
    'https://h.example/data'
    """
    bare = requestable(url, schemes=SCHEMES).partition("?")[0]
    scheme, _, rest = bare.partition("://")
    host, slash, path = rest.partition("/")
    path = (slash + path).rstrip("/")
    for known in (_ACTION_PATH, _SITE_PATH):
        found = known.search(path)
        if found:
            path = path[: found.start()]
    return f"{scheme}://{host}{path}"


def is_api_url(url: str) -> bool:
    """Return whether a URL has a path of the action API."""
    try:
        path = requestable(url, schemes=SCHEMES).partition("?")[0]
    except BadUri:
        return False
    return re.search(r"/api/(?:3/)?action/[a-z_]+/?\Z|/api/3/?\Z", path) is not None


def recognize(url: str, body: bytes = b"") -> str:
    """Return the URL of the portal of a page, or an empty string.

    A URL of the action API suffices. In the first `LOOKED_AT_BYTES` of a page, its
    generator counts, or three marks of CKAN's templates. A site root stated in the page
    must have the origin of the page.
    """
    try:
        base = portal_url(url)
    except BadUri:
        return ""
    if is_api_url(url):
        return base
    if b"<" not in body[:1024]:
        return ""
    head = body[:LOOKED_AT_BYTES]
    if not _is_named(head) and not _has_marks(head):
        return ""
    return _site_root(head, url) or base


def _is_named(head: bytes) -> bool:
    """Return whether a page names CKAN as its generator."""
    lower = head[:_NAMED_WITHIN_BYTES].lower()
    return b"ckan" in lower and any(
        _IS_GENERATOR(meta) and _NAMES_CKAN(meta) for meta in _find_metas(lower)
    )


def _has_marks(head: bytes) -> bool:
    """Return whether a page has enough marks; each portal links to its datasets."""
    if _DATASET not in head:  # the common case
        return False
    n_marks, n_left = 0, len(_MARKS)
    for find in _MARKS:
        n_marks += bool(find(head))
        n_left -= 1
        if not n_marks + n_left >= _ENOUGH > n_marks:  # decided
            break
    return n_marks >= _ENOUGH


def _links_organizations(head: bytes) -> bool:
    return _has_link(head, _organization_paths(head), is_anchor=False)


def _links_datasets(head: bytes) -> bool:
    return _has_link(head, _dataset_paths(head), is_anchor=True)


def _has_link(
    head: bytes, paths: Iterator[re.Match[bytes]], *, is_anchor: bool
) -> bool:
    """Return whether one of the paths is in a link, searching backwards."""
    for path in islice(paths, _MAX_LINKS):
        end = path.start()
        begin = max(0, end - _MAX_LINK_BYTES)
        link = head.rfind(b"href", begin, end)
        if link < 0 or not _is_link(head, link, end):
            continue
        tag = head.rfind(b"<", begin, link) if is_anchor else -1
        if not is_anchor or (tag >= 0 and _is_anchor(head, tag)):
            return True
    return False


# The fastest come first: most pages have too few of these.
_MARKS: Final[tuple[Callable[[bytes], object], ...]] = (
    _links_organizations,
    *_TEMPLATE_MARKS,
    _links_datasets,
)


def _site_root(head: bytes, url: str) -> str:
    """Return the root in CKAN's templates, if it has the origin of the page."""
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
