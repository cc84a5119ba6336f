"""Sources of the contexts of JSON-LD: the seam between reader and network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from rdfcrawl.errors import NeedsSandbox

MAX_CONTEXT_BYTES: Final = 1024 * 1024
MAX_CONTEXT_DEPTH: Final = 5  # contexts that name contexts that name …


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDocument:
    """A document with a context.

    Attributes:
        url: where it was found, after redirects; base of its references.
        content: JSON, UTF-8, at most `MAX_CONTEXT_BYTES`.
    """

    url: str
    content: bytes


class ContextSource(Protocol):
    """Source of contexts by URL."""

    def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Return the context at an absolute URL.

        `document_url` is that of the document that names the context, or whose context
        does.

        Raises:
            SourceFault: `REMOTE_CONTEXT`: not available; the detail says why.
            NeedsSandbox: not here, but perhaps where the reader may wait.
        """
        ...


class NoContexts:
    """Source without contexts, where reading cannot wait."""

    def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Raise `NeedsSandbox`."""
        raise NeedsSandbox(f"context {url} of {document_url}")
