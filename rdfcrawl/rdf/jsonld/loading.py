"""Find the context references of a document, and load contexts within limits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final
from urllib.parse import urldefrag, urljoin, urlsplit

from rdfcrawl.core.errors import NeedsSandbox, Reason, SourceFault
from rdfcrawl.rdf.environment import (
    MAX_CONTEXT_BYTES,
    MAX_CONTEXT_DEPTH,
    ContextSource,
    bundled_context,
)
from rdfcrawl.rdf.nesting import is_json_too_deep

MAX_CONTEXTS: Final = 20  # distinct ones per document
_CONTEXT: Final = re.compile(rb'"@(?:context|import)"\s*:\s*(?=["\[{])')
_MAX_LOCAL_BYTES: Final = 256 * 1024
_MAX_LOOKS: Final = 1000  # includes local contexts, each up to the largest size
_DECODER: Final = json.JSONDecoder()


class ContextLoader:
    """Loader of the contexts of one document: each once, bundled ones first.

    `failure` is the first missing context: libraries wrap it in their own exceptions.
    """

    def __init__(self, source: ContextSource, *, document_url: str) -> None:
        self._source = source
        self._document_url = document_url
        self._loaded: dict[str, tuple[str, Any]] = {}
        self._depths: dict[str, int] = {}
        self.failure: SourceFault | NeedsSandbox | None = None

    def load(self, url: str) -> tuple[str, Any]:
        """Return final URL and content of a context; do not modify the content.

        Raises:
            SourceFault: `REMOTE_CONTEXT`; the detail names the context.
            NeedsSandbox: the context is not available here.
        """
        try:
            url = _without_fragment(url)
            if url not in self._loaded:
                self._loaded[url] = bundled_context(url) or self._fetch(url)
        except (SourceFault, NeedsSandbox) as error:
            self.failure = self.failure or error
            raise
        return self._loaded[url]

    def _fetch(self, url: str) -> tuple[str, Any]:
        depth = self._depths.get(url, 1)
        if urlsplit(url).scheme not in {"http", "https"}:
            raise _fault(url, "is not on the Web")
        if depth > MAX_CONTEXT_DEPTH:
            raise _fault(url, f"more than {MAX_CONTEXT_DEPTH} contexts deep")
        if len(self._loaded) >= MAX_CONTEXTS:
            raise _fault(url, f"more than {MAX_CONTEXTS} contexts")
        found = self._source.load(url, document_url=self._document_url)
        document = _parse(url, found.content)
        for reference in iter_references(document.get("@context")):
            self._depths.setdefault(resolve(found.url, reference), depth + 1)
        return found.url, document


def _without_fragment(url: str) -> str:
    try:
        urlsplit(url)  # refuses a host with an unmatched bracket
        return urldefrag(url).url
    except ValueError as error:
        raise _fault(url, f"not a URL: {error}") from error


def _parse(url: str, content: bytes) -> dict[str, Any]:
    if len(content) > MAX_CONTEXT_BYTES:
        raise _fault(url, f"longer than {MAX_CONTEXT_BYTES} bytes")
    if is_json_too_deep(content):
        raise _fault(url, "nested too deeply")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _fault(url, f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise _fault(url, "not a JSON object")
    return document


def _fault(url: str, why: str) -> SourceFault:
    return SourceFault(Reason.REMOTE_CONTEXT, f"{url}: {why}")


def iter_references(value: Any) -> Iterator[str]:
    """Yield the context references in a value of `@context`."""
    stack = [(value, True)]
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
    """Return a resolved reference without fragment; the reference if invalid."""
    try:
        return urldefrag(urljoin(base, reference)).url
    except ValueError:
        return reference


def remote_contexts(document: bytes, *, base: str) -> list[str]:
    """Return the absolute URLs of remote contexts, in document order, at most 20.

    `document` is the beginning of a JSON-LD document, which may not be well-formed.
    """
    urls: dict[str, None] = {}
    for match in islice(_CONTEXT.finditer(document), _MAX_LOOKS):
        text = document[match.end() : match.end() + _MAX_LOCAL_BYTES]
        try:
            value, _ = _DECODER.raw_decode(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        for reference in iter_references(value):
            urls[resolve(base, reference)] = None
            if len(urls) == MAX_CONTEXTS:
                return list(urls)
    return list(urls)
