"""Classification of the URLs of a dataset by metadata only, without requests.

The format and media type of a resource take precedence over its URL; the name of a
packing does not describe the content. Files of other formats are recognized, so that
the spreadsheets of a portal are not downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from rdfcrawl.core.formats import FORMATS, HTML
from rdfcrawl.sources.ckan.values import (
    PackageFields,
    iter_objects,
    iter_values,
    solr_time,
    text_of,
)
from rdfcrawl.sources.ckan.vocabularies import read_sections, word_of
from rdfcrawl.uri import BadUri, requestable

if TYPE_CHECKING:
    from rdfcrawl.sources.ckan.api import PortalAddress


class TargetKind(StrEnum):
    """The kind of resource at a URL."""

    DUMP = "dump"  # RDF in a file, packed or not
    SPARQL = "sparql"  # an endpoint
    SITEMAP = "sitemap"  # a (semantic) sitemap
    ARCHIVE = "archive"  # packed, with unknown content
    API = "api"  # a service of another protocol
    PAGE = "page"  # for people; may contain RDF
    UNKNOWN = "unknown"  # no metadata: requested like a page
    FILE = "file"  # data or a document without RDF


Reason = Literal["format", "media_type", "extension", "path", "service", "none"]

_NOT_FETCHED: Final = {TargetKind.ARCHIVE, TargetKind.API, TargetKind.FILE}
FETCHED: Final = frozenset(TargetKind) - _NOT_FETCHED


@dataclass(frozen=True, slots=True)
class DatasetTarget:
    """A requestable URL of a dataset, its kind, and the evidence for the kind.

    Attributes:
        signals: the statements about its content, of all resources with the URL; empty
            if no resource has it.
        modified: the last change of its content, as `solr_time`; may be empty.
        has_hash: its hash is stated.
    """

    url: str
    kind: TargetKind
    reason: Reason
    signals: tuple[str, ...] = ()
    modified: str = ""
    has_hash: bool = False

    def merged(self, other: DatasetTarget) -> DatasetTarget:
        """Return a target with the statements of another resource with its URL."""
        return replace(
            self,
            signals=self.signals + other.signals,
            modified=max(self.modified, other.modified),
            has_hash=self.has_hash or other.has_hash,
        )


_WORDS: Final = {
    name: frozenset(" ".join(lines).split())
    for name, lines in read_sections("formats.txt").items()
}
_RDF_FORMATS: Final = [one for one in FORMATS if one.media_types and one is not HTML]
_RDF_MEDIA_TYPES: Final = frozenset(m for one in _RDF_FORMATS for m in one.media_types)
_RDF_EXTENSIONS: Final = frozenset(e for one in _RDF_FORMATS for e in one.extensions)
# Words in the form of `vocabularies.word_of`
_RDF_WORDS: Final = (
    _RDF_EXTENSIONS | {word_of(one.name) for one in _RDF_FORMATS} | _WORDS["rdf"]
)
_WITHIN: Final = _RDF_WORDS - {"rdfs", "void"}  # decisive among other words
_PACKED: Final = _WORDS["packed"]
_API_WORDS: Final = _WORDS["api"]
_PAGE_WORDS: Final = _WORDS["page"]
_SPARQL_WORDS: Final = _WORDS["sparql"]
_SITEMAP_WORDS: Final = _WORDS["sitemap"]
_FILE_EXTENSIONS: Final = _WORDS["file extensions"]
_KINDS: Final = (
    (_SPARQL_WORDS, TargetKind.SPARQL),
    (_RDF_WORDS, TargetKind.DUMP),
    (_SITEMAP_WORDS, TargetKind.SITEMAP),
    (_PACKED, TargetKind.ARCHIVE),
    (_API_WORDS, TargetKind.API),
    (_PAGE_WORDS, TargetKind.PAGE),
)
_KIND_OF_EXTENSION: Final = (
    (_RDF_EXTENSIONS, TargetKind.DUMP),
    (_FILE_EXTENSIONS, TargetKind.FILE),
    (_PAGE_WORDS, TargetKind.PAGE),
)
_EXTENSIONS = re.compile(r"\.([a-z0-9]{1,10})(?=\.|\Z)")
_SPARQL_PATH = re.compile(r"/(?:sparql|sparql-auth|sparqlendpoint)/?\Z").search
_API_PATH = re.compile(
    r"/(?:wms|wfs|wcs|wmts|csw|odata|soap|graphql|rest/services)(?:/|\Z)"
).search
_API_QUERY = re.compile(
    r"(?:\A|&)service=(?:wms|wfs|wcs|wmts|csw|wps|sos)(?:&|\Z)"
).search
_SITEMAP_NAME = re.compile(r"(?=[\w-]++\.xml(?:\.gz)?\Z)(?:[\w-]*?[_-])?sitemap").match
_AUTHORITY = re.compile(
    r"https?://(?:publications\.europa\.eu/resource/authority/file-type"
    r"|(?:www\.)?iana\.org/assignments/media-types|(?:www\.)?w3\.org/ns/formats)/",
    re.IGNORECASE,
).match
_SURE: Final = frozenset({TargetKind.SPARQL, TargetKind.DUMP, TargetKind.SITEMAP})
_SAYS_NOTHING: Final = frozenset({"", "application/octet-stream", "unknown", "other"})
_EXAMPLE = re.compile(r"(?:example|mapping|meta|api)/", re.IGNORECASE).match


def classify(
    url: str, *, file_format: str = "", media_type: str = "", inner_type: str = ""
) -> DatasetTarget:
    """Classify the target of a URL.

    Args:
        url: absolute.
        file_format: of the resource: a word, media type or the IRI of either.
        media_type: of the resource, or its IRI.
        inner_type: media type of the packed content.

    Raises:
        BadUri: the URL cannot be requested.
    """
    url = requestable(url)
    by_url = _by_url(url)
    words: tuple[tuple[str, Reason], ...] = (
        (file_format, "format"),
        (inner_type, "media_type"),
        (media_type, "media_type"),
    )
    stated = [
        DatasetTarget(url, kind, reason)
        for text, reason in words
        if text and (kind := _by_word(text))
    ]
    # Any statement that a target is RDF wins over other statements.
    sure = [one for one in (*stated, by_url) if one.kind in _SURE]
    known = [one for one in stated if one.kind is not TargetKind.ARCHIVE]
    # The packing says less than the file name.
    packed = stated if by_url.kind is TargetKind.UNKNOWN else []
    return next(iter((*sure, *known, *packed, by_url)))


def iter_targets(
    package: Mapping[str, Any], portal: PortalAddress
) -> Iterator[DatasetTarget]:
    """Yield the places of a dataset's data, each URL once, in the order of resources.

    The URL and the download of a resource are classified by its format; its services
    are APIs or SPARQL endpoints; a landing page or documentation is a page. URLs that
    cannot be requested (counted by the mapping) and the portal's own pages are left
    out.
    """
    found: dict[str, DatasetTarget] = {}
    for target in _iter_all(package):
        is_own_page = target.kind in {TargetKind.PAGE, TargetKind.UNKNOWN} and (
            target.url.startswith((f"{portal.url}/dataset/", f"{portal.url}/api/"))
        )
        if not is_own_page:
            first = found.get(target.url)
            if first and first.kind not in FETCHED:  # another resource may be RDF
                found[target.url] = target.merged(first)
            else:
                found[target.url] = first.merged(target) if first else target
    yield from found.values()


def _iter_all(package: Mapping[str, Any]) -> Iterator[DatasetTarget]:
    resources = package.get("resources")
    for resource in resources if isinstance(resources, list) else ():
        if isinstance(resource, dict) and resource.get("state") != "deleted":
            yield from _iter_resource(PackageFields(resource), package)
    fields = PackageFields(package)
    for key in ("url", "landing_page", "documentation"):
        for one in iter_values(fields.get(key)):
            yield from _classified(text_of(one), file_format="HTML")


def _iter_resource(
    fields: PackageFields, package: Mapping[str, Any]
) -> Iterator[DatasetTarget]:
    metadata = {
        "file_format": fields.text("format"),
        "media_type": fields.text("mimetype"),
        "inner_type": fields.text("mimetype_inner"),
    }
    modified = solr_time(fields.text("last_modified", "modified"))
    stated_hash = fields.text("hash").casefold()
    signals = [modified, stated_hash, fields.text("size"), *metadata.values()]
    if not (modified or stated_hash):  # any change of the metadata may be one of a file
        signals += [text_of(x.get("metadata_modified")) for x in (fields, package)]
    for key in ("download_url", "url", "access_url"):
        for target in _classified(fields.text(key), **metadata):
            yield replace(
                target,
                signals=tuple(signals),
                modified=modified,
                has_hash=bool(stated_hash),
            )
    for service in iter_objects(fields.get("access_services")):
        for url in iter_values(service.get("endpoint_url")):
            for target in _classified(text_of(url)):
                is_endpoint = target.kind is TargetKind.SPARQL
                kind = TargetKind.SPARQL if is_endpoint else TargetKind.API
                yield DatasetTarget(target.url, kind, "service")


def _classified(url: str, **metadata: str) -> Iterator[DatasetTarget]:
    if url:
        with suppress(BadUri):
            yield classify(url, **metadata)


def _by_word(text: str) -> TargetKind | None:
    """Return the kind of a format; None if the text is not informative."""
    text = text.strip().lower()
    if authority := _AUTHORITY(text):
        text = text[authority.end() :]
    essence = text.partition(";")[0].strip().lstrip(".")
    if essence in _SAYS_NOTHING or "://" in essence:
        return None
    if essence in _RDF_MEDIA_TYPES:
        return TargetKind.DUMP
    # `meta/void`, `example/rdf+xml`: the kind of an example or part
    tail = essence.partition("/")[2] if _EXAMPLE(essence) else ""
    subtype = essence.rpartition("/")[2] if "/" in essence else ""
    for word in map(word_of, (essence, tail, subtype)):
        for words, kind in _KINDS:
            if word in words:
                return kind
    parts = set(re.split(r"[^a-z0-9]+", essence))
    names = parts.union(map(word_of, re.split(r"[^a-z0-9+/_-]+", essence)))
    if names & _WITHIN:  # `ttl.gz`, `N-Triples (zip)`
        return TargetKind.DUMP
    is_endpoint = "sparql" in parts and "results" not in parts
    return TargetKind.SPARQL if is_endpoint else TargetKind.FILE


def _by_url(url: str) -> DatasetTarget:
    parts = urlsplit(url.lower())
    if _SPARQL_PATH(parts.path) and "query=" not in parts.query:
        return DatasetTarget(url, TargetKind.SPARQL, "path")
    if _API_PATH(parts.path) or _API_QUERY(parts.query):
        return DatasetTarget(url, TargetKind.API, "path")
    name = parts.path.rpartition("/")[2]
    if _SITEMAP_NAME(name):
        return DatasetTarget(url, TargetKind.SITEMAP, "path")
    extensions = _EXTENSIONS.findall(name)
    is_packed = bool(extensions) and extensions[-1] in _PACKED
    while extensions and extensions[-1] in _PACKED:
        extensions.pop()
    last = extensions[-1] if extensions else ""
    for known, kind in _KIND_OF_EXTENSION:
        if last in known:
            return DatasetTarget(url, kind, "extension")
    kind = TargetKind.ARCHIVE if is_packed else TargetKind.UNKNOWN
    return DatasetTarget(url, kind, "extension" if is_packed else "none")
