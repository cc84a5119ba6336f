"""Find the references of JSON-LD to remote contexts."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urldefrag, urljoin

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONTEXT: Final = re.compile(rb'"@(?:context|import)"\s*:\s*(?=["\[{])')
_MAX_CONTEXT_BYTES: Final = 256 * 1024
_MAX_CONTEXTS: Final = 20
_MAX_LOOKS: Final = 1000  # at local contexts as well, each up to the largest size
_DECODER: Final = json.JSONDecoder()


def iter_references(value: Any, *, is_context: bool) -> Iterator[str]:
    """Yield the references to contexts in a document or a value of `@context`."""
    stack = [(value, is_context)]
    while stack:
        node, in_context = stack.pop()
        if isinstance(node, str):
            if in_context:
                yield node
        elif isinstance(node, list):
            stack.extend((entry, in_context) for entry in reversed(node))
        elif isinstance(node, dict):
            stack.extend(
                (entry, key == "@context" or (in_context and key == "@import"))
                for key, entry in node.items()
                if isinstance(entry, list | dict) or key in {"@context", "@import"}
            )


def resolve(base: str, reference: str) -> str:
    """Return a resolved reference without fragment; unchanged if invalid."""
    try:
        return urldefrag(urljoin(base, reference)).url
    except ValueError:
        return reference


def remote_contexts(document: bytes, *, base: str) -> list[str]:
    """Return the absolute URLs of remote contexts, in document order, at most 20.

    `document` is the beginning of a document of JSON-LD, perhaps not well-formed.
    """
    urls: dict[str, None] = {}
    for match in islice(_CONTEXT.finditer(document), _MAX_LOOKS):
        text = document[match.end() : match.end() + _MAX_CONTEXT_BYTES]
        try:
            value, _ = _DECODER.raw_decode(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        for reference in iter_references(value, is_context=True):
            urls[resolve(base, reference)] = None
            if len(urls) == _MAX_CONTEXTS:
                return list(urls)
    return list(urls)
