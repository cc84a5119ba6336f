"""The table of fields, and the RDF terms for their values.

Unsuitable values become literals and faults.

Source: CKAN's `package_show`; the documentation of ckanext-dcat, "DCAT to CKAN
mapping" (DCAT-AP 1 to 3, DCAT-US 3, HealthDCAT-AP); ckanext-spatial; data.json.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any, Final

from pyoxigraph import NamedNode

from rdfcrawl.core import namespaces
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import ADMS, DCTERMS, HEALTH, PROV, RDF, RDFS, SKOS, XSD
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.terms import MAX_CHARS, mended_iri, note_mended
from rdfcrawl.sources.ckan import vocabularies
from rdfcrawl.sources.ckan.values import (
    PackageFields,
    date_time,
    is_empty,
    is_translated,
    iter_texts,
    iter_values,
    text_of,
)
from rdfcrawl.uri import BadUri, parse_uri


class ValueShape(StrEnum):
    """Conversion of the value of a field."""

    TEXT = "text"  # a literal; a translation has its language
    IRI = "IRI"  # otherwise a literal, and a fault
    IRI_OR_TEXT = "IRI or text"
    DATE = "date"
    COUNT = "whole number"
    DECIMAL = "number"
    DURATION = "duration"
    BOOLEAN = "truth value"
    MAIL = "mail address"
    FREQUENCY = "frequency"
    LANGUAGE = "language"
    FILE_TYPE = "file type"
    MEDIA_TYPE = "media type"
    LICENCE = "licence"
    STATEMENT = "statement"  # an IRI, or a node with a label
    CONCEPT = "concept"  # an IRI, or a node with a preferred label
    IDENTIFIER = "identifier"  # a node with a notation


@dataclass(frozen=True, slots=True)
class MappedField:
    """A property, and the keys of members or extras with its value.

    The first key with a value counts; with `is_list`, the value is a list.
    """

    keys: tuple[str, ...]
    predicate: str
    shape: ValueShape = ValueShape.TEXT
    is_list: bool = False


def _parse_field(line: str) -> MappedField:
    """Return a field of `fields.txt`."""
    name, shape, *keys = line.split()
    prefix, _, local = name.partition(":")
    predicate = getattr(namespaces, prefix) + local
    kind = ValueShape[shape.rstrip("*")]
    return MappedField(tuple(keys), predicate, kind, shape[-1] == "*")


_TABLES: Final = {
    name: tuple(map(_parse_field, lines))
    for name, lines in vocabularies.read_sections("fields.txt").items()
}
DATASET_FIELDS: Final = _TABLES["dataset"]
RESOURCE_FIELDS: Final = _TABLES["resource"]
SERVICE_FIELDS: Final = _TABLES["service"]
AGENT_FIELDS: Final = _TABLES["agent"]
CONTACT_FIELDS: Final = _TABLES["contact"]
# Agents except the publisher: key of the list, or prefix of flat keys
AGENTS: Final = (
    ("creator", f"{DCTERMS}creator"),
    ("contributor", f"{DCTERMS}contributor"),
    ("hdab", f"{HEALTH}hdab"),
)

# `type` of an entry of relationships_as_subject
RELATIONSHIPS: Final = {
    "depends_on": f"{DCTERMS}requires",
    "dependency_of": f"{DCTERMS}isRequiredBy",
    "derives_from": f"{PROV}wasDerivedFrom",
    "has_derivation": f"{PROV}hadDerivation",
    "child_of": f"{DCTERMS}isPartOf",
    "parent_of": f"{DCTERMS}hasPart",
    "links_to": f"{DCTERMS}references",
    "linked_from": f"{DCTERMS}isReferencedBy",
}


TYPE: Final = f"<{RDF}type>"

# Schemes that distinguish an IRI from a text with a colon
_IRI = re.compile(
    r"(?:(?:https?|ftps?|sftp)://[^\s/]|(?:urn|doi|info|tag|ark|mailto):[^\s:])",
    re.IGNORECASE,
).match
_TWO_URLS = re.compile(r"\s(?:https?|ftp)://").search
_MAIL = re.compile(r"[^\s@<>\"(),:;]{1,64}@[^\s@<>\"(),:;]{1,253}\.[^\s@<>\"(),:;.]+")
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?").fullmatch
_DECIMAL = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})").fullmatch
_DURATION = re.compile(
    r"-?P(?=.)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=.)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?"
).fullmatch
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){1,128}").fullmatch


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingLimits:
    """Limits for one dataset: distributions, characters of a text."""

    resources: int = 100_000
    literal_chars: int = 2**20


class DatasetWriter:
    """Builds the terms of one dataset.

    `log` receives `BAD_TERM`, `REPAIRED`, `LITERAL_TOO_LONG`, `TOO_MANY_ENTRIES`.
    """

    def __init__(self, log: FaultLog, limits: MappingLimits) -> None:
        self.log, self.limits = log, limits
        self._n_blank = 0

    def new_blank(self) -> str:
        """Return a new blank node."""
        self._n_blank += 1
        return terms.blank(f"ckan{self._n_blank}")

    def node(self, *iris: Any) -> str:
        """Return the first valid IRI as a term, or a new blank node."""
        return next(filter(None, map(self.iri, iris)), "") or self.new_blank()

    def iri(self, value: Any) -> str:
        """Return an IRI as a term; empty if the value is not an IRI.

        Forbidden characters are escaped like in browsers, and counted.
        """
        text = text_of(value)
        if not text or not _IRI(text) or _TWO_URLS(text) or len(text) > MAX_CHARS:
            return ""
        try:
            return f"<{NamedNode(text).value}>"
        except ValueError:
            pass
        try:
            parse_uri(text)  # browsers accept it as a URL
            found = terms.iri(mended_iri(text))
        except (BadUri, ValueError):
            return ""
        note_mended(self.log, text)
        return found

    def literal(self, text: str, *, datatype: str = "", language: str = "") -> str:
        """Return a literal as a term; empty if the text is too long."""
        if len(text) > self.limits.literal_chars:
            self.log.note(Reason.LITERAL_TOO_LONG, counted(len(text), "character"))
            return ""
        return terms.literal(text, datatype=datatype, language=language)

    def mail(self, value: Any) -> str:
        """Return the `mailto:` IRI of an address; a literal for any other text."""
        text = re.sub(r"\A(?i:mailto:)\s*", "", text_of(value))
        if not text:
            return ""
        if _MAIL.fullmatch(text):
            try:
                return f"<{NamedNode('mailto:' + text).value}>"
            except ValueError:
                pass
        return self.unsuitable(text, "not a mail address")

    def unsuitable(self, text: str, why: str) -> str:
        """Return a literal instead of the expected term, and count the fault."""
        self.log.note(Reason.BAD_TERM, f"{why}: {text[:200]}")
        return self.literal(text)

    # -- the objects of a field ----------------------------------------------------

    def iter_objects(
        self, value: Any, shape: ValueShape
    ) -> Iterator[tuple[str, list[str]]]:
        """Yield the terms of one value, each with statements about the term."""
        match shape:
            case ValueShape.TEXT:
                for text, language in iter_texts(value):
                    yield self.literal(text, language=language), []
            case ValueShape.STATEMENT:
                yield from self._labelled(value, self.iri(value), "label")
            case _ if shape in _NAMED and text_of(value):
                yield self._named(text_of(value), shape)
            case ValueShape.CONCEPT:
                text = text_of(value)
                known = vocabularies.theme(text)
                term = self.iri(text) or (f"<{known}>" if known else "")
                yield from self._labelled(value, term, "prefLabel")
            case ValueShape.IDENTIFIER:
                yield from self._identifier(value)
            case _:
                text = text_of(value)
                if text:
                    yield self.term(text, shape), []
                elif not is_empty(value):
                    self.log.note(Reason.BAD_TERM, f"not a {shape}: {value!r:.200}")

    def term(self, text: str, shape: ValueShape) -> str:
        """Return a text as a term of this shape, or as a literal."""
        match shape:
            case ValueShape.DATE:
                return self.date(text)
            case ValueShape.IRI:
                return self.iri(text) or self.unsuitable(text, "not an IRI")
            case ValueShape.IRI_OR_TEXT:
                return self.iri(text) or self.literal(text)
            case ValueShape.MAIL:
                return self.mail(text)
        return self._lexical(text, shape)

    def _named(self, text: str, shape: ValueShape) -> tuple[str, list[str]]:
        """Return the vocabulary's term for a text, or a node with this label."""
        name, kind = _NAMED[shape]
        known = name(text)
        if iri := self.iri(text) or (f"<{known}>" if known else ""):
            return iri, []
        node = self.new_blank()
        label = self.texts(node, f"<{RDFS}label>", text)
        return node, [terms.statement(node, TYPE, f"<{DCTERMS}{kind}>"), *label]

    def date(self, text: str) -> str:
        """Return a date or time with its datatype; a plain literal for free text."""
        found = _DATE(text)
        if found:
            year, month, day = found.groups()
            try:
                date(int(year), int(month or 1), int(day or 1))
            except ValueError:
                return self.unsuitable(text, "not a date")
            kind = "date" if day else "gYearMonth" if month else "gYear"
            return self.literal(text, datatype=XSD + kind)
        moment = date_time(text)
        if not moment:
            return self.unsuitable(text, "not a date")
        return self.literal(moment, datatype=f"{XSD}dateTime")

    def _lexical(self, text: str, shape: ValueShape) -> str:
        bare = text.removesuffix(".0") if shape is ValueShape.COUNT else text
        is_right, datatype = {
            ValueShape.COUNT: (bare.isascii() and bare.isdigit(), "nonNegativeInteger"),
            ValueShape.DECIMAL: (_DECIMAL(text), "decimal"),
            ValueShape.DURATION: (_DURATION(text), "duration"),
            ValueShape.BOOLEAN: (text.lower() in {"true", "false"}, "boolean"),
        }[shape]
        if not is_right:
            return self.unsuitable(text, f"not a {datatype}")
        lexical = bare.lower() if shape is ValueShape.BOOLEAN else bare
        return self.literal(lexical, datatype=XSD + datatype)

    def hex_binary(self, text: str) -> str:
        """Return a checksum value, typed if the text is hexadecimal."""
        datatype = f"{XSD}hexBinary" if _HEX(text) else ""
        return self.literal(text, datatype=datatype)

    def _labelled(
        self, value: Any, iri: str, label: str
    ) -> Iterator[tuple[str, list[str]]]:
        """Yield the IRI, or a node with the text as its label."""
        if iri:
            yield iri, []
            return
        node, is_concept = self.new_blank(), label == "prefLabel"
        predicate = f"<{SKOS if is_concept else RDFS}{label}>"
        if lines := self.texts(node, predicate, value):
            kind = terms.statement(node, TYPE, f"<{SKOS}Concept>")
            yield node, [kind, *lines] if is_concept else lines

    def texts(self, node: str, predicate: str, value: Any) -> list[str]:
        """Return statements for the texts of a field, with their languages."""
        return [
            terms.statement(node, predicate, label)
            for text, language in iter_texts(value)
            if (label := self.literal(text, language=language))
        ]

    def _identifier(self, value: Any) -> Iterator[tuple[str, list[str]]]:
        text = text_of(value)
        if not text:
            return
        node = self.new_blank()
        notation = terms.statement(node, f"<{SKOS}notation>", self.literal(text))
        yield node, [terms.statement(node, TYPE, f"<{ADMS}Identifier>"), notation]


