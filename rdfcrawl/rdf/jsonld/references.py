"""Find the references of JSON-LD to remote contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urljoin

if TYPE_CHECKING:
    from collections.abc import Iterator


def iter_references(value: Any, *, is_context: bool) -> Iterator[str]:
    """Yield the references to contexts in a value of JSON, as written.

    `is_context` if the value is that of `@context`, not a document.
    """
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
    """Return a reference resolved, without fragment; unchanged if invalid."""
    try:
        return urldefrag(urljoin(base, reference)).url
    except ValueError:
        return reference
