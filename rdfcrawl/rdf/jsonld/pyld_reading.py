"""Read any JSON-LD 1.1 through PyLD, with our own context loader.

Import this on first use: loading PyLD takes as long as reading a thousand documents
with pyoxigraph.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from pyld import jsonld
from pyld.context_resolver import ContextResolver

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.namespaces import XSD
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.environment import bundled_context

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.jsonld.contexts import ContextLoader, JsonLdReaderOptions

_CONTEXT_CODES = frozenset(
    {
        "context overflow",
        "invalid remote context",
        "loading remote context failed",
        "recursive context inclusion",
    }
)
_DOUBLE = XSD + "double"
_SMALLEST_DOUBLE = 10**21  # section 8.2.2: of integers


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
        graph = "" if name == "@default" else terms.resource(name, options.scope)
        for triple in triples:
            if triple["object"] is None:  # a list member without an absolute IRI
                continue
            subject = terms.resource(triple["subject"]["value"], options.scope)
            predicate = terms.iri(triple["predicate"]["value"])
            obj = _object(triple["object"], options, mended)
            yield terms.statement(subject, predicate, obj, graph)
    for tag in mended:
        terms.note_language(loader.log, tag)


def _dataset(
    value: Any, options: JsonLdReaderOptions, loader: ContextLoader
) -> dict[str, Any]:
    before = loader.log.snapshot()
    try:
        processor = Processor(loader.log, can_retry=options.mends)
        return _read(processor, value, options, loader)
    except SourceFault as error:
        is_wrong = error.fault.reason is Reason.SYNTAX and loader.failure is None
        is_deep = isinstance(error.__cause__, RecursionError)
        if not (options.mends and is_wrong) or is_deep:
            raise
        loader.log.restore(before)
        first = error
    from rdfcrawl.rdf.jsonld.pyld_mending import MendingProcessor  # noqa: PLC0415

    dataset = _read(MendingProcessor(loader), value, options, loader)
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
            arguments = _arguments(options, loader)
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
    found = _innermost(error)
    code = str(getattr(found, "code", None) or "")
    reason = Reason.REMOTE_CONTEXT if code in _CONTEXT_CODES else Reason.SYNTAX
    details = getattr(found, "details", None)
    return SourceFault(reason, f"{code or found}: {details}" if details else code)


def _innermost(error: BaseException) -> BaseException:
    found = error
    cause: BaseException | None = error
    while cause is not None:
        if getattr(cause, "code", None):
            found = cause
        cause = cause.__cause__
    return found


def code_of(error: BaseException) -> str:
    """Return the error code of the standard, or the message."""
    return str(getattr(_innermost(error), "code", None) or error)


def _object(
    item: dict[str, Any], options: JsonLdReaderOptions, mended: list[str]
) -> str:
    if item["type"] != "literal":
        return terms.resource(item["value"], options.scope)
    text, language = str(item["value"]), item.get("language", "")
    if "_" in language and options.mends:
        mended.append(language)
        language = terms.mended_language(language)
    return terms.literal(text, datatype=item["datatype"], language=language)


def _arguments(options: JsonLdReaderOptions, loader: ContextLoader) -> dict[str, Any]:

    def load(url: str, _: object) -> dict[str, Any]:
        found, document = loader.load(url)
        return {
            "contentType": "application/ld+json",
            "contextUrl": None,
            "documentUrl": found,
            "document": _copy(document),
            "tag": "static" if bundled_context(url) else None,  # None: not cached
        }

    arguments: dict[str, Any] = {
        "base": options.base,
        "contextResolver": ContextResolver(_Contexts(), load),
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
    own = json.dumps({**document, "@context": _without_base(context)})
    copy: dict[str, Any] = json.loads(own)
    if "@context" not in document:
        del copy["@context"]
    return copy


def _without_base(context: Any) -> Any:
    if isinstance(context, dict):
        return {key: context[key] for key in context if key != "@base"}
    return context


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


class Processor(jsonld.JsonLdProcessor):  # type: ignore[misc]
    """Processor without the crashes of PyLD 3.3 and with doubles kept as written.

    Statements that RDF lacks are dropped, and logged as `BAD_TERM`.
    """

    def __init__(self, log: FaultLog, *, can_retry: bool = False) -> None:
        super().__init__(on_property_dropped=self._drop)
        self.log, self._can_retry = log, can_retry

    def _drop(self, name: str | None) -> None:
        if name is not None and ":" in name:
            self._note_bad(name)

    def _note_bad(self, name: str) -> None:
        if self._can_retry and ":" in name and terms.has_forbidden(name):
            # `MendingProcessor` reads the document, and mends it.
            raise jsonld.JsonLdError(name, "jsonld.SyntaxError", code="invalid IRI")
        self.log.note(Reason.BAD_TERM, f"not an absolute IRI: {name}")

    def _graph_to_rdf(self, graph: Any, issuer: Any, options: Any) -> Any:
        # An `@id` with the form of a keyword is ignored: test te122 of the suite.
        graph.pop(None, None)
        for name, node in graph.items():
            if len(node) > 1:
                self._check(name)
            for key, values in node.items():
                if key.startswith("_:") and values:
                    detail = f"blank node as property of {name}"
                    self.log.note(Reason.BAD_TERM, detail, len(values))
                elif key == "@type":
                    for each in values:
                        self._check(each)
        return super()._graph_to_rdf(graph, issuer, options)

    def _check(self, name: str) -> None:
        if not is_absolute(name):
            self._note_bad(name)

    def _object_to_rdf(self, item: Any, issuer: Any, triples: Any, options: Any) -> Any:
        if isinstance(item, dict):
            if "@id" in item and item["@id"] is None:
                return None
            if "@id" in item:
                self._check(item["@id"])
            if lexical := _double(item):
                datatype = item.get("@type") or _DOUBLE
                return {"type": "literal", "value": lexical, "datatype": datatype}
        return super()._object_to_rdf(item, issuer, triples, options)


# Of an absolute IRI or blank node for PyLD
_absolute: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*+|_):[^\s]*+").fullmatch


def is_absolute(name: str) -> bool:
    """Return whether PyLD takes a name as an absolute IRI or blank node."""
    return _absolute(name) is not None


def _double(item: dict[str, Any]) -> str:
    """Return the lexical form of a double; empty for other values.

    A string with datatype double stays unchanged. Numbers differ from section 8.2.2:
    they have the shortest unique form, as in XSD, so 9.95 becomes 9.95E0 and not
    9.949999999999999E0.
    """
    value: Any = item.get("@value")
    datatype = item.get("@type")
    if isinstance(value, str):
        return value if datatype == _DOUBLE else ""
    if type(value) not in {int, float} or datatype == "@json":
        return ""
    is_integer = isinstance(value, int) or value.is_integer()
    if is_integer and abs(value) < _SMALLEST_DOUBLE and datatype != _DOUBLE:
        return ""
    try:
        return _canonical(float(value))
    except OverflowError:
        return "INF" if value > 0 else "-INF"


def _canonical(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits))
    exponent = int(exponent) + len(text) - 1 if value else 0
    fraction = text[1:].rstrip("0") or "0"
    return f"{'-' * sign}{text[0]}.{fraction}E{exponent}"
