"""Nested dicts of the items in statements, framed and compacted by PyLD.

They have the uniform shape of extruct: `@type` and properties by their local names,
values as plain text or numbers, and the vocabulary of the item in `@context`.
"""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyoxigraph as ox

from rdfcrawl.core.errors import ConfigError, Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import PREFIXES, RDF_TYPE, SCHEMA, SCHEMA_HTTPS

logger = logging.getLogger(__name__)


def pyld_term(term: Any) -> dict[str, str] | None:
    """Return a term of a dataset; None for a triple term, which PyLD has not."""
    if isinstance(term, ox.NamedNode):
        return {"type": "IRI", "value": term.value}
    if isinstance(term, ox.BlankNode):
        return {"type": "blank node", "value": f"_:{term.value}"}
    if isinstance(term, ox.Triple):
        return None
    found = {"type": "literal", "value": term.value, "datatype": term.datatype.value}
    return found | ({"language": term.language} if term.language else {})


def pyld_statement(quad: ox.Quad) -> dict[str, dict[str, str]] | None:
    """Return a statement of a dataset; None if it has a triple term."""
    obj = pyld_term(quad.object)
    subject, predicate = pyld_term(quad.subject), pyld_term(quad.predicate)
    if obj is None or subject is None or predicate is None:
        return None
    return {"subject": subject, "predicate": predicate, "object": obj}


def warn_of_triple_terms(n_left_out: int, target: str) -> None:
    """Log the number of statements with triple terms, which a library does not have."""
    if n_left_out:
        count = counted(
            n_left_out,
            "statement with a triple term is",
            "statements with triple terms are",
        )
        logger.warning("%s left out: %s cannot express them", count, target)


MAX_STATEMENTS: Final = 100_000
# Values in all items of a document, in addition to twice those of the document: each
# item has a copy of the nodes that it refers to.
_MAX_COPIED: Final = 5_000
_FORMAT: Final = "application/n-quads"
_BLANK: Final = "urn:rdfcrawl:blank:"  # no document has such a name
_OPTIONS: Final = {"processingMode": "json-ld-1.1", "documentLoader": None}


def class_iri(name: str) -> str:
    """Return the IRI of a class that is given in full or with a known prefix.

    Raises:
        ConfigError: the prefix is not known.

    >>> class_iri("schema:Product")
    'http://schema.org/Product'
    >>> class_iri("http://schema.org/Product")
    'http://schema.org/Product'
    """
    prefix, _, local = name.partition(":")
    if local.startswith("//") or prefix == "urn":  # before the prefix `http:`
        return name
    if prefix in PREFIXES:
        return PREFIXES[prefix] + local
    known = ", ".join(f"{each}:" for each in PREFIXES)
    raise ConfigError(f"class {name!r}: must be an IRI, or begin with {known}")


