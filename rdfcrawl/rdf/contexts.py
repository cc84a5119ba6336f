"""Looks into the contexts of a JSON-LD document, before or after it is parsed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CONTEXT = re.compile(rb'"@(?:context|import)"\s*:\s*(?=["\[{])')
_MAX_CONTEXT_BYTES = 256 * 1024
_MAX_CONTEXTS = 20
_MAX_CHAIN = 500  # measured with an 8 MiB stack: 4,000 are read, 9,000 end the process
_SMALLEST_LONG_CHAIN_BYTES = 8 * _MAX_CHAIN
_LOCAL_CONTEXT = re.compile(r'"@context"\s*:\s*(?=[\[{])')
_decoder = json.JSONDecoder()


def remote_contexts(document: bytes, *, base: str) -> list[str]:
    """Return the URLs of remote contexts, in document order, at most 20.

    Args:
        document: JSON-LD or the begin of it; it need not be well-formed.
        base: relative ones are resolved against it.
    """
    urls: dict[str, None] = {}
    for match in _CONTEXT.finditer(document):
        text = document[match.end() : match.end() + _MAX_CONTEXT_BYTES]
        try:
            value, _ = _decoder.raw_decode(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        for reference in _references(value):
            urls[_resolve(base, reference)] = None
            if len(urls) == _MAX_CONTEXTS:
                return list(urls)
    return list(urls)


def _references(context: object) -> Iterator[str]:
    entries = context if isinstance(context, list) else [context]
    return (entry for entry in entries if isinstance(entry, str))


def _resolve(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference)
    except ValueError:
        return reference


def has_long_chain(document: bytes) -> bool:
    """Tell whether terms of a context are defined by one another in long chains.

    The parser follows such a chain by recursion.
    """
    if len(document) < _SMALLEST_LONG_CHAIN_BYTES:
        return False
    text = document.decode("utf-8", "replace")
    n_left = 8 * len(text)  # contexts inside of contexts are decoded again
    for match in _LOCAL_CONTEXT.finditer(text):
        try:
            value, end = _decoder.raw_decode(text, match.end())
        except ValueError:
            continue
        n_left -= end - match.end()
        contexts = value if isinstance(value, list) else [value]
        if n_left < 0 or any(map(_is_chained, contexts)):
            return True
    return False


def _is_chained(context: object) -> bool:
    if not isinstance(context, dict) or len(context) <= _MAX_CHAIN:
        return False
    lengths: dict[str, int] = {}
    for start in context:
        path = [start]
        while path:
            needed = [name for name in _needed(context, path[-1]) if name not in path]
            unknown = next((name for name in needed if name not in lengths), None)
            if unknown is not None:
                path.append(unknown)
            else:
                longest = max((lengths[name] for name in needed), default=0)
                lengths[path.pop()] = 1 + longest
            if len(path) > _MAX_CHAIN or lengths.get(start, 0) > _MAX_CHAIN:
                return True
    return False


def _needed(context: Mapping[str, object], term: str) -> Iterator[str]:
    """Yield the terms of the context that the definition of this one refers to."""
    definition = context[term]
    values = definition.values() if isinstance(definition, dict) else (definition,)
    for value in (term, *values):
        if isinstance(value, str):
            for name in (value, value.partition(":")[0]):
                if name != term and name in context:
                    yield name
