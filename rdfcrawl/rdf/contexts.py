"""Finds the remote contexts that a JSON-LD document asks for."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONTEXT = re.compile(rb'"@(?:context|import)"\s*:\s*(?=["\[{])')
_MAX_CONTEXT_BYTES = 256 * 1024
_MAX_CONTEXTS = 20
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
