"""Read pages with extruct: those that our extractors fail on, and its uniform shape.

extruct and its parsers recurse, keep all in memory and have no limits: they get small
pages only, in a bounded process.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.html.extractors import MAX_EXTRUCT_BYTES, Extractor
from rdfcrawl.rdf.jsonld.contexts import JsonLdReaderOptions
from rdfcrawl.rdf.jsonld.reading import read_json_ld_value

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ReaderContext
    from rdfcrawl.rdf.html.page import ParsedPage

_IRI: Final = ("http://", "https://")


def read_with_extruct(
    page: ParsedPage, extractor: str, environment: ReaderContext, log: FaultLog
) -> Iterator[bytes]:
    """Yield the statements of Microdata or RDFa.

    Raises:
        NeedsSandbox: the process is not bounded.
        ValueError: extruct fails as well; the message has the reason.
    """
    environment.demand_bounds("extruct")
    if extractor == Extractor.RDFA:
        from extruct.rdfa import RDFaExtractor  # noqa: PLC0415

        # Of rdflib, which pyRdfa fills.
        logging.getLogger("rdflib").setLevel(logging.CRITICAL)
        reader = RDFaExtractor()
    else:
        from extruct.w3cmicrodata import MicrodataExtractor  # noqa: PLC0415

        reader = MicrodataExtractor()
    found = _checked(lambda: reader.extract(page.text, base_url=page.url))
    if extractor != Extractor.RDFA:
        found = [_node(item, "") for item in found]
    options = JsonLdReaderOptions(base=page.url, scope=f"extruct-{extractor}")
    yield from read_json_ld_value(
        found, options=options, environment=environment, log=log
    )


def uniform_json(page: ParsedPage, environment: ReaderContext, log: FaultLog) -> str:
    """Return the items of a page by syntax in extruct's uniform shape, as JSON.

    A syntax that extruct fails on is missing, with a fault.

    Raises:
        NeedsSandbox: the process is not bounded.
        SourceFault: `TOO_LARGE`: a page of more than `MAX_EXTRUCT_BYTES`.
    """
    environment.demand_bounds("extruct")
    if len(page.data) > MAX_EXTRUCT_BYTES:
        raise SourceFault(Reason.TOO_LARGE, f"more than {MAX_EXTRUCT_BYTES} bytes")
    from extruct import SYNTAXES, extract  # noqa: PLC0415

    read = partial(extract, page.text, base_url=page.url, uniform=True, errors="strict")
    found: dict[str, Any] = {}
    for syntax in SYNTAXES:
        try:
            found |= _checked(partial(read, syntaxes=[syntax]))
        except ValueError as error:
            log.note(Reason.SYNTAX, f"extruct, {syntax}: {error}", apart=True)
    return json.dumps(found)


def _checked(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except MemoryError:
        raise
    except Exception as error:  # of any class
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _node(item: Mapping[str, Any], outer: str) -> dict[str, Any]:
    """Return an item of Microdata as expanded JSON-LD.

    Args:
        item: of extruct.
        outer: vocabulary of the item around it.
    """
    given = item.get("type") or []
    types = [given] if isinstance(given, str) else list(given)
    end = max(map(types[0].rfind, "#/")) + 1 if types else 0
    vocabulary = types[0][:end] if types else outer
    node: dict[str, Any] = {"@type": types} if types else {}
    if "id" in item:
        node["@id"] = item["id"]
    for name, values in (item.get("properties") or {}).items():
        predicate = name if ":" in name else vocabulary + name
        listed = values if isinstance(values, list) else [values]
        node[predicate] = [_value(each, vocabulary) for each in listed]
    return node


def _value(value: Any, vocabulary: str) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return _node(value, vocabulary)
    text = str(value)
    is_iri = text.startswith(_IRI) and not set(text) & set(' \t\n<>"{}|\\^`')
    return {"@id": text} if is_iri else {"@value": text}
