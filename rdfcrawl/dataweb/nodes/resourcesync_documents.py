"""The documents of a ResourceSync source, and the packages of its dumps.

Source: ANSI/NISO Z39.99-2017.
"""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from rdfcrawl.core.namespaces import RESOURCESYNC

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WELL_KNOWN = "/.well-known/resourcesync"
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<{root}'
    ' xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    f' xmlns:rs="{RESOURCESYNC}">\n'
)

Facts = dict[
    str, str
]  # attributes of an `rs:md` or `rs:ln`; empty ones are not written


def write_item(
    loc: str,
    *,
    md: Mapping[str, str],
    lastmod: str = "",
    links: Iterable[Mapping[str, str]] = (),
    is_index: bool = False,
) -> str:
    """Write a `url` element, or a `sitemap` element of an index."""
    name = "sitemap" if is_index else "url"
    text = f"<{name}><loc>{escape(loc)}</loc>"
    if lastmod:
        text += f"<lastmod>{lastmod}</lastmod>"
    text += _element("md", md) + "".join(_element("ln", one) for one in links)
    return f"{text}</{name}>\n"


def write_document(
    items: Iterable[str],
    *,
    md: Mapping[str, str],
    links: Iterable[Mapping[str, str]] = (),
    is_index: bool = False,
) -> bytes:
    """Write a document of items that `write_item` gave, of the same `is_index`."""
    root = "sitemapindex" if is_index else "urlset"
    heading = "".join(_element("ln", one) for one in links) + _element("md", md)
    body = "".join((_HEAD.format(root=root), heading, "\n", *items, f"</{root}>\n"))
    return body.encode()


def write_package(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Pack files as ZIP; equal files become equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, body in files:
            info = zipfile.ZipInfo(name)  # of 1980, whenever it is packed
            info.compress_type = zipfile.ZIP_DEFLATED
            package.writestr(info, body)
    return out.getvalue()


def _element(name: str, attributes: Mapping[str, str]) -> str:
    pairs = "".join(f" {key}={quoteattr(v)}" for key, v in attributes.items() if v)
    return f"<rs:{name}{pairs}/>" if pairs else ""
