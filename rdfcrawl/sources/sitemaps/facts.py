"""Statements of sitemaps about URLs.

| of an entry | statement about its URL |
|---|---|
| `lastmod` | `dcterms:modified`, typed by its precision |
| `changefreq`, `priority` | `rc:changefreq`, `rc:priority` |
| an image | `schema:image`, a `schema:ImageObject` named by its URL |
| a video | `schema:video`, a `schema:VideoObject` |
| news | a `schema:NewsArticle` |
| hreflang | `xhv:alternate`, whose `dcterms:language` is the tag |
| of a feed: title, enclosure | `dcterms:title`, `schema:associatedMedia` |

`rc:` is `urn:rdfcrawl:vocab#`. Values without a term have their extension name in
`rc:`. The sitemap has `rc:lists` for each of its entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rdfcrawl.core.namespaces import DCTERMS, RC, RDF_TYPE, SCHEMA, XHV, XSD
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.terms import blank, iri, literal, statement
from rdfcrawl.sources.sitemaps.entry import EntryExtension, SitemapEntry, name_of

_IMAGE: Final = {
    "caption": "caption",
    "title": "name",
    "geo_location": "contentLocation",
    "license": "license",
}
_VIDEO: Final = {
    "thumbnail_loc": "thumbnailUrl",
    "title": "name",
    "description": "description",
    "content_loc": "contentUrl",
    "player_loc": "embedUrl",
    "duration": "duration",
    "expiration_date": "expires",
    "rating": "contentRating",
    "view_count": "interactionCount",
    "publication_date": "uploadDate",
    "family_friendly": "isFamilyFriendly",
    "requires_subscription": "requiresSubscription",
    "uploader": "author",
    "tag": "keywords",
    "category": "genre",
}
_NEWS: Final = {
    "title": "headline",
    "publication/name": "publisher",
    "publication/language": "inLanguage",
    "publication_date": "datePublished",
    "genres": "genre",
    "keywords": "keywords",
}
_URL_NAMES = ("loc", "license", "thumbnail_loc", "content_loc", "player_loc")


def describe_entry(entry: SitemapEntry, *, sitemap: str) -> Iterator[str]:
    """Yield the statements of an entry, as lines of N-Quads.

    The lines may have invalid terms: check them with `rdf.checking.iter_checked`.
    `sitemap` is its URL.
    """
    page = iri(graph_iri(entry.url))
    lists = "listsSitemap" if entry.is_sitemap else "lists"
    yield _line(iri(graph_iri(sitemap)), RC + lists, page)
    if entry.lastmod is not None:
        point = literal(entry.lastmod.text, datatype=entry.lastmod.datatype)
        yield _line(page, DCTERMS + "modified", point)
    if entry.changefreq is not None:
        yield _line(page, RC + "changefreq", literal(entry.changefreq))
    if entry.priority is not None:
        # A decimal has no exponent (XML Schema 2, 3.2.3).
        number = f"{entry.priority:.6f}".rstrip("0").ljust(3, "0")
        yield _line(page, RC + "priority", literal(number, datatype=XSD + "decimal"))
    for index, extension in enumerate(entry.extensions):
        # Labels by position, so that equal sitemaps give equal statements.
        label = blank(f"{entry.position}.{index}")
        yield from _extension(extension, page, label)


def _line(subject: str, predicate: str, obj: str) -> str:
    return statement(subject, iri(predicate), obj)


def _extension(extension: EntryExtension, page: str, node: str) -> Iterator[str]:
    match extension.kind:
        case "image":
            url = _url(extension.value("loc"))
            node = url if url.startswith("<") else node
            yield _line(page, SCHEMA + "image", node)
            yield from _values(extension, node, "ImageObject", _IMAGE)
        case "video":
            yield _line(page, SCHEMA + "video", node)
            yield from _values(extension, node, "VideoObject", _VIDEO)
        case "news":
            yield from _values(extension, page, "NewsArticle", _NEWS)
        case "link" if extension.value("@href"):
            other = _url(extension.value("@href"))
            relation = (extension.value("@rel") or "alternate").lower()
            is_known = relation == "alternate"
            yield _line(page, XHV + relation if is_known else RC + "link", other)
            language = extension.value("@hreflang")
            has_language = language and language.lower() != "x-default"
            if has_language and other.startswith("<"):
                yield _line(other, DCTERMS + "language", literal(language))
        case "title":
            yield _line(page, DCTERMS + "title", literal(extension.value("")))
        case "enclosure" | "content" | "thumbnail" if extension.value("@url"):
            media = _url(extension.value("@url"))
            yield _line(page, SCHEMA + "associatedMedia", media)
            media_type = extension.value("@type")
            if media_type and media.startswith("<"):
                yield _line(media, SCHEMA + "encodingFormat", literal(media_type))
        case _:
            yield _line(page, RC + "extension", node)
            yield _line(node, RC + "extensionName", literal(extension.kind))
            yield from _values(extension, node, "", {})


def _values(
    extension: EntryExtension,
    subject: str,
    kind: str,
    terms: dict[str, str],
) -> Iterator[str]:
    if kind:
        yield _line(subject, RDF_TYPE, iri(SCHEMA + kind))
    for name, text in extension.values:
        if name == "loc" and subject == _url(text):
            continue
        obj = _url(text) if name in _URL_NAMES else literal(text)
        if name == "duration" and text.isdecimal():
            obj = literal(f"PT{int(text[:9])}S", datatype=XSD + "duration")
        term = terms.get(name)
        yield _line(subject, SCHEMA + term if term else RC + name_of(name), obj)


def _url(text: str) -> str:
    """Return an absolute URL as an IRI, other text as a literal."""
    is_absolute = text.lower().startswith(("http://", "https://"))
    return iri(graph_iri(text)) if is_absolute else literal(text)
