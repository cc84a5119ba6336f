"""Read all of JSON-LD 1.1 through PyLD, with contexts of our own loading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf import terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.rdf.jsonld.loading import ContextLoader
    from rdfcrawl.rdf.jsonld.options import JsonLdReaderOptions

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

    Can be quadratic and recurse: to be run within limits.

    Raises:
        SourceFault: `SYNTAX` with the error code of JSON-LD 1.1, or
            `REMOTE_CONTEXT`.
        NeedsSandbox: a context is available elsewhere only.

    Source: JSON-LD 1.1 Processing Algorithms and API, section 8.
    """
    dataset = _dataset(value, options, loader)
    for name, triples in dataset.items():
        graph = "" if name == "@default" else _resource(name, options.scope)
        for triple in triples:
            if triple["object"] is None:  # a list's member without absolute IRI
                continue
            yield terms.statement(
                _resource(triple["subject"]["value"], options.scope),
                terms.iri(triple["predicate"]["value"]),
                _object(triple["object"], options.scope),
                graph,
            )


def _dataset(
    value: Any, options: JsonLdReaderOptions, loader: ContextLoader
) -> dict[str, Any]:
    from rdfcrawl.rdf.jsonld import processor  # noqa: PLC0415 (see there)

    try:
        return processor.to_dataset(value, options, loader)
    except processor.ProcessingError as error:
        raise loader.failure or _fault(error) from error
    except RecursionError as error:
        raise SourceFault(Reason.SYNTAX, "nested too deeply") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
        # What is wrong in a way that PyLD does not foresee.
        raise loader.failure or SourceFault(Reason.SYNTAX, repr(e)) from e


def _fault(error: BaseException) -> SourceFault:
    """Return the fault for an error of PyLD: the innermost with a code."""
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


def _resource(value: str, scope: str) -> str:
    if value.startswith("_:"):
        return terms.blank(scope + value[2:])
    return terms.iri(value)


def _object(item: dict[str, Any], scope: str) -> str:
    if item["type"] != "literal":
        return _resource(item["value"], scope)
    return terms.literal(
        str(item["value"]),
        datatype=item["datatype"],
        language=item.get("language", ""),
    )
