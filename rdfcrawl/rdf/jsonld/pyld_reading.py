"""Read any JSON-LD 1.1 through PyLD, with our own context loader.

Import this on first use: loading PyLD takes as long as reading a thousand documents
with pyoxigraph.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyld import jsonld
from pyld.context_resolver import ContextResolver

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.namespaces import XSD
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.environment import bundled_context

if TYPE_CHECKING:
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
    dataset = _dataset(value, options, loader)
    for name, triples in dataset.items():
        graph = "" if name == "@default" else terms.resource(name, options.scope)
        for triple in triples:
            if triple["object"] is None:  # a list member without an absolute IRI
                continue
            subject = terms.resource(triple["subject"]["value"], options.scope)
            predicate = terms.iri(triple["predicate"]["value"])
            obj = _object(triple["object"], options.scope)
            yield terms.statement(subject, predicate, obj, graph)


def _dataset(
    value: Any, options: JsonLdReaderOptions, loader: ContextLoader
) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # about ignored terms
            arguments = _arguments(options, loader)
            dataset: dict[str, Any] = _Processor().to_rdf(value, arguments)
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
    found: Any = error
    cause: BaseException | None = error
    while cause is not None:
        if getattr(cause, "code", None):
            found = cause
        cause = cause.__cause__
    code = str(getattr(found, "code", None) or "")
    reason = Reason.REMOTE_CONTEXT if code in _CONTEXT_CODES else Reason.SYNTAX
    details = getattr(found, "details", None)
    return SourceFault(reason, f"{code or found}: {details}" if details else code)


def _object(item: dict[str, Any], scope: str) -> str:
    if item["type"] != "literal":
        return terms.resource(item["value"], scope)
    text, language = str(item["value"]), item.get("language", "")
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


class _Processor(jsonld.JsonLdProcessor):  # type: ignore[misc]
    """Processor without the crashes of PyLD 3.3 and with doubles kept as written."""

    def _graph_to_rdf(self, graph: Any, issuer: Any, options: Any) -> Any:
        # An `@id` with the form of a keyword is ignored: test te122 of the suite.
        graph.pop(None, None)
        return super()._graph_to_rdf(graph, issuer, options)

    def _object_to_rdf(self, item: Any, issuer: Any, triples: Any, options: Any) -> Any:
        if isinstance(item, dict):
            if "@id" in item and item["@id"] is None:
                return None
            if lexical := _double(item):
                datatype = item.get("@type") or _DOUBLE
                return {"type": "literal", "value": lexical, "datatype": datatype}
        return super()._object_to_rdf(item, issuer, triples, options)


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
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits))
    exponent = int(exponent) + len(text) - 1 if value else 0
    fraction = text[1:].rstrip("0") or "0"
    return f"{'-' * sign}{text[0]}.{fraction}E{exponent}"
