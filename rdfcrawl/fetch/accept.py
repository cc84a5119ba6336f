"""`Accept` headers: what the crawler can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.records import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_RDF: Final = (
    "application/n-quads, application/trig, application/n-triples;q=0.95, "
    "text/turtle;q=0.9, application/ld+json;q=0.85, application/rdf+xml;q=0.8"
)
# Read by readers of our own, slower, and seldom served without one of the above.
_RARE: Final = (
    "text/n3;q=0.7, application/trix;q=0.6, application/rdf+json;q=0.6, "
    "application/hex+x-ndjson;q=0.6"
)

ACCEPT: Final = {
    # A server that negotiates must find a concrete type: many answer a bare `*/*`
    # with HTML, and some answer 406 where nothing matches, hence the last range.
    Kind.PAGE: f"{_RDF}, {_RARE}, application/xhtml+xml;q=0.4, text/html;q=0.3, "
    "*/*;q=0.1",
    # A dump is a file: archives and octet streams are as good as RDF types. HDT is
    # a file of everything, which nobody wants instead of a page.
    Kind.DUMP: f"{_RDF}, {_RARE}, application/vnd.hdt;q=0.7, application/gzip;q=0.7, "
    "*/*;q=0.5",
    Kind.SITEMAP: "application/xml, text/xml;q=0.9, text/plain;q=0.8, "
    "application/rss+xml;q=0.8, application/atom+xml;q=0.8, */*;q=0.5",
    Kind.RESOURCESYNC: "application/xml, text/xml;q=0.9, */*;q=0.5",
    Kind.CKAN: "application/json, */*;q=0.1",
    Kind.SPARQL: "application/sparql-results+json, application/n-triples;q=0.9, "
    "text/turtle;q=0.8, */*;q=0.1",
    Kind.REQUEST: "*/*",  # the request says it
    Kind.CUSTOM: "*/*",
    Kind.WARC: "application/warc, application/gzip;q=0.9, */*;q=0.5",
}
"""`Accept` header of each kind: explicit types first, any type last and least."""


def accept_also(media_types: Iterable[str]) -> Mapping[Kind, str]:
    """Return the headers with further types, behind the common ones of RDF."""
    also = "".join(f", {each};q=0.7" for each in media_types)
    if not also:
        return ACCEPT
    return ACCEPT | {kind: ACCEPT[kind] + also for kind in (Kind.PAGE, Kind.DUMP)}


ROBOTS_ACCEPT: Final = "text/plain, */*;q=0.1"
"""`Accept` header for robots.txt (RFC 9309 2.3: served as text/plain)."""

ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"
"""The content codings that `content_encoding` can undo."""