def iter_items(
    quads: Iterable[ox.Quad], type_iri: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the items of a class, or those with any class that no other refers to.

    Graphs are merged. `http:` and `https:` of schema.org are one. Triple terms are left
    out, with a warning.

    Raises:
        SourceFault: `TOO_LARGE`: more than `MAX_STATEMENTS`.
    """
    nodes = _Nodes(quads)
    wanted = {type_iri}
    if type_iri and type_iri.startswith((SCHEMA, SCHEMA_HTTPS)):
        local = type_iri.partition("schema.org/")[2]
        wanted = {SCHEMA + local, SCHEMA_HTTPS + local}
    for name, types in nodes.types.items():
        if wanted.isdisjoint(types) and (type_iri or name in nodes.referred):
            continue
        chosen = next((each for each in types if each in wanted), types[0])
        vocabulary = _vocabulary(chosen)
        try:
            yield _compacted(nodes.around(name), name, vocabulary)
        except RecursionError:  # nested too deep
            yield _compacted([nodes.by_name[name]], name, vocabulary)


class _Nodes:
    """Expanded JSON-LD of the nodes of a document.

    Attributes:
        types: classes of the nodes that have any, in the order of the document.
        by_name: all nodes.
        referred: nodes that are values of others.
    """

    def __init__(self, quads: Iterable[ox.Quad]) -> None:
        from pyld import jsonld  # noqa: PLC0415 (slow to import)

        n_left_out, statements = 0, list[Any]()
        self.types: dict[str, list[str]] = {}
        self.referred: set[str] = set()
        self._values: dict[str, list[str]] = defaultdict(list)
        for n_statements, quad in enumerate(quads):
            if n_statements == MAX_STATEMENTS:
                detail = f"items of more than {MAX_STATEMENTS} statements"
                raise SourceFault(Reason.TOO_LARGE, detail)
            statement = pyld_statement(quad)
            if statement is None:
                n_left_out += 1
                continue
            statements.append(statement)
            self._note(_named(statement["subject"]), _named(statement["object"]))
            if quad.predicate.value == RDF_TYPE:
                name = statement["subject"]["value"]
                self.types.setdefault(name, []).append(statement["object"]["value"])
        warn_of_triple_terms(n_left_out, "JSON-LD")
        processor = jsonld.JsonLdProcessor()
        processor.register_rdf_parser(_FORMAT, lambda _: {"@default": statements})
        found = processor.from_rdf("", {"format": _FORMAT, "useNativeTypes": True})
        self.by_name = {node["@id"]: node for node in found}
        self._n_left = _MAX_COPIED + 2 * len(statements)

    def _note(self, subject: dict[str, str], obj: dict[str, str]) -> None:
        if obj["type"] == "IRI" and obj["value"] != subject["value"]:
            self.referred.add(obj["value"])
            self._values[subject["value"]].append(obj["value"])

    def around(self, name: str) -> list[Any]:
        """Return a node and those that it leads to, as far as the bound allows."""
        found, waiting = {name}, deque([name])
        while waiting and self._n_left > 0:
            values = self._values[waiting.popleft()]
            self._n_left -= len(values)
            for each in values:
                if each in self.by_name and each not in found:
                    found.add(each)
                    waiting.append(each)
        # Those that were not looked at are named, and have no properties here.
        return [self.by_name[each] for each in found.difference(waiting) | {name}]


def _named(term: dict[str, str]) -> dict[str, str]:
    """Give a blank node an IRI, as a frame names no blank node."""
    if term["type"] == "blank node":
        term["type"], term["value"] = "IRI", _BLANK + term["value"][2:]
    return term


def _vocabulary(type_iri: str) -> str:
    """Return the part of an IRI before its local name.

    >>> _vocabulary("http://schema.org/Product"), _vocabulary("urn:a")
    ('http://schema.org/', 'urn:')
    """
    at = max(map(type_iri.rfind, "#/"))
    return type_iri[: (type_iri.rfind(":") if at < 0 else at) + 1]


def _compacted(nodes: list[Any], name: str, vocabulary: str) -> dict[str, Any]:
    from pyld import jsonld  # noqa: PLC0415

    framed = jsonld.frame(nodes, {"@id": name}, {**_OPTIONS, "embed": "@once"})
    compact = jsonld.compact(framed, {"@vocab": vocabulary}, _OPTIONS)
    plain: dict[str, Any] = _plain(compact)
    return {**plain, "@context": vocabulary.rstrip("/#:")}


def _plain(value: Any) -> Any:
    """Return the text of a literal, and the IRI of a node without properties."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "@value" in value:
        return value["@value"]
    if "@list" in value:
        return _plain(value["@list"])
    name = value.get("@id", "")
    is_blank = name.startswith(_BLANK)
    if value.keys() == {"@id"}:
        return f"_:{name.removeprefix(_BLANK)}" if is_blank else name
    return {
        key: _plain(each)
        for key, each in value.items()
        if not (is_blank and key == "@id")
    }
