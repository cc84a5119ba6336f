"""Where the contexts of JSON-LD come from: the seam between reader and network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from rdfcrawl.errors import NeedsSandbox

MAX_CONTEXT_BYTES: Final = 1024 * 1024
MAX_CONTEXT_DEPTH: Final = 5  # contexts that name contexts that name …


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDocument:
    """A document that holds a context.

    Attributes:
        url: where it was found, after redirects; resolves what it refers to.
        content: JSON, UTF-8, at most `MAX_CONTEXT_BYTES`.
    """

    url: str
    content: bytes


class ContextSource(Protocol):
    """Gives contexts by URL."""

    def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Return the context at an absolute URL.

        Args:
            url: as the document names it, resolved.
            document_url: the document that names it, or whose context does.

        Raises:
            SourceFault: `REMOTE_CONTEXT`: it cannot be had; the detail says why.
            NeedsSandbox: not here, but perhaps where the reader may wait for it.
        """
        ...


class NoContexts:
    """Has none, and cannot wait for any."""

    def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Raise `NeedsSandbox`."""
        raise NeedsSandbox(f"context {url} of {document_url}")
