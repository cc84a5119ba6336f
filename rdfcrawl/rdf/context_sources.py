"""Sources of JSON-LD contexts: the bundled ones, and the interface to the network."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol

from rdfcrawl.core.errors import NeedsSandbox

MAX_CONTEXT_BYTES: Final = 1024 * 1024
MAX_CONTEXT_DEPTH: Final = 5  # of contexts that refer to contexts


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDocument:
    """A document with a context."""

    url: str  # after redirects; base of the references in the context
    content: bytes  # JSON, UTF-8, at most `MAX_CONTEXT_BYTES`


class ContextSource(Protocol):
    """Source of contexts by URL."""

    def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Return the context at an absolute URL, for the document at `document_url`.

        Raises:
            SourceFault: `REMOTE_CONTEXT`: not available; the detail has the reason.
            NeedsSandbox: not available here, but perhaps where the reader may wait.
        """


class NoContexts:
    """Source without contexts, for readers that cannot wait."""

    def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Raise `NeedsSandbox`."""
        raise NeedsSandbox(f"context {url} of {document_url}")


def bundled_context(url: str) -> tuple[str, Any] | None:
    """Return the URL of a bundled context and its document; else None.

    The document is shared: do not modify it. `url` has no fragment.
    """
    name = _json("index.json").get(url)
    return None if name is None else (url, _json(name))


@cache
def _json(name: str) -> Any:
    from importlib.resources import files  # noqa: PLC0415 (few documents name a context)

    text = (files("rdfcrawl.rdf.data.contexts") / name).read_text("utf-8")
    return json.loads(text)
