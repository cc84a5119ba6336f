"""The environment of readers: limits, process bounds, scratch space, contexts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from rdfcrawl.core.errors import NeedsSandbox
from rdfcrawl.core.options.table import OptionsTable, integer, number

if TYPE_CHECKING:
    from rdfcrawl.rdf.unpack.scratch import ScratchSpace


_URL: Final = re.compile(r"\s*+(https?)://([^/?#\s]++)(\S*+)\s*+", re.IGNORECASE)
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

    The document is shared: do not modify it. `url` has no fragment; its scheme and
    host may be in upper case, and white space around it.
    """
    index = _json("index.json")
    name = index.get(url)
    if name is None and (found := _URL.fullmatch(url)):
        url = f"{found[1].lower()}://{found[2].lower()}{found[3] or '/'}"
        name = index.get(url)
    return None if name is None else (url, _json(name))


@cache
def _json(name: str) -> Any:
    from importlib.resources import files  # noqa: PLC0415 (few documents name a context)

    text = (files("rdfcrawl.rdf.data.contexts") / name).read_text("utf-8")
    return json.loads(text)


# Of the cyclic garbage collector. A crawl makes few cycles and many objects: with
# Python's default, the collector takes a twentieth of its time, and a tenth of that
# of a page.
GC_THRESHOLDS: Final = (20_000, 20, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits(OptionsTable):
    """Limits on one document; statements before a limit are kept."""

    doc_bytes: int = 16 * 2**30
    n_quads: int = 1_000_000_000  # statements written
    literal_bytes: int = integer("RDF_LITERAL_MAX_BYTES", 1024 * 1024, 1)
    """longest statement, in effect its literal; a longer one is left out"""
    n_errors: int = 10_000  # bad statements skipped before the rest is given up
    secs: float = number("RDF_PARSE_SECS", 30.0, 0.1, 86_400)
    """CPU time for a document that is read in a child process, and one second more for
    each megabyte of it and of what it gives"""
    secs_per_mb: float = 1.0  # additional seconds for each megabyte (10^6 bytes)


DEFAULT_LIMITS = ParseLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderContext:
    """Resources of a reader."""

    contexts: ContextSource = field(default_factory=NoContexts)  # of JSON-LD
    # the process has time and memory limits: quadratic or recursive parsers may run
    is_bounded: bool = False
    # for random access, if available
    scratch: ScratchSpace | None = None
    # function that adds bytes of address space, for a mapped file
    lift: Callable[[int], None] = lambda _: None

    def demand_bounds(self, what: str) -> None:
        """Raise `NeedsSandbox` if the process has no limits."""
        if not self.is_bounded:
            raise NeedsSandbox(what)


INLINE = ReaderContext()
