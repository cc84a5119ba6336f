"""Read responses of OAI-PMH: records in Dublin Core or RDF, and the next request.

A record in Dublin Core, simple or qualified, becomes statements about its item; one in
RDF/XML is read as such. Text that is not well-formed is mended like RDF/XML.

Source: The Open Archives Initiative Protocol for Metadata Harvesting 2.0 (2015).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import DC, DCTERMS, RDF, XML
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.iris import is_iri, is_web_url
from rdfcrawl.rdf.markup import NO_TEXT, MarkupScanner, StartTag
from rdfcrawl.rdf.rdf_xml import RdfXmlReader

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ParseLimits

_OAI_DC: Final = "http://www.openarchives.org/OAI/2.0/oai_dc/"
_OWN: Final = "http://www.openarchives.org/OAI/"  # also of versions 1.0 and 1.1
_IS_OWN = re.compile(rf"{re.escape(_OWN)}.*/")
_DUBLIN_CORE: Final = {
    DC: DC,
    DCTERMS: DCTERMS,
    "http://purl.org/dc/elements/1.0/": DC,
    "http://purl.org/dc/qualifiers/1.0/": DCTERMS,
}
_ELEMENTS: Final = frozenset(
    {"contributor", "coverage", "creator", "date", "description", "format"}
    | {"identifier", "language", "publisher", "relation", "rights", "source"}
    | {"subject", "title", "type"}
)
_HEADER = re.compile(r"\s*+<(?:[\w.-]++:)?header[\s>]")
_HEADER_CHARS: Final = 200
_TEXTS: Final = frozenset({"identifier", "title", "description", "abstract"})
_IDENTIFIERS: Final = frozenset({f"{DC}identifier", f"{DCTERMS}identifier"})
_NODE: Final = frozenset({"about", "ID", "nodeID"})
# Arguments of requests; the rest of a query belongs to the base URL.
_ARGUMENTS: Final = frozenset(
    {"verb", "identifier", "metadataPrefix", "from", "until", "set", "resumptionToken"}
)


@dataclass(slots=True)
class OaiRecord:
    """A record, or the header of one.

    Attributes:
        identifier: of its item; white space around it is removed.
        datestamp: of its last change, as written.
        is_deleted: it was deleted, and has no metadata.
        lines: its statements, unchecked.
        has_metadata: the record has metadata, in whatever format.
    """

    identifier: str = ""
    datestamp: str = ""
    is_deleted: bool = False
    lines: list[str] = field(default_factory=list)
    has_metadata: bool = False


@dataclass(slots=True)
class OaiResponse:
    """Everything in a response but its records.

    Attributes:
        date: of the response, by the clock of the repository.
        errors: code and text of each.
        token: to request the rest of the list; empty at its end, None without any.
        fields: of `Identify`, such as `granularity`; the first value of each.
        prefixes: of `ListMetadataFormats`, with the namespace of each.
        is_complete: the response was read to its end.
    """

    is_found: bool = False
    date: str = ""
    errors: list[tuple[str, str]] = field(default_factory=list)
    token: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)
    is_complete: bool = False


def base_of(url: str) -> tuple[str, dict[str, str]]:
    """Return the base URL of a repository in the URL of a request, and its arguments.

    >>> base_of("http://e.example/oai?verb=ListRecords&set=a")
    ('http://e.example/oai', {'verb': 'ListRecords', 'set': 'a'})
    """
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    own = {name: value for name, value in pairs if name in _ARGUMENTS}
    rest = [pair for pair in pairs if pair[0] not in _ARGUMENTS]
    query = urlencode(rest) if own else parts.query
    return parts._replace(query=query, fragment="").geturl(), own


def request_url(base: str, **arguments: str) -> str:
    """Return the URL of a request, with percent-encoded arguments; empty ones are none.

    >>> request_url("http://e.example/oai", verb="GetRecord", identifier="oai:e:1")
    'http://e.example/oai?verb=GetRecord&identifier=oai%3Ae%3A1'
    """
    given = {name.rstrip("_"): value for name, value in arguments.items() if value}
    separator = "&" if "?" in base else "?"
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in given.items())
    return f"{base}{separator}{query}"


def record_url(base: str, identifier: str, prefix: str) -> str:
    """Return the URL of a record, which names its document."""
    return request_url(
        base, verb="GetRecord", identifier=identifier, metadataPrefix=prefix
    )


def read_oai_pmh(
    file: BinaryIO, *, base: str, limits: ParseLimits, log: FaultLog
) -> Iterator[str]:
    """Yield the statements of all records in a response in UTF-8, unchecked, in order.

    Raises:
        SourceFault: entities that grow too much, or a tag that is too long.
    """
    reader = OaiReader(file, base_of(base)[0], limits=limits, log=log)
    for record in reader.records():
        yield from record.lines
    if reader.cut is not None:
        yield from reader.cut.lines


class OaiReader:
    """Reader of a response; `response` is complete after the records are read.

    `cut` is then a record that is not complete, with the statements before its end.

    Args:
        file: the response, in UTF-8.
        base: base URL of the repository; records of items without an IRI are named by
            it.
        prefix: of the metadata, for these names.
    """

    def __init__(
        self,
        file: BinaryIO,
        base: str,
        *,
        limits: ParseLimits,
        log: FaultLog,
        prefix: str = "oai_dc",
    ) -> None:
        self._markup = MarkupScanner(file, log)
        self._base, self._prefix = base, prefix
        self._limits, self._log = limits, log
        self.response = OaiResponse()
        self.cut: OaiRecord | None = None
        self._path: list[str] = []
        self._own = _OWN  # namespace
        self._texts: list[str] = []
        self._record: OaiRecord | None = None
        self._metadata = _Metadata()
        self._rdf: RdfXmlReader | None = None
        self._depth = self._n_records = 0
        self._n_inside = 0  # open elements in a value
        # Elements in a value, and where their texts begin
        self._inside: list[tuple[str, int]] = []
        self._values: list[tuple[str, str]] = []  # of these elements
        self._format = ""  # prefix of a format whose namespace follows
        self._code = ""  # of an error

    def records(self) -> Iterator[OaiRecord]:
        """Yield the records in order, each when it is complete.

        Raises:
            SourceFault: see `read_oai_pmh`.
        """
        for event in self._markup.events():
            if isinstance(event, StartTag) and self._lacks_end(event):
                del self._path[self._path.index("record") :]
                self._rdf, self._n_inside = None, 0
                if (record := self._take()) is not None:
                    yield record
            if self._rdf is not None:
                self._feed_rdf(self._rdf, event)
            elif isinstance(event, StartTag):
                self._start(event)
            elif isinstance(event, bool):
                record = self._end(is_closed=event)
                if record is not None:
                    yield record
            elif type(event) is str:
                self._texts.append(event)
        if self._identifier():
            self.cut = self._take()
        self.response.is_complete = self.response.is_found and not self._markup.is_cut

    def _local(self, name: str) -> str:
        """Return a name without the namespace of the protocol: that of the root."""
        if not self._path and name.endswith("OAI-PMH"):
            self._own = name.removesuffix("OAI-PMH")
            if self._own and not _IS_OWN.fullmatch(self._own):
                self._log.note(Reason.REPAIRED, f"namespace {self._own[:100]}")
        name = name.removeprefix(self._own)
        return name.rpartition("/")[2] if name.startswith(_OWN) else name

    def _lacks_end(self, tag: StartTag) -> bool:
        """Return whether a tag begins a record within another one."""
        is_record = tag.name.endswith("record") and "record" in self._path
        return is_record and bool(_HEADER.match(self._markup.ahead(_HEADER_CHARS)))

    def _start(self, tag: StartTag) -> None:
        if self._n_inside or (self._is_in_value and not tag.name.startswith(RDF)):
            self._n_inside += 1
            self._inside.append((tag.name, len(self._texts)))
            return
        self._texts.clear()
        self._values.clear()
        if "metadata" in self._path:
            self._start_metadata(tag)
            return
        local = self._local(tag.name)
        self._path.append(local)
        attributes = {name: value for _, name, value in tag.attributes}
        if local == "OAI-PMH":
            self.response.is_found = True
        elif local == "error":
            self._code = attributes.get("code", "").strip()
        elif local == "record" or (local == "header" and self._record is None):
            self._record = OaiRecord()
            self._n_records += 1
            self._metadata = _Metadata()
        if local == "header" and self._record is not None:
            self._record.is_deleted = attributes.get("status", "") == "deleted"
        elif local == "metadata" and self._record is not None:
            self._record.has_metadata = True

    @property
    def _is_in_value(self) -> bool:
        is_element = len(self._path) > 1 and self._path[-2] != "metadata"
        namespace = f"{self._path[-1].rpartition('/')[0]}/" if is_element else ""
        return namespace in _DUBLIN_CORE and "metadata" in self._path

    def _start_metadata(self, tag: StartTag) -> None:
        name = tag.name
        if tag.qualified.endswith(" dc") and self._metadata.root.startswith(_OAI_DC):
            name = name.replace(DCTERMS, DC)  # an undeclared prefix
        self._path.append(name)
        is_node = any(
            namespace == RDF and name in _NODE for namespace, name, _ in tag.attributes
        )
        if tag.name == f"{RDF}RDF" or (is_node and self._path[-2] == "metadata"):
            url = record_url(self._base, self._identifier(), self._prefix)
            self._rdf = RdfXmlReader(
                url, limits=self._limits, log=self._log, scope=f"r{self._n_records}"
            )
            self._depth = 0
            self._feed_rdf(self._rdf, tag)
        elif self._path[-2] == "metadata":
            self._metadata.root = tag.name
        self._metadata.language = next(
            (x for space, name, x in tag.attributes if (space, name) == (XML, "lang")),
            "",
        )

    def _feed_rdf(self, reader: RdfXmlReader, event: str | StartTag | bool) -> None:
        lines = reader.feed(event, self._markup)
        if self._record is not None:
            self._record.lines += lines
            self._metadata.is_rdf = True
        if isinstance(event, StartTag):
            self._depth += 1
        elif isinstance(event, bool):
            self._depth -= 1
            if not self._depth:
                self._rdf = None
                self._path.pop()

    def _end(self, *, is_closed: bool) -> OaiRecord | None:
        """Close an element, or one without end; return the record that it completes."""
        if self._n_inside:
            self._n_inside -= 1
            inner, begin = self._inside.pop()
            if is_closed:
                self._values.append((inner, "".join(self._texts[begin:]).strip()))
            return None
        name = self._path.pop() if self._path else ""
        text = "".join(self._texts).strip()
        self._texts.clear()
        if self._values:
            self._end_value(name, is_closed=is_closed)
            text = text if is_closed else ""
        around = self._path[-1] if self._path else ""
        if "metadata" in self._path:
            self._end_metadata(name, text, around)
            return None
        text = text.replace(NO_TEXT, "\ufffd")
        if name == "record" or (name == "header" and around != "record"):
            return self._take()
        if around == "header" and self._record is not None:
            if name == "identifier" and self._record.identifier:
                self._log.note(Reason.SYNTAX, f"{self._name()}: another identifier")
            elif name == "identifier":
                self._record.identifier = text
            elif name == "datestamp":
                self._record.datestamp = text
        else:
            self._end_field(name, text, around)
        return None

    def _end_value(self, name: str, *, is_closed: bool) -> None:
        """Note elements in a value; if it has no end, they are values themselves."""
        values, self._values = self._values, []
        if is_closed:
            self._log.note(Reason.REPAIRED, f"{self._name()}: markup in a value")
            return
        local = name.rpartition("/")[2]
        self._log.note(Reason.SYNTAX, f"{self._name()}: {local} has no end")
        for inner, text in values:
            self._end_metadata(inner, text, name)

    def _end_field(self, name: str, text: str, around: str) -> None:
        response = self.response
        if name == "error":
            response.errors.append((self._code, text))
        elif name == "responseDate":
            response.date = text
        elif name == "resumptionToken":
            response.token = text
        elif around == "Identify":
            response.fields.setdefault(name, text)
        elif name == "metadataPrefix":
            self._format = text
            response.prefixes.setdefault(text, "")
        elif name == "metadataNamespace":
            response.prefixes[self._format] = text

    def _end_metadata(self, name: str, text: str, around: str) -> None:
        namespace, _, local = name.rpartition("/")
        known = _DUBLIN_CORE.get(f"{namespace}/")
        if known is None and name in _ELEMENTS and around != "metadata":
            known, local = DC, name
            self._log.note(Reason.REPAIRED, f"{self._name()}: {name} without namespace")
        if known is not None and around != "metadata":
            if text:
                found = known + local, text, self._metadata.language
                self._metadata.values.append(found)
        elif text and not self._metadata.is_rdf:
            self._metadata.n_others += 1

    def _take(self) -> OaiRecord | None:
        record, self._record = self._record, None
        if record is None:
            return None
        if not record.identifier:
            place = self._markup.place()
            self._log.note(Reason.SYNTAX, f"{place}a record without identifier")
            return None
        metadata = self._metadata
        if record.is_deleted and (metadata.values or record.lines):
            detail = f"{record.identifier}: metadata of a deleted record"
            self._log.note(Reason.SYNTAX, detail)
            record.lines.clear()
        elif metadata.values:
            record.lines += self._statements(record, metadata)
        if metadata.n_others and metadata.values:
            detail = f"{record.identifier}: elements that are no Dublin Core"
            self._log.note(Reason.UNSUPPORTED_FORMAT, detail, metadata.n_others)
        elif record.has_metadata and not (record.lines or metadata.is_rdf):
            detail = f"{record.identifier}: {metadata.root or 'no metadata'}"
            reason = Reason.UNSUPPORTED_FORMAT if metadata.root else Reason.EMPTY
            if metadata.n_others or not metadata.root:
                self._log.note(reason, detail)
        return record

    def _statements(self, record: OaiRecord, metadata: _Metadata) -> Iterator[str]:
        subject = self._subject(record, metadata)
        for predicate, text, language in metadata.values:
            if NO_TEXT in text:
                self._log.note(Reason.BAD_TERM, f"{record.identifier}: an entity")
                continue
            is_text = predicate.rpartition("/")[2] in _TEXTS
            if not is_text and is_web_url(text):
                obj = terms.iri(text)
            else:
                tag = terms.language_tag(language)
                if tag != language.strip():
                    terms.note_language(self._log, language)
                obj = terms.literal(text, language=tag.lower())
            yield terms.statement(subject, terms.iri(predicate), obj)

    def _subject(self, record: OaiRecord, metadata: _Metadata) -> str:
        """Return the term of an item: its first identifier that is a URL, else its own.

        An identifier that is no IRI is replaced by the URL of the record.
        """
        for predicate, text, _ in metadata.values:
            if predicate in _IDENTIFIERS and is_web_url(text):
                return terms.iri(text)
        if is_iri(record.identifier):
            return terms.iri(record.identifier)
        return terms.iri(record_url(self._base, record.identifier, self._prefix))

    def _identifier(self) -> str:
        return self._record.identifier if self._record is not None else ""

    def _name(self) -> str:
        return self._identifier() or self._markup.place().rstrip(": ")


@dataclass(slots=True)
class _Metadata:
    """The metadata of a record so far."""

    root: str = ""  # name of their first element
    values: list[tuple[str, str, str]] = field(default_factory=list)
    language: str = ""  # of the current element
    n_others: int = 0  # elements of other vocabularies
    is_rdf: bool = False
