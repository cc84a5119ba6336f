"""Find the publisher and the licence that a document states for itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.description.keys import FigureKind
from rdfcrawl.core.namespaces import (
    DC,
    DCAT,
    DCTERMS,
    FOAF,
    RDF_TYPE,
    RDFS,
    SCHEMA,
    SCHEMA_HTTPS,
    VCARD,
    VOID,
    XHV,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rdfcrawl.analysis.description.statements import Statement

_CC: Final = "http://creativecommons.org/ns#"


def _terms(*iris: str) -> frozenset[bytes]:
    return frozenset(f"<{iri}>".encode() for iri in iris)


_LICENCE: Final = _terms(
    f"{DCTERMS}license", f"{DCTERMS}rights", f"{DC}rights", f"{_CC}license",
    f"{XHV}license", f"{SCHEMA}license", f"{SCHEMA_HTTPS}license",
)  # fmt: skip
_PUBLISHER: Final = _terms(
    f"{DCTERMS}publisher", f"{DC}publisher",
    f"{SCHEMA}publisher", f"{SCHEMA_HTTPS}publisher",
)  # fmt: skip
_NAME: Final = _terms(
    f"{FOAF}name", f"{SCHEMA}name", f"{SCHEMA_HTTPS}name", f"{VCARD}fn",
    f"{RDFS}label", f"{DCTERMS}title",
)  # fmt: skip
_DATASET: Final = _terms(
    f"{VOID}Dataset", f"{VOID}DatasetDescription", f"{DCAT}Dataset",
    f"{DCAT}Distribution", f"{DCAT}Catalog",
    f"{SCHEMA}Dataset", f"{SCHEMA_HTTPS}Dataset",
)  # fmt: skip
_TYPE: Final = f"<{RDF_TYPE}>".encode()
ATTRIBUTING: Final = _LICENCE | _PUBLISHER
_MAX_BYTES: Final = 1000  # of a name or an IRI
# RDF 1.2; readers of Turtle 1.1 know languages alone.
_DIRECTION: Final = re.compile(rb"--(?:ltr|rtl)\Z")
_url: Final = re.compile(rb'"(https?://[^\s<>"{}|^`\\]+)"').match


def iter_attributions(
    statements: Sequence[Statement], document: bytes
) -> Iterator[tuple[FigureKind, bytes]]:
    """Yield licences and publishers of a document or of the datasets in it.

    Statements about other subjects, such as the licence of a picture, are ignored.

    Args:
        statements: of the document.
        document: its IRI as a term.

    Yields:
        Each licence as a term; each publisher as an optional term, a tab, and an
        optional literal with its name. No duplicates.
    """
    about = {s for s, p, o in statements if p == _TYPE and o in _DATASET}
    about.add(document)
    names = {s: o for s, p, o in sorted(statements, reverse=True) if p in _NAME}
    found = set()
    for s, p, o in statements:
        if p not in ATTRIBUTING or not (s in about or _is_part(s, document)):
            continue
        if o.startswith(b"<<"):  # a triple term names neither publisher nor licence
            continue
        if p in _PUBLISHER:
            if publisher := _publisher(o, names):
                found.add((FigureKind.PUBLISHERS, publisher))
        elif len(o) > _MAX_BYTES:
            continue
        elif o.startswith(b"<"):
            found.add((FigureKind.LICENCES, o))
        elif url := _url(o):
            found.add((FigureKind.LICENCES, b"<%s>" % url[1]))
    yield from sorted(found)


def _is_part(subject: bytes, document: bytes) -> bool:
    """Return whether a subject is the document's IRI with an empty fragment."""
    return subject == document[:-1] + b"#>"


def _publisher(term: bytes, names: dict[bytes, bytes]) -> bytes:
    if term.startswith(b'"'):
        iri, name = b"", term
    else:
        iri = term if term.startswith(b"<") and len(term) <= _MAX_BYTES else b""
        name = names.get(term, b"")
    if not name.startswith(b'"') or len(name) > _MAX_BYTES:
        name = b""
    name = _DIRECTION.sub(b"", name)
    return b"%s\t%s" % (iri, name) if iri or name else b""