# Vocabularies, and the class of other terms (DCAT-AP 3.0, ranges).
_NAMED: Final = {
    ValueShape.FREQUENCY: (vocabularies.frequency, "Frequency"),
    ValueShape.LANGUAGE: (vocabularies.language, "LinguisticSystem"),
    ValueShape.FILE_TYPE: (vocabularies.file_type, "MediaTypeOrExtent"),
    ValueShape.MEDIA_TYPE: (vocabularies.media_type, "MediaType"),
    ValueShape.LICENCE: (vocabularies.licence, "LicenseDocument"),
}
# The class of a node for a text, where the range is not a vocabulary.
_CLASSES: Final = {
    f"{DCTERMS}accessRights": f"{DCTERMS}RightsStatement",
    f"{DCTERMS}rights": f"{DCTERMS}RightsStatement",
    f"{DCTERMS}conformsTo": f"{DCTERMS}Standard",
    f"{DCTERMS}provenance": f"{DCTERMS}ProvenanceStatement",
}


def iter_fields(
    fields: PackageFields,
    table: Iterable[MappedField],
    subject: str,
    writer: DatasetWriter,
) -> Iterator[str]:
    """Yield statements for the fields of a table that have values."""
    for field in table:
        value = fields.get(*field.keys)
        if value is None:
            continue
        predicate = f"<{field.predicate}>"
        is_one = not field.is_list or is_translated(value)
        for one in (value,) if is_one else iter_values(value):
            for term, lines in writer.iter_objects(one, field.shape):
                if term:
                    yield terms.statement(subject, predicate, term)
                    if lines and (kind := _CLASSES.get(field.predicate)):
                        yield terms.statement(term, TYPE, f"<{kind}>")
                    yield from lines


def only_terms(lines: Iterable[str]) -> Iterator[str]:
    """Leave out statements with an empty object, which was too long."""
    return (line for line in lines if not line.endswith(">  .\n"))
