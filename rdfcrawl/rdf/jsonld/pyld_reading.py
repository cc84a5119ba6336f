"""Read any JSON-LD 1.1 through PyLD, with our own context loader.

Import this on first use: loading PyLD takes as long as reading a thousand documents
with pyoxigraph.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pyld import jsonld
from pyld.context_resolver import ContextResolver

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.namespaces import RDF
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.environment import bundled_context
from rdfcrawl.rdf.jsonld.contents import has_free_values, walk
from rdfcrawl.rdf.jsonld.contexts import MAX_CONTEXTS, UNKNOWN
from rdfcrawl.rdf.jsonld.pyld_processor import (
    Processor,
    ValueLoggingProcessor,
    innermost,
    note_unknown,
)

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.jsonld.contexts import ContextLoader, JsonLdReaderOptions

_find_surrogate = re.compile("[\ud800-\udfff]").search
_CONTEXT_CODES = frozenset(
    {
        "context overflow",
        "invalid remote context",
        "loading remote context failed",
        "recursive context inclusion",
    }
)


def iter_statements(
    value: Any, options: JsonLdReaderOptions, loader: ContextLoader
) -> Iterator[str]:
    """Yield the statements of a document as unchecked lines.

    Takes quadratic time for some documents, and recurses: run it within limits.

    Raises:
        SourceFault: `SYNTAX` with the error code of JSON-LD 1.1, or `REMOTE_CONTEXT`.
        NeedsSandbox: a context is not available here.

    Source: JSON-LD 1.1 Processing Algorithms and API, section 8.
    """
    mended: list[str] = []
    dataset = _dataset(value, options, loader)
    for name, triples in dataset.items():
        if name.startswith(UNKNOWN):
            note_unknown(loader.log, name, n=len(triples))
            continue
        graph = "" if name == "@default" else terms.resource(name, options.scope)
        for triple in triples:
            if triple["object"] is None:  # a list member without an absolute IRI
                continue
            subject = terms.resource(triple["subject"]["value"], options.scope)
            predicate = terms.iri(triple["predicate"]["value"])
            obj = _object(triple["object"], options, mended, loader.log)
            yield terms.statement(subject, predicate, obj, graph)
    for tag in mended:
        terms.note_language(loader.log, tag)


def _dataset(
    value: Any, options: JsonLdReaderOptions, loader: ContextLoader
) -> dict[str, Any]:
    before = loader.log.snapshot()
    try:
        has_values = has_free_values(value) or "@included" in walk(value).strings
        kind = ValueLoggingProcessor if has_values else Processor
        processor = kind(loader, can_retry=options.mends)
        return _read(processor, value, options, loader)
    except SourceFault as error:
        if not options.mends or isinstance(error.__cause__, RecursionError):
            raise
        loader.log.restore(before)
        first = error
    from rdfcrawl.rdf.jsonld.pyld_mending import MendingProcessor  # noqa: PLC0415

    loader.is_complete, loader.failure = False, None
    try:
        dataset = _read(MendingProcessor(loader), value, options, loader)
    finally:
        loader.is_complete = True
    if len(loader.log.all()) == len(before.all()):
        loader.log.note(Reason.REPAIRED, f"JSON-LD: {first.fault.detail}", apart=True)
    return dataset


def _read(
    processor: Processor,
    value: Any,
    options: JsonLdReaderOptions,
    loader: ContextLoader,
) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # about ignored terms
            arguments = _arguments(options, loader, processor)
            dataset: dict[str, Any] = processor.to_rdf(value, arguments)
            return dataset
    except jsonld.JsonLdError as error:
        raise loader.failure or _fault(error) from error
    except RecursionError as error:
        raise SourceFault(Reason.SYNTAX, "nested too deeply") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
        # PyLD also fails with other exceptions on bad input.
        raise loader.failure or SourceFault(Reason.SYNTAX, repr(e)) from e


def _fault(error: BaseException) -> SourceFault:
    """Return the fault for an error of PyLD: the innermost one with a code."""
    found = innermost(error)
    code = str(getattr(found, "code", None) or "")
    reason = Reason.REMOTE_CONTEXT if code in _CONTEXT_CODES else Reason.SYNTAX
    details = getattr(found, "details", None)
    return SourceFault(reason, f"{code or found}: {details}" if details else code)


def _object(
    item: dict[str, Any],
    options: JsonLdReaderOptions,
    mended: list[str],
    log: FaultLog,
) -> str:
    if item["type"] != "literal":
        return terms.resource(item["value"], options.scope)
    text, language = str(item["value"]), item.get("language", "")
    if not text.isascii() and _find_surrogate(text):
        log.note(Reason.REPAIRED, "half of a pair of surrogates in a text", apart=True)
    datatype = item["datatype"]
    if options.mends and not language and datatype == RDF + "langString":
        log.note(Reason.REPAIRED, "empty language tag", apart=True)
        datatype = ""
    if language and options.mends:
        tag = terms.language_tag(language)
        if tag and tag != language:
            mended.append(language)
        language = tag or "-"  # refused
    return terms.literal(text, datatype=datatype, language=language)


def _arguments(
    options: JsonLdReaderOptions, loader: ContextLoader, processor: Processor
) -> dict[str, Any]:
    def load(url: str, _: object) -> dict[str, Any]:
        found, document = loader.load(url)
        is_bundled = bundled_context(url) is not None
        document = _copy(document)
        if not is_bundled:
            document["@context"] = processor.mended_context(document["@context"])
        return {
            "contentType": "application/ld+json",
            "contextUrl": None,
            "documentUrl": found,
            "document": document,
            "tag": "static" if is_bundled else None,  # None: not cached
        }

    arguments: dict[str, Any] = {
        "base": options.base,
        "contextResolver": _Resolver(loader, load),
        "documentLoader": load,
        "processingMode": options.processing_mode,
        "rdfDirection": options.rdf_direction or None,
    }
    if options.context_url:
        arguments["expandContext"] = options.context_url
    return arguments


def _copy(document: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a document without `@base`; PyLD modifies its input.

    Source: API section 4.1.2, step 5.7: `@base` only counts in the document itself.
    """
    context = document.get("@context")
    if isinstance(context, list):
        context = [_without_base(entry) for entry in context]
    copy: dict[str, Any] = json.loads(json.dumps({"@context": _without_base(context)}))
    return copy


def _without_base(context: Any) -> Any:
    if isinstance(context, dict):
        return {key: context[key] for key in context if key != "@base"}
    return context


class _Resolver(ContextResolver):  # type: ignore[misc]
    """Resolver that can leave out contexts inside themselves."""

    def __init__(self, loader: ContextLoader, load: Callable[..., Any]) -> None:
        super().__init__(_Contexts(), load, max_context_urls=MAX_CONTEXTS)
        self._loader = loader

    def _fetch_context(self, active_ctx: Any, url: str, cycles: set[str]) -> Any:
        if url in cycles and not self._loader.is_complete:
            detail = f"{url}: recursive context inclusion"
            self._loader.log.note(Reason.REMOTE_CONTEXT, detail, apart=True)
            return {"@context": {}}, {"documentUrl": url}
        return super()._fetch_context(active_ctx, url, cycles)


class _Contexts(dict[str, Any]):
    """Contexts parsed by PyLD, by URL or text; bundled ones are shared."""

    def get(self, key: str, default: Any = None) -> Any:
        return _BUNDLED.get(key, super().get(key, default))

    def __setitem__(self, key: str, value: Any) -> None:
        if bundled_context(key):
            _BUNDLED[key] = value
        else:
            super().__setitem__(key, value)


_BUNDLED: dict[str, Any] = {}
