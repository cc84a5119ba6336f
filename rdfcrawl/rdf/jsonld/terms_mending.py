"""Mend the IRIs of a JSON-LD document in place; pyoxigraph drops invalid ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.rdf.jsonld.contexts import JsonContents, NotFastError
from rdfcrawl.rdf.terms import has_forbidden, mended_reference, note_mended

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog

_SEPARATOR: Final = "\x7f"
# A character that IRIs do not allow, or an unusual label of a blank node
_suspect = re.compile(r"[\x00-\x20<>\"{}|^`\\]|_:(?![A-Za-z0-9_-]++(?:\x7f|\Z))").search
_is_language = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*+").fullmatch
_IRI_TYPES: Final = frozenset({"@id", "@vocab"})

Contexts = Collection[Mapping[str, Any]]


def mend_terms(found: JsonContents, contexts: Contexts, log: FaultLog) -> None:
    """Escape characters that IRIs do not allow, and log each IRI as `REPAIRED`.

    Args:
        found: content of the document.
        contexts: all of the document; definitions in it are mended, too.
        log: takes the repairs.

    Raises:
        NotFastError: PyLD must read the document, to mend or count a term.
    """
    _check_keys(found.keys, contexts)
    _check_languages(found, contexts)
    if "@graph" in found.keys and any(
        not isinstance(node.get("@graph", []), list | dict) for node in found.objects
    ):
        raise NotFastError
    names = _names_of_iris(found.keys, contexts)
    values: list[str] = []
    for node in found.objects:
        for key in names & node.keys():
            value = node[key]
            if type(value) is str:
                values.append(value)
            elif type(value) is list:
                values.extend(x for x in value if type(x) is str)
    if not _suspect(_SEPARATOR.join(values)):
        return
    for node in found.objects:
        for key in names & node.keys():
            value = node[key]
            if isinstance(value, list):
                node[key] = [_mended(each, contexts, log) for each in value]
            else:
                node[key] = _mended(value, contexts, log)


def _check_keys(keys: Collection[str], contexts: Contexts) -> None:
    joined = _SEPARATOR.join(keys)
    if "_:" in joined and any(key.startswith("_:") for key in keys):
        raise NotFastError
    if not _suspect(joined):
        return
    has_vocabulary = any(terms.get("@vocab") for terms in contexts)
    for key in keys:
        is_term = any(key in terms for terms in contexts)
        if has_forbidden(key) and not is_term and (has_vocabulary or ":" in key):
            raise NotFastError


def _check_languages(found: JsonContents, contexts: Contexts) -> None:
    tags = [terms["@language"] for terms in contexts if "@language" in terms]
    if "@language" in found.strings:
        tags += [x["@language"] for x in found.objects if "@language" in x]
    for terms in contexts:
        for name, definition in _definitions(found.keys, terms):
            if "@language" in definition:
                tags.append(definition["@language"])
            if "@language" in str(definition.get("@container", "")):
                tags += _keys_of(name, found)
    if not all(map(_is_tag, tags)):
        raise NotFastError


def _keys_of(name: str, found: JsonContents) -> Iterator[str]:
    for node in found.objects:
        value = node.get(name)
        if isinstance(value, dict):
            yield from (key for key in value if key[:1] != "@")


def _is_tag(tag: Any) -> bool:
    return not isinstance(tag, str) or not tag or _is_language(tag) is not None


def _definitions(
    keys: Collection[str], terms: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in terms.keys() & keys:
        definition = terms[name]
        if isinstance(definition, dict):
            yield name, definition


def _names_of_iris(keys: Collection[str], contexts: Contexts) -> frozenset[str]:
    """Return the keys of a document whose strings are IRIs in all of its contexts."""
    names, others = {"@id", "@type"}, set[str]()
    for terms in contexts:
        for name in terms.keys() & keys:
            definition = terms[name]
            iri = kind = definition
            if isinstance(definition, dict):
                iri, kind = definition.get("@id"), definition.get("@type")
            is_iri = iri in ("@id", "@type") or kind in _IRI_TYPES
            (names if is_iri else others).add(name)
    return frozenset(names - others)


def _mended(value: Any, contexts: Contexts, log: FaultLog) -> Any:
    if not isinstance(value, str) or not _suspect(value):
        return value
    if any(value in terms for terms in contexts):
        return value
    try:
        new = mended_reference(value)
    except ValueError as error:
        raise NotFastError from error
    if new == value:
        raise NotFastError
    note_mended(log, value)
    return new
