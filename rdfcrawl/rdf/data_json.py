"""Read catalogs of DCAT-US, the `data.json` of portals, as DCAT.

Fields get the properties of the context that the schema names; fields of version 1.0
those of the fields that replaced them.

Source: Project Open Data Metadata Schema 1.1 with its JSON-LD context and field
mappings, and the crosswalk from version 1.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Mapping
from functools import cache
from itertools import count
from math import isfinite
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.namespaces import (
    DCAT,
    DCTERMS,
    FOAF,
    GEOSPARQL,
    RDF_TYPE,
    SKOS,
    VCARD,
    XSD,
)
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.environment import bundled_context
from rdfcrawl.rdf.iris import resolve
from rdfcrawl.rdf.jsonld.mending import mended_json
from rdfcrawl.rdf.nesting import strict_json

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ParseLimits

CONTEXT: Final = "https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld"
MAX_BYTES: Final = 256 * 2**20
# Terms of version 3.0 outside of DCAT, by their names there.
_LATER: Final = {
    **dict.fromkeys(("Agent", "Document"), FOAF),
    **dict.fromkeys(("Concept", "ConceptScheme", "prefLabel", "altLabel"), SKOS),
    **dict.fromkeys(("notation", "inScheme", "definition"), SKOS),
    **dict.fromkeys(("Location", "Standard", "PeriodOfTime", "MediaType"), DCTERMS),
    **dict.fromkeys(("LicenseDocument", "RightsStatement"), DCTERMS),
    **dict.fromkeys(("accessRights", "creator", "hasPart", "hasVersion"), DCTERMS),
    **dict.fromkeys(("provenance", "relation", "source", "subject", "type"), DCTERMS),
    **dict.fromkeys(("Kind", "Contact"), VCARD),
}
_MAX_DEPTH: Final = 32  # of nested objects
# Classes of objects without `@type`, by the field that has them.
_CLASSES: Final = {
    "dataset": "dcat:Dataset",
    "distribution": "dcat:Distribution",
    "publisher": "org:Organization",
    "subOrganizationOf": "org:Organization",
    "contactPoint": "vcard:Contact",
}
# Fields with a name in place of an object, and the field of the object.
_NAMED: Final = {"publisher": "name", "subOrganizationOf": "name", "contactPoint": "fn"}
_LISTS: Final = frozenset({"keyword", "theme"})  # in version 1.0 a text with commas
_IRIS_OR_TEXTS: Final = frozenset({"license", "rights", "theme", "isPartOf"})
# Version 1.0: names of fields, and fields of a dataset that belong to a distribution.
_FORMER: Final = {
    "accessLevelComment": "rights",
    "dataDictionary": "describedBy",
    "webService": "accessURL",
}
_URLS: Final = ("accessURL", "downloadURL", "webService")
_DATES: Final = (
    (re.compile(r"\d{4}-\d\d-\d\d(?:Z|[+-]\d\d:\d\d)?"), "date"),
    (
        re.compile(
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,12})?(?:Z|[+-]\d\d:\d\d)?"
        ),
        "dateTime",
    ),
    (re.compile(r"\d{4}-\d\d"), "gYearMonth"),
    (re.compile(r"\d{4}"), "gYear"),
)
_WEB: Final = re.compile(r"(?i:https?|ftps?)://[^\s<>\"{}|\\^`]+").fullmatch
# An absolute reference, or a relative one that is no word
_REFERENCE: Final = re.compile(r"(?![\w-]:)[A-Za-z][\w+.-]*:\S|[/.#?]").match
_MAIL: Final = re.compile(r"[^\s@:]+@[^\s@:]+").fullmatch
_NAME: Final = re.compile(r"[\w.~-]+").fullmatch
_COMPACT: Final = re.compile(r"([A-Za-z][\w-]*):(?!//)([^\s]*)").fullmatch


def read_data_json(
    file: BinaryIO, *, base: str, limits: ParseLimits, log: FaultLog
) -> Iterator[str]:
    """Yield the statements of a catalog in UTF-8, unchecked, in order.

    The catalog is named by its `@id`, or else `base`; a dataset by its `@id`, or else
    by an `identifier` that is an IRI of the Web; other objects are blank nodes. Unknown
    fields are properties of DCAT, as in the context of the schema. Values that do not
    fit their field become literals (`REPAIRED`). JSON that is not well-formed is mended
    like that of JSON-LD.

    Raises:
        SourceFault: `SYNTAX`: no JSON, or too many faults (`n_errors`).
    """
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        log.note(Reason.TOO_LARGE, f"document cut at {MAX_BYTES} bytes")
    text = data[:MAX_BYTES].decode(errors="replace")
    del data
    try:
        values = [strict_json(text, object_pairs_hook=_without_copies)]
    except (ValueError, RecursionError) as error:
        merges = isinstance(error, _KeyTwice)
        found = mended_json(text, keeps_open=True, merges=merges)
        if not found.values:
            raise SourceFault(Reason.SYNTAX, f"no JSON: {error}") from error
        found.note(log, error, "JSON")
        values = found.values
    writer = _CatalogWriter(base, limits, log)
    for value in values:
        yield from writer.catalog(value)


class _KeyTwice(ValueError):
    """An object has two values of one key."""


def _without_copies(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _KeyTwice
    return found


@cache
def _context() -> tuple[dict[str, str], dict[str, str], frozenset[str]]:
    """Return the prefixes, the properties of fields, and the fields with IRIs."""
    found = bundled_context(CONTEXT)
    definitions = found[1]["@context"] if found else {}
    prefixes = {
        name: iri for name, iri in definitions.items() if str(iri).endswith(("#", "/"))
    }
    properties, of_iris = {}, set()
    for name, definition in definitions.items():
        is_object = isinstance(definition, dict)
        iri = definition["@id"] if is_object else definition
        if name not in prefixes:
            prefix, _, local = iri.partition(":")
            properties[name] = prefixes.get(prefix, f"{prefix}:") + local
        if is_object and definition.get("@type") == "@id":
            of_iris.add(name)
    return prefixes, properties, frozenset(of_iris)


class _CatalogWriter:
    """Writer of the statements of one document."""

    def __init__(self, base: str, limits: ParseLimits, log: FaultLog) -> None:
        self._base, self._limits, self._log = base, limits, log
        self._prefixes, self._properties, self._of_iris = _context()
        self._labels = count(1)
        self._named: set[str] = set()  # datasets

    def catalog(self, value: Any) -> Iterator[str]:
        """Yield the statements of a catalog, an array of datasets, or one dataset."""
        if isinstance(value, list):
            value = {"dataset": value}
        elif isinstance(value, dict) and "dataset" not in value:
            if _types_of(value) & {"dcat:Catalog", "Catalog"}:
                value = {**value, "dataset": []}
            else:
                value = {"dataset": [value]}
        if not isinstance(value, dict):
            return
        own_id = value.get("@id", value.get("id"))
        subject = self._iri(own_id) if isinstance(own_id, str) else ""
        subject = subject or terms.iri(self._base)
        yield from self._types(subject, value, "dcat:Catalog")
        for key, each in value.items():
            if key != "dataset":
                yield from self._field(subject, key, each, 1)
        datasets = value["dataset"]
        if isinstance(datasets, dict):
            datasets = [datasets]
        for number, dataset in enumerate(
            datasets if isinstance(datasets, list) else ()
        ):
            if isinstance(dataset, dict):
                yield from self._dataset(subject, dataset)
            else:
                self._fault(Reason.SYNTAX, f"dataset {number}: no object")

    def _dataset(self, catalog: str, dataset: Mapping[str, Any]) -> Iterator[str]:
        subject = self._name(dataset)
        yield terms.statement(catalog, f"<{DCAT}dataset>", subject)
        yield from self._types(subject, dataset, "dcat:Dataset")
        fields = dict(dataset)
        if any(fields.get(name) for name in _URLS):
            names = (*_URLS, "format", "mediaType")
            own = {n: fields.pop(n) for n in names if fields.get(n)}
            others = fields.get("distribution") or []
            others = others if isinstance(others, list) else [others]
            fields["distribution"] = [own, *others]
        contact, mail = fields.get("contactPoint"), fields.get("mbox")
        if isinstance(mail, str) and not isinstance(contact, dict):
            del fields["mbox"]
            mail = f"mailto:{mail.strip()}" if _MAIL(mail.strip()) else mail
            fields["contactPoint"] = {"fn": contact, "hasEmail": mail}
        for key, value in fields.items():
            yield from self._field(subject, key, value, 1)

    def _name(self, dataset: Mapping[str, Any]) -> str:
        """Return the term of a dataset; of two with one name, the second is blank."""
        for key in ("@id", "identifier"):
            text = dataset.get(key)
            if not isinstance(text, str) or not text.strip():
                continue
            is_iri = key == "@id" or _WEB(text.strip())
            name = self._iri(text) if is_iri else terms.blank(f"i{text}")
            if name and name not in self._named:
                self._named.add(name)
                return name
        return self._blank()

    def _blank(self) -> str:
        return f"_:d{next(self._labels)}"

    def _types(
        self, subject: str, value: Mapping[str, Any], default: str
    ) -> Iterator[str]:
        for name in sorted(_types_of(value)) or [default]:
            if name and (iri := self._expanded(name)):
                yield terms.statement(subject, f"<{RDF_TYPE}>", terms.iri(iri))

    def _expanded(self, name: str) -> str:
        """Return the IRI of the name of a field or class; empty if it has none."""
        if known := self._properties.get(name):
            return known
        if _NAME(name):
            return _LATER.get(name, DCAT) + name
        if (compact := _COMPACT(name)) and compact[1] in self._prefixes:
            return self._prefixes[compact[1]] + compact[2]
        if ":" in name and not terms.has_forbidden(name):
            return name
        self._fault(Reason.BAD_TERM, f"name of a field: {name[:100]}")
        return ""

    def _field(self, subject: str, key: str, value: Any, depth: int) -> Iterator[str]:
        if key.startswith("@") or value is None:
            return
        name = _FORMER.get(key, key)
        predicate = self._expanded(name)
        if not predicate:
            return
        if name in _LISTS and isinstance(value, str) and re.search("[,;]", value):
            self._log.note(Reason.REPAIRED, f"{name}: a text of several values")
            value = [part.strip() for part in re.split("[,;]", value)]
        if isinstance(value, list):
            for each in value if depth < _MAX_DEPTH else ():
                yield from self._field(subject, key, each, depth + 1)
            return
        obj = yield from self._object(name, value, depth)
        if obj:
            yield terms.statement(subject, terms.iri(predicate), obj)

    def _object(self, name: str, value: Any, depth: int) -> Generator[str, None, str]:
        """Yield the statements of a value, and return its term."""
        if isinstance(value, str) and name in _NAMED and value.strip():
            value = {_NAMED[name]: value}
        if name == "distribution" and not isinstance(value, dict):
            self._log.note(Reason.REPAIRED, f"distribution: no object: {value!r:.200}")
            if isinstance(value, str) and _WEB(value.strip()):
                value = {"accessURL": value}
        if isinstance(value, dict):
            if name == "spatial" and "coordinates" in value:
                text = json.dumps(value, ensure_ascii=False)
                return terms.literal(text, datatype=f"{GEOSPARQL}geoJSONLiteral")
            return (yield from self._node(name, value, depth))
        return self._term(name, value)

    def _node(
        self, name: str, value: Mapping[str, Any], depth: int
    ) -> Generator[str, None, str]:
        """Yield the statements of an object, and return its term."""
        if depth > _MAX_DEPTH:
            self._fault(Reason.TOO_DEEP, f"{name}: nested deeper than {_MAX_DEPTH}")
            return ""
        if "@value" in value:
            return self._term("", value["@value"])
        own_id = value.get("@id")
        subject = self._iri(own_id) if isinstance(own_id, str) else ""
        subject = subject or self._blank()
        yield from self._types(subject, value, _CLASSES.get(name, ""))
        for key, each in value.items():
            yield from self._field(subject, key, each, depth + 1)
        return subject

    def _term(self, name: str, value: Any) -> str:
        if isinstance(value, str):
            return self._text(name, value)
        if isinstance(value, bool):
            return terms.literal(str(value).lower(), datatype=f"{XSD}boolean")
        if isinstance(value, int) and abs(value) < 10**18:
            return terms.literal(str(value), datatype=f"{XSD}integer")
        if isinstance(value, float) and isfinite(value):
            return terms.literal(repr(value), datatype=f"{XSD}double")
        return "" if value is None else terms.literal(str(value))

    def _text(self, name: str, value: str) -> str:
        text = value.strip()
        if name == "hasEmail" and _MAIL(text):
            self._log.note(Reason.REPAIRED, "hasEmail without mailto:")
            text = f"mailto:{text}"
        if name in ("issued", "modified"):
            kind = next((x for form, x in _DATES if form.fullmatch(text)), "")
            return terms.literal(text, datatype=kind and XSD + kind)
        if name in self._of_iris or (name in _IRIS_OR_TEXTS and _WEB(text)):
            if iri := self._iri(text):
                return iri
            self._log.note(Reason.REPAIRED, f"{name}: no URL: {text[:200]}")
            return text and terms.literal(value)
        return terms.literal(value)

    def _iri(self, text: str) -> str:
        """Return the term of a reference, mended if necessary; empty if impossible."""
        text = text.strip()
        if text.lower().startswith("www."):
            self._log.note(Reason.REPAIRED, f"URL without a scheme: {text[:200]}")
            text = f"http://{text}"
        if not _REFERENCE(text):
            return ""
        try:
            reference = terms.mended_reference(text)
            iri = terms.mended_iri(resolve(reference, self._base))
        except ValueError:
            return ""
        if reference != text:
            terms.note_mended(self._log, text)
        return terms.iri(iri)

    def _fault(self, reason: Reason, detail: str) -> None:
        self._log.note(reason, detail)
        if self._log.count(reason) >= self._limits.n_errors:
            raise SourceFault(Reason.SYNTAX, "too many faults")


def _types_of(value: Mapping[str, Any]) -> set[str]:
    found = value.get("@type")
    return {
        x for x in (found if isinstance(found, list) else [found]) if isinstance(x, str)
    }
