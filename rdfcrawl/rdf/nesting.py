"""Check the nesting of documents for recursive parsers.

Covers triple terms, JSON, and terms of JSON-LD contexts defined by other terms. A few
hundred kilobytes of brackets would overflow the C stack and end the process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Never

from rdfcrawl.core.errors import Reason, SourceFault

# Measured with an 8 MiB stack: 3,000 levels work, 30,000 end the process.
MAX_DEPTH = 500
TOO_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"

MAX_CHAIN: Final = 500  # of terms, with the same stack: 4,000 work, 9,000 do not
_SMALLEST_LONG_CHAIN_BYTES: Final = 8 * MAX_CHAIN
_LOCAL_CONTEXT: Final = re.compile(r'"@context"\s*:\s*(?=[\[{])')
_DECODER: Final = json.JSONDecoder()
_JSON_STRING = re.compile(rb'"(?>[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_TEXT_TOKEN = re.compile(
    rb"<<|>>|#[^\n]*+|<[^<>\"\s]*+>"
    rb'|"""(?>[^"\\]++|\\.|"(?!""))*+"""|\'\'\'(?>[^\'\\]++|\\.|\'(?!\'\'))*+\'\'\''
    rb'|"(?>[^"\\]++|\\.)*+"|\'(?>[^\'\\]++|\\.)*+\'',
    re.DOTALL,
)


def refuse_constant(name: str) -> Never:
    """Refuse NaN and Infinity, which Python accepts: for `parse_constant` of `json`."""
    raise ValueError(f"{name} is not JSON")


def is_json_too_deep(document: bytes) -> bool:
    """Return whether objects and arrays are nested deeper than `MAX_DEPTH`."""
    if document.count(b"{") + document.count(b"[") <= MAX_DEPTH:
        return False
    brackets = _JSON_STRING.sub(b"", document).translate(None, _NO_BRACKETS)
    depth = 0
    for bracket in brackets:
        if bracket in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        else:
            depth -= 1
    return False


def check_depth(text: str) -> None:
    """Refuse JSON that is nested deeper than `MAX_DEPTH` (`TOO_DEEP`)."""
    if is_json_too_deep(text.encode("utf-8", "replace")):
        raise SourceFault(Reason.TOO_DEEP, f"JSON {TOO_DEEP}")


def strict_json(
    text: str,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Return the value of JSON (`ValueError`; `SourceFault` if nested too deeply).

    `object_pairs_hook` is that of `json.loads`.
    """
    check_depth(text)
    return json.loads(
        text, parse_constant=refuse_constant, object_pairs_hook=object_pairs_hook
    )


def check_json_depth(document: bytes) -> None:
    """Refuse JSON that is nested deeper than `MAX_DEPTH` (`SYNTAX`)."""
    if is_json_too_deep(document):
        raise SourceFault(Reason.SYNTAX, TOO_DEEP)


def is_text_too_deep(document: bytes) -> bool:
    """Return whether triple terms or reified triples are nested too deeply."""
    if document.count(b"<<") <= MAX_DEPTH:
        return False
    depth = 0
    for token in _TEXT_TOKEN.finditer(document):
        if token[0] == b"<<":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif token[0] == b">>" and depth:
            depth -= 1
    return False


def has_long_chain(document: bytes) -> bool:
    """Return whether a context has long chains of terms defined by other terms."""
    if len(document) < _SMALLEST_LONG_CHAIN_BYTES:
        return False
    text = document.decode("utf-8", "replace")
    n_left = 8 * len(text)  # nested contexts are decoded again
    for match in _LOCAL_CONTEXT.finditer(text):
        try:
            value, end = _DECODER.raw_decode(text, match.end())
        except json.JSONDecodeError as error:
            value, end = None, error.pos
        except ValueError:  # a number that is too long to compute
            return True
        n_left -= end - match.end()
        contexts = value if isinstance(value, list) else [value]
        if n_left < 0 or any(map(_is_chained, contexts)):
            return True
    return False


def _is_chained(context: object) -> bool:
    if not isinstance(context, dict) or len(context) <= MAX_CHAIN:
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
            if len(path) > MAX_CHAIN or lengths.get(start, 0) > MAX_CHAIN:
                return True
    return False


def _needed(context: Mapping[str, object], term: str) -> Iterator[str]:
    """Yield the terms of the context that the definition of a term uses."""
    definition = context[term]
    values = definition.values() if isinstance(definition, dict) else (definition,)
    for value in (term, *values):
        if isinstance(value, str):
            for name in (value, value.partition(":")[0]):
                if name != term and name in context:
                    yield name
