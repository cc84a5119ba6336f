r"""Statements of documents about datasets and access to their data.

    <d> void:dataDump <f> . <e> sd:endpoint <q> . <x> dcat:downloadURL <g> .

Sources: VoID (W3C Note 2011) sections 3 and 4, DCAT 3 sections 6.7 and 6.8, SPARQL 1.1
Service Description section 3, schema.org `DataDownload`, Semantic Sitemaps section 2.2.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core import namespaces
from rdfcrawl.core.namespaces import DCAT, DCTERMS, SD, VOID
from rdfcrawl.rdf.graphs import is_crawls
from rdfcrawl.uri import BadUri

if TYPE_CHECKING:
    from rdfcrawl.sources.ckan.targets import TargetKind

MAX_FACTS: Final = 100_000  # of one document

_SCHEMA = (namespaces.SCHEMA, namespaces.SCHEMA_HTTPS)


# not an IRI, so not the name of a graph
DEFAULT_GRAPH: Final = "default"


class AccessMethod(StrEnum):
    """A method to access the data of a dataset."""

    DUMP = "dump"
    FRAGMENTS = "fragments"
    SPARQL = "sparql"
    PREFIX = "prefix"


@dataclass(frozen=True, slots=True)
class DatasetAccess:
    """One way to access a dataset.

    Attributes:
        parts: all are needed; of each, the first working mirror. The mirrors of SPARQL
            have the same data; those of `PREFIX` are start URLs.
        graphs: of `SPARQL`, the graphs with the dataset: names, `DEFAULT_GRAPH`, or `*`
            for all; empty if no sitemap names them.
    """

    way: AccessMethod
    parts: tuple[tuple[str, ...], ...]
    graphs: tuple[str, ...] = ()

    def place_of(self, url: str) -> str:
        """Return the key of one of its URLs, as a place of data."""
        return place_of(url, self.graphs)

    @property
    def urls(self) -> tuple[str, ...]:
        """All its URLs, including mirrors."""
        return tuple(url for mirrors in self.parts for url in mirrors)


def place_of(url: str, graphs: Collection[str] = ()) -> str:
    """Return a key for a file, or for graphs of an endpoint."""
    return " ".join((url, *graphs))


@dataclass(frozen=True, slots=True)
class NamedDistribution:
    """A distribution of a dataset, named by a document."""

    dataset: str  # IRI, or a substitute within the document
    way: AccessMethod  # kind of access
    url: str  # absolute, as written; not checked
    formats: tuple[str, ...] = ()  # media types, names, IRIs
    is_unknown: bool = False  # nothing says whether the file is RDF


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDescriptions:
    """Descriptions of datasets in one document."""

    # distributions, in the order of the document
    named: tuple[NamedDistribution, ...] = ()
    links: tuple[str, ...] = ()  # pages about datasets, or pages that may contain data
    # dataset -> prefixes of its URIs
    spaces: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # dataset -> digest of the dates of its changes and of those of its distributions
    modified: dict[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()  # URLs of data that is declared not to be RDF
    # names among `named` of services that belong to no dataset
    services: frozenset[str] = frozenset()

    def with_service(self, own: str, replaced: Iterable[str]) -> DatasetDescriptions:
        """Return a copy with the endpoint that the document itself describes.

        Args:
            own: URL of the endpoint and of the document; empty if there is none.
            replaced: URLs that are not endpoints, or other names of `own`.
        """
        gone = set(replaced)
        named = [
            x
            for x in self.named
            if x.way is not AccessMethod.SPARQL or x.url not in gone
        ]
        if own and own not in (x.url for x in named):
            named.append(NamedDistribution(own, AccessMethod.SPARQL, own))
        return replace(self, named=tuple(named), services=self.services | {own})

    @property
    def is_empty(self) -> bool:
        """Whether the document describes no dataset."""
        return not (self.named or self.links)

    def without(self, way: AccessMethod) -> DatasetDescriptions:
        """Return a copy without one kind of access."""
        return replace(self, named=tuple(x for x in self.named if x.way is not way))


# Predicates that name a URL, and predicates that describe the URL.
_WAYS: Final = {
    VOID + "dataDump": AccessMethod.DUMP,
    VOID + "sparqlEndpoint": AccessMethod.SPARQL,
    SD + "endpoint": AccessMethod.SPARQL,
    SD + "url": AccessMethod.SPARQL,  # in drafts; Virtuoso uses both
}
_DOWNLOAD: Final = DCAT + "downloadURL"
_ACCESS: Final = DCAT + "accessURL"  # may be a page about the file
_CONTENTS: Final = frozenset(each + "contentUrl" for each in _SCHEMA)  # for all media
_FILES: Final = frozenset({_DOWNLOAD, _ACCESS}) | _CONTENTS
_SERVICE: Final = DCAT + "endpointURL"  # of any kind
_PAGES: Final = frozenset(
    VOID + name for name in ("rootResource", "exampleResource", "subset")
)
_WITHIN: Final = VOID + "inDataset"
_SPACE: Final = VOID + "uriSpace"
_PATTERN: Final = VOID + "uriRegexPattern"
_FORMATS: Final = frozenset(
    {DCAT + "mediaType", DCTERMS + "format", DCTERMS + "conformsTo"}
    | {each + "encodingFormat" for each in _SCHEMA}
)
_PARTS: Final = frozenset(
    {DCAT + "distribution", DCAT + "accessService"}
    | {each + "distribution" for each in _SCHEMA}
)
_SERVED: Final = DCAT + "servesDataset"
_MODIFIED: Final = frozenset(
    {DCTERMS + "modified"} | {each + "dateModified" for each in _SCHEMA}
)
_LABELS: Final = (namespaces.RDF + "value", namespaces.RDFS + "label")  # of formats

_PREDICATES: Final = (
    *_WAYS, *_FILES, *_FORMATS, *_PARTS, *_PAGES, _SERVICE, _SERVED, _SPACE, _PATTERN,
    _WITHIN,
)  # fmt: skip
_DATED: Final = b"odified> "  # at the end of the predicates of `_MODIFIED`
# Chunks without any of these have none of the predicates; long ones are found faster.
_MARKS: Final = (SD.encode(), VOID.encode(), DCAT.encode(), b"://schema.org/")
_OBJECT: Final = rb'(<[^>\n]*+>|_:[^ \n]*+|"(?:[^"\\\n]|\\.)*+")'


def _any_of(predicates: Iterable[str]) -> bytes:
    return b"|".join(re.escape(each.encode()) for each in predicates)


_find = re.compile(
    rb"\n(<[^>\n]*+>|_:[^ \n]*+) <(%s)> %s" % (_any_of(_PREDICATES), _OBJECT)
).findall
_find_labels = re.compile(
    rb"\n(_:[^ \n]*+) <(?:%s)> %s" % (_any_of(_LABELS), _OBJECT)
).findall
_find_dates = re.compile(
    rb"\n(<[^>\n]*+>|_:[^ \n]*+) <(?:%s)> %s" % (_any_of(_MODIFIED), _OBJECT)
).findall
_is_web = re.compile(r"(?i:https?|ftps?)://[^\x00-\x20<>\"]+").fullmatch
_is_prefix = re.compile(r"https?://[^/\x00-\x20<>\"]+/[^\x00-\x20<>\"#]*").fullmatch
_ALL: Final = re.compile(r"\(?\.[*+]\)?\$?\Z")  # an open end
_SPECIAL: Final = re.compile(r"[\[\](){}*+?|^$]")
_escaped = re.compile(r"\\(.)").sub
_WITHIN_BYTES: Final = _WITHIN.encode()
_MAX_OFFERS: Final = 3
_MAX_PARTS: Final = 3  # dataset, distribution, service


class _SortedFiles(NamedTuple):
    """Files with data, of unknown format, pages, and URLs that are left out."""

    data: list[NamedDistribution]
    unknown: list[NamedDistribution]
    pages: dict[str, None]
    left_out: set[str]


@dataclass(slots=True)
class AccessScan:
    """Collects descriptions of datasets from the statements of one document.

    `urls` has the URLs of distributions so far, in UTF-8; they are not ordinary links.
    `datasets` has the first documents about datasets that the document is in.
    """

    urls: set[bytes] = field(default_factory=set)
    datasets: dict[str, None] = field(default_factory=dict)
    _named: dict[tuple[str, str, AccessMethod], None] = field(default_factory=dict)
    _files: dict[tuple[str, str], str] = field(default_factory=dict)  # -> predicate
    _services: dict[tuple[str, str], None] = field(default_factory=dict)
    _datasets: set[str] = field(default_factory=set)  # with an endpoint
    _pages: dict[str, None] = field(default_factory=dict)
    _spaces: dict[str, dict[str, None]] = field(default_factory=dict)
    _formats: dict[str, list[str]] = field(default_factory=dict)
    _labels: dict[str, list[str]] = field(default_factory=dict)  # of blank formats
    _dates: dict[str, list[str]] = field(default_factory=dict)  # of changes
    _dataset_of: dict[str, str] = field(default_factory=dict)  # part -> dataset
    _n_facts: int = 0

    def feed(self, chunk: bytes) -> None:
        """Process the next complete lines of canonical N-Quads."""
        if not any(mark in chunk for mark in _MARKS):
            return
        lines = b"\n" + chunk
        for subject, predicate, obj in _find(lines):
            if self._n_facts >= MAX_FACTS:
                return
            if predicate == _WITHIN_BYTES:  # a dump has millions
                if len(self.datasets) < _MAX_OFFERS:
                    self.datasets[_decoded(obj)[1:-1].partition("#")[0]] = None
                continue
            self._n_facts += 1
            self._take(*map(_decoded, (subject, predicate, obj)))
        if b"/ns/dcat#" in chunk:
            self._take_texts(_find_labels(lines), self._labels)
        if self._n_facts and _DATED in chunk:
            self._take_texts(_find_dates(lines), self._dates)

    def _take_texts(
        self, found: list[tuple[bytes, bytes]], texts: dict[str, list[str]]
    ) -> None:
        for subject, obj in found:
            if self._n_facts >= MAX_FACTS:
                return
            self._n_facts += 1
            texts.setdefault(_decoded(subject), []).append(_text(_decoded(obj)))

    def _take(self, subject: str, predicate: str, obj: str) -> None:
        if predicate in _FORMATS:
            self._formats.setdefault(subject, []).append(obj)
        elif predicate == _SERVED:
            self._dataset_of.setdefault(subject, obj)
        elif predicate in _PARTS:
            self._dataset_of.setdefault(obj, subject)
        elif predicate in (_SPACE, _PATTERN):
            find = space_of if predicate == _SPACE else space_of_pattern
            if space := find(_text(obj)):
                self._spaces.setdefault(subject, {})[space] = None
        elif _is_web(obj[1:-1]):
            self._take_url(subject, predicate, obj[1:-1].partition("#")[0])

    def _take_url(self, subject: str, predicate: str, url: str) -> None:
        if predicate == _SERVICE:
            self._services[subject, url] = None
            return
        self.urls.add(url.encode())
        if predicate in _PAGES:
            self._pages[url] = None
        elif predicate in _FILES:
            self._files.setdefault((subject, url), predicate)
        else:
            self._named[subject, url, _WAYS[predicate]] = None
            if not predicate.startswith(SD):
                self._datasets.add(subject)

    def read(self, document_url: str) -> DatasetDescriptions:
        """Return the descriptions; `document_url` names datasets without an IRI.

        A data service is an endpoint if it is declared to support SPARQL. A file is a
        dump if its format or name says so; of unknown format, a page, whose content
        decides, or a link if its dataset has other files.
        """
        if not self._n_facts:  # the common case
            return DatasetDescriptions()
        accesses = [
            self._access(subject, way, url, document_url)
            for subject, url, way in self._named
        ]
        files, unknown, links, left_out = self._sorted_files(document_url)
        accesses += files
        for subject, url in self._services:
            access = self._access(subject, AccessMethod.SPARQL, url, document_url)
            if any("sparql" in each.lower() for each in access.formats):
                accesses.append(access)
        # Where nothing else has the data, the content decides.
        known = {access.dataset for access in accesses}
        known.update(self._name(subject, document_url) for subject in self._spaces)
        taken = {access.url for access in accesses}
        unknown = [x for x in unknown if x.dataset not in known and x.url not in taken]
        accesses += unknown
        taken.update(each.url for each in unknown)
        return DatasetDescriptions(
            named=tuple(dict.fromkeys(accesses)),
            links=tuple(url for url in links if url not in taken),
            spaces={
                self._name(subject, document_url): tuple(spaces)
                for subject, spaces in self._spaces.items()
            },
            modified=self._modified(document_url) if self._dates else {},
            left_out=tuple(sorted(left_out - taken)),
            services=frozenset(self._iter_services(document_url)),
        )

    def _sorted_files(self, document_url: str) -> _SortedFiles:
        from rdfcrawl.sources.ckan.targets import FETCHED, TargetKind

        accesses: list[NamedDistribution] = []
        links = dict(self._pages)
        left_out: set[str] = set()
        unknown: list[NamedDistribution] = []
        for subject, url, predicate in self._iter_files():
            kind = self._kind(subject, url)
            if kind in (TargetKind.DUMP, TargetKind.SPARQL):
                way = AccessMethod(kind)
                accesses.append(self._access(subject, way, url, document_url))
            elif kind is not None and kind not in FETCHED:
                left_out.add(url)
            elif kind is not None and (
                predicate not in _CONTENTS or subject in self._dataset_of
            ):
                links[url] = None
                if predicate != _ACCESS:
                    file = self._access(subject, AccessMethod.DUMP, url, document_url)
                    unknown.append(replace(file, is_unknown=True))
        return _SortedFiles(accesses, unknown, links, left_out)

    def _iter_services(self, document_url: str) -> Iterator[str]:
        """Yield the names of described services that belong to no dataset."""
        described = {
            subject for subject, _, way in self._named if way is AccessMethod.SPARQL
        }
        described.update(subject for subject, _ in self._services)
        for subject in described - self._datasets - self._dataset_of.keys():
            yield self._name(subject, document_url)

    def _modified(self, document_url: str) -> dict[str, str]:
        dates: dict[str, set[str]] = {}
        for subject, texts in self._dates.items():
            dates.setdefault(self._name(subject, document_url), set()).update(texts)
        return {
            name: blake2b(repr(sorted(texts)).encode(), digest_size=8).hexdigest()
            for name, texts in dates.items()
        }

    def _iter_files(self) -> Iterator[tuple[str, str, str]]:
        """Yield files; an `accessURL` only without a `downloadURL`."""
        direct = {who for (who, _), name in self._files.items() if name == _DOWNLOAD}
        for (subject, url), predicate in self._files.items():
            if predicate != _ACCESS or subject not in direct:
                yield subject, url, predicate

    def _kind(self, subject: str, url: str) -> TargetKind | None:
        """Return the kind of target; None if the URL cannot be requested.

        An endpoint must be declared: a path such as `/sparql` is not enough.
        """
        from rdfcrawl.sources.ckan.targets import TargetKind, classify

        kinds = []
        for text in self._formats_of(subject) or ("",):
            try:
                target = classify(url, file_format=text)
            except BadUri:
                return None
            if target.kind is TargetKind.SPARQL and target.reason == "path":
                kinds.append(TargetKind.UNKNOWN)
            elif target.reason == "format":
                kinds.insert(0, target.kind)
            else:
                kinds.append(target.kind)
        sure = (x for x in (TargetKind.SPARQL, TargetKind.DUMP) if x in kinds)
        return next(sure, kinds[0])

    def _formats_of(self, subject: str) -> tuple[str, ...]:
        texts: list[str] = []
        for term in self._formats.get(subject, ()):
            blank = term.startswith("_:")
            texts += self._labels.get(term, ()) if blank else (term[1:-1],)
        return tuple(texts)

    def _access(
        self, subject: str, way: AccessMethod, url: str, document_url: str
    ) -> NamedDistribution:
        name = self._name(subject, document_url)
        return NamedDistribution(name, way, url, self._formats_of(subject))

    def _name(self, subject: str, document_url: str) -> str:
        dataset = subject
        for _ in range(_MAX_PARTS):
            dataset = self._dataset_of.get(dataset, dataset)
        if dataset.startswith("<") and not is_crawls(dataset[1:-1]):
            return dataset[1:-1]
        return f"{document_url}#{dataset.removeprefix('_:').strip('<>')}"


def _decoded(term: bytes) -> str:
    return term.decode("utf-8", "replace")


def _text(term: str) -> str:
    """Return the text of a literal or an IRI, unescaping single characters."""
    return re.sub(r"\\(.)", r"\1", term[1:-1])


# -- URI spaces: VoID section 4.2 --------------------------------------------------


def space_of(text: str) -> str:
    """Return the prefix in a `void:uriSpace`; empty if unusable.

    A prefix without a path would include other hosts.
    """
    return text if _is_prefix(text) else ""


def space_of_pattern(pattern: str) -> str:
    r"""Return the prefix of a `void:uriRegexPattern`; empty for other patterns.

    >>> space_of_pattern(r"^http://a\.example/r/.*")
    'http://a.example/r/'
    >>> space_of_pattern(r"^http://a\.example/r/[0-9]+$")
    ''
    """
    body = pattern.removeprefix("^")
    is_open = bool(_ALL.search(body))
    body = _ALL.sub("", body)
    if not is_open and body.endswith("$"):
        return ""
    literal = re.sub(r"\\[^A-Za-z0-9]", "", body)
    if _SPECIAL.search(literal) or "\\" in literal:
        return ""
    return space_of(_escaped(r"\1", body))
