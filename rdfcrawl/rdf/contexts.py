"""Find the remote contexts of a document of JSON-LD that could not be read."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Final

from rdfcrawl.rdf.jsonld.references import iter_references, resolve

_CONTEXT: Final = re.compile(rb'"@(?:context|import)"\s*:\s*(?=["\[{])')
_MAX_CONTEXT_BYTES: Final = 256 * 1024
_MAX_CONTEXTS: Final = 20
_MAX_LOOKS: Final = 1000  # at local contexts as well, each up to the largest size
_DECODER: Final = json.JSONDecoder()


def remote_contexts(document: bytes, *, base: str) -> list[str]:
    """Return the URLs of remote contexts, in document order, at most 20.

    `document` is JSON-LD or the beginning of it, and need not be well-formed. Relative
    URLs are resolved against `base`.
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
