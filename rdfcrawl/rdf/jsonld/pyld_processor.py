"""The processor of PyLD without its crashes."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from pyld import jsonld

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import XSD
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.jsonld.contexts import UNKNOWN, is_unknown_keyword

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.jsonld.contexts import ContextLoader

_DOUBLE = XSD + "double"
_SMALLEST_DOUBLE = 10**21  # section 8.2.2: of integers


def innermost(error: BaseException) -> BaseException:
    """Return the innermost cause with an error code; else the error."""
    found = error
    cause: BaseException | None = error
    while cause is not None:
        if getattr(cause, "code", None):
            found = cause
        cause = cause.__cause__
    return found


def code_of(error: BaseException) -> str:
    """Return the error code of the standard, or the message."""
    return str(getattr(innermost(error), "code", None) or error)


def note_unknown(log: FaultLog, name: str, place: str = "", n: int = 1) -> None:
    """Log statements with a name that only a missing context could define."""
    place = f" of {place}" if place else ""
    detail = f"no known context defines {name.removeprefix(UNKNOWN)}{place}"
    log.note(Reason.BAD_TERM, detail, n)


class _ActiveContext(dict[str, Any]):
    def __delitem__(self, key: str) -> None:
        self.pop(key, None)  # PyLD deletes what `null` resets, even if it is not set


class Processor(jsonld.JsonLdProcessor):  # type: ignore[misc]
    """Processor without the crashes of PyLD 3.3 and with doubles kept as written.

    Statements that RDF lacks are dropped, and logged as `BAD_TERM`.
    """

    def __init__(self, loader: ContextLoader, *, can_retry: bool = False) -> None:
        super().__init__(on_property_dropped=self._drop)
        self._loader, self.log, self._can_retry = loader, loader.log, can_retry
        self._unknown_keywords: set[str] = set()

    def mended_context(self, context: Any) -> Any:
        """Return a context as it is, or without its errors."""
        return context

    def _process_context(
        self, active_ctx: Any, local_ctx: Any, options: Any, *args: Any, **kw: Any
    ) -> Any:
        # PyLD looks for the `@propagate` of a first context in a reference to it.
        first = local_ctx[:1] if isinstance(local_ctx, list) else [local_ctx]
        if first and isinstance(first[0], str):
            resolve, base = options["contextResolver"].resolve, options.get("base", "")
            found = resolve(active_ctx, first, base)
            contexts = [each.document or None for each in found]
            if contexts and contexts[0] and "@propagate" in contexts[0]:
                rest = local_ctx[1:] if isinstance(local_ctx, list) else []
                local_ctx = [*contexts, *rest]
        return super()._process_context(active_ctx, local_ctx, options, *args, **kw)

    def _clone_active_context(self, active_ctx: Any) -> Any:
        child = _ActiveContext(super()._clone_active_context(active_ctx))
        if "@direction" in active_ctx:
            child["@direction"] = active_ctx["@direction"]
        return child

    def _note_value(self, active_ctx: Any, active_property: Any, element: Any) -> None:
        """Log a value that was dropped as no property has it."""
        is_outside = active_property is None
        if _is_value(element) and (
            is_outside or self._is_graph(active_ctx, active_property)
        ):
            where = "" if is_outside else " in a graph"
            self.log.note(Reason.BAD_TERM, f"a value without a property{where}")

    def _is_graph(self, active_ctx: Any, active_property: Any) -> bool:
        name = self._expand_iri(active_ctx, active_property, vocab=True)
        return bool(name == "@graph")

    def _expand_iri(self, active_ctx: Any, value: Any, *args: Any, **kw: Any) -> Any:
        iri = super()._expand_iri(active_ctx, value, *args, **kw)
        if iri is None and kw.get("local_ctx") is None and is_unknown_keyword(value):
            self._note_keyword(value)
        return iri

    def _note_keyword(self, value: str) -> None:
        if value not in self._unknown_keywords:
            self._unknown_keywords.add(value)
            self.log.note(Reason.BAD_TERM, f"unknown keyword {value}")

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
        if graph.pop(None, None) and self._can_retry:  # it becomes a blank node
            raise jsonld.JsonLdError("", "jsonld.SyntaxError", code="invalid @id value")
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


def _is_value(element: Any) -> bool:
    """Return whether an element of a document is a value that is not null."""
    if isinstance(element, dict):
        return element.get("@value") is not None or "@list" in element
    return element is not None and not isinstance(element, list)


class ValueLoggingProcessor(Processor):
    """Processor that logs values without a property, which takes a sixth longer."""

    def _expand(
        self, active_ctx: Any, active_property: Any, element: Any, *args: Any, **kw: Any
    ) -> Any:
        found = super()._expand(active_ctx, active_property, element, *args, **kw)
        if found is None:
            self._note_value(active_ctx, active_property, element)
        return found


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
