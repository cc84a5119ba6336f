"""Find the references of a document to contexts, and load these within limits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final
from urllib.parse import urldefrag, urljoin, urlsplit

from rdfcrawl.core.errors import NeedsSandbox, Reason, SourceFault
from rdfcrawl.rdf.context_sources import (
    MAX_CONTEXT_BYTES,
    MAX_CONTEXT_DEPTH,
    ContextSource,
    bundled_context,
)
from rdfcrawl.rdf.nesting import is_json_too_deep

MAX_CONTEXTS: Final = 20  # different ones of one document
_CONTEXT: Final = re.compile(rb'"@(?:context|import)"\s*:\s*(?=["\[{])')
_MAX_LOCAL_BYTES: Final = 256 * 1024
_MAX_LOOKS: Final = 1000  # at local contexts as well, each up to the largest size
_DECODER: Final = json.JSONDecoder()


class ContextLoader:
    """Loader of the contexts of one document: bundled ones first, each once.

    `failure` is the first missing context, which libraries hide behind an exception of
    their own.
    """

    def __init__(self, source: ContextSource, *, document_url: str) -> None:
        self._source = source
        self._document_url = document_url
        self._loaded: dict[str, tuple[str, Any]] = {}
        self._depths: dict[str, int] = {}
        self.failure: SourceFault | NeedsSandbox | None = None

    def load(self, url: str) -> tuple[str, Any]:
        """Return final URL and content of a context; do not change the content.

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
        urlsplit(url)  # refuses hosts that have half of a pair of brackets
        return urldefrag(url).url
    except ValueError as error:
        raise _fault(url, f"is no URL: {error}") from error


def _parse(url: str, content: bytes) -> dict[str, Any]:
    if len(content) > MAX_CONTEXT_BYTES:
        raise _fault(url, f"longer than {MAX_CONTEXT_BYTES} bytes")
    if is_json_too_deep(content):
        raise _fault(url, "nested too deeply")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _fault(url, f"no JSON: {error}") from error
    if not isinstance(document, dict):
        raise _fault(url, "no JSON object")
    return document


def _fault(url: str, why: str) -> SourceFault:
    return SourceFault(Reason.REMOTE_CONTEXT, f"{url}: {why}")


def iter_references(value: Any) -> Iterator[str]:
    """Yield the references to contexts in a value of `@context`."""
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
