"""Load the contexts of a document within limits, and examine what they define."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal
from urllib.parse import urldefrag, urljoin, urlsplit

from pyoxigraph import NamedNode

from rdfcrawl.core.errors import FaultLog, NeedsSandbox, Reason, SourceFault
from rdfcrawl.rdf.environment import (
    MAX_CONTEXT_BYTES,
    MAX_CONTEXT_DEPTH,
    ContextSource,
    bundled_context,
)
from rdfcrawl.rdf.jsonld.contents import OF_VALUES
from rdfcrawl.rdf.nesting import is_json_too_deep

MAX_CONTEXTS: Final = 20  # distinct ones per document
_CONTEXT: Final = re.compile(rb'"@(?:context|import)"\s*:\s*(?=["\[{])')
_MAX_LOCAL_BYTES: Final = 256 * 1024
_MAX_LOOKS: Final = 1000  # includes local contexts, each up to the largest size
_DECODER: Final = json.JSONDecoder()
# Of IRIs that only a missing context could define; they are in no statement.
UNKNOWN: Final = "urn:rdfcrawl:unknown:"
# Takes the place of a missing context: undefined names become such IRIs, and the term
# marks contexts in which prefixes may be undefined.
STAND_IN: Final = {"@context": {"@vocab": UNKNOWN, UNKNOWN: UNKNOWN}}
# Other names before a colon are prefixes, unless two slashes follow.
_SCHEMES: Final = frozenset(
    {"_", "acct", "ark", "cid", "data", "did", "doi", "file", "ftp", "geo", "hdl"}
    | {"http", "https", "info", "ipfs", "ipns", "magnet", "mailto", "mid", "news"}
    | {"ni", "oai", "oid", "sip", "sips", "sms", "tag", "tel", "urn", "uuid", "xmpp"}
)


RdfDirection = Literal["", "i18n-datatype", "compound-literal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLdReaderOptions:
    """Options of section 9.3 of the JSON-LD 1.1 API."""

    base: str  # of relative IRIs
    # URL of the context in a `Link` header; applies before those of the document
    context_url: str = ""
    scope: str = ""  # separates the blank nodes of several blocks of a page
    # form of the base direction of text; none if empty
    rdf_direction: RdfDirection = ""
    # `json-ld-1.0` refuses later features
    processing_mode: Literal["json-ld-1.1", "json-ld-1.0"] = "json-ld-1.1"
    # the text is not truncated, as in a script of a page
    is_whole: bool = False
    # mends terms and bad nodes; without, as the standard refuses or drops them
    mends: bool = True


class ContextLoader:
    """Loader of the contexts of one document: each once, bundled ones first.

    `failure` is the first missing context: libraries wrap it in their own exceptions.
    With `is_complete` false, it is logged, and `STAND_IN` takes its place; a truncated
    one is read up to there.
    """

    def __init__(
        self, source: ContextSource, *, document_url: str, log: FaultLog | None = None
    ) -> None:
        self.log = FaultLog() if log is None else log
        self._source = source
        self._document_url = document_url
        self._loaded: dict[str, tuple[str, Any]] = {}
        self._depths: dict[str, int] = {}
        self._missing: dict[str, SourceFault] = {}
        self._parts: dict[str, Any] = {}  # of contexts that are truncated
        self.is_complete = True
        self.failure: SourceFault | NeedsSandbox | None = None

    def load(self, url: str) -> tuple[str, Any]:
        """Return final URL and content of a context; do not modify the content.

        Raises:
            SourceFault: `REMOTE_CONTEXT`; the detail names the context.
            NeedsSandbox: the context is not available here.
        """
        try:
            found = self._load(url)
        except NeedsSandbox as error:
            self.failure = self.failure or error
            raise
        except SourceFault as error:
            self._missing[url] = error
            if self.is_complete:
                self.failure = self.failure or error
                raise
            self.log.note(error.fault.reason, error.fault.detail, apart=True)
            return url, self._parts.get(url, STAND_IN)
        return found

    def _load(self, url: str) -> tuple[str, Any]:
        if url in self._missing:
            raise self._missing[url]
        url = _without_fragment(url)
        if url not in self._loaded:
            self._loaded[url] = bundled_context(url) or self._fetched(url)
        return self._loaded[url]

    def _fetched(self, url: str) -> tuple[str, Any]:
        """Return a context of the Web; of `schema.org`, the bundled one."""
        try:
            return self._fetch(url)
        except SourceFault:
            host = url.rpartition("/")[2]
            known = bundled_context(f"http://{host}/") if "." in host else None
            if known is None:
                raise
            detail = f"JSON-LD: a context without a scheme: {host}"
            self.log.note(Reason.REPAIRED, detail, apart=True)
            return known

    def _fetch(self, url: str) -> tuple[str, Any]:
        depth = self._depths.get(url, 1)
        if urlsplit(url).scheme not in {"http", "https"}:
            raise _fault(url, "is not on the Web")
        if depth > MAX_CONTEXT_DEPTH:
            raise _fault(url, f"more than {MAX_CONTEXT_DEPTH} contexts deep")
        if len(self._loaded) >= MAX_CONTEXTS:
            raise _fault(url, f"more than {MAX_CONTEXTS} contexts")
        found = self._source.load(url, document_url=self._document_url)
        try:
            document = _parse(url, found.content, self.log)
        except _Truncated as error:
            self._parts[url] = error.part
            raise _fault(url, "not JSON: truncated") from error
        for reference in iter_references(document.get("@context")):
            self._depths.setdefault(resolve(found.url, reference), depth + 1)
        return found.url, document


def _without_fragment(url: str) -> str:
    try:
        urlsplit(url)  # refuses a host with an unmatched bracket
        return urldefrag(url).url
    except ValueError as error:
        raise _fault(url, f"not a URL: {error}") from error


def _parse(url: str, content: bytes, log: FaultLog) -> dict[str, Any]:
    if len(content) > MAX_CONTEXT_BYTES:
        raise _fault(url, f"longer than {MAX_CONTEXT_BYTES} bytes")
    if is_json_too_deep(content):
        raise _fault(url, "nested too deeply")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        from rdfcrawl.rdf.jsonld.mending import mended_json  # noqa: PLC0415 (few need it)

        mended = mended_json(content.decode("utf-8", "replace"), keeps_open=True)
        if not mended.values:
            raise _fault(url, f"not JSON: {error}") from error
        document = mended.values[0]
        if mended.losses["truncated"]:
            raise _Truncated(_with_stand_in(document)) from error
        mended.note(log, f"context {url}: {error}")
    if not isinstance(document, dict):
        raise _fault(url, "not a JSON object")
    context = document.get("@context", 0)
    if not isinstance(context, str | dict | list | None):  # API 4.1.2, step 5.2.5
        raise _fault(url, "no context in it")
    return document


class _Truncated(Exception):
    """A context is truncated; `part` defines the terms before its end."""

    def __init__(self, part: dict[str, Any]) -> None:
        super().__init__()
        self.part = part


def _with_stand_in(document: Any) -> dict[str, Any]:
    """Return a context whose undefined names are those of a missing one."""
    context = document.get("@context") if isinstance(document, dict) else None
    if not isinstance(context, dict | list):
        return STAND_IN
    known = context if isinstance(context, list) else [context]
    return {"@context": [*known, STAND_IN["@context"]]}


def _fault(url: str, why: str) -> SourceFault:
    return SourceFault(Reason.REMOTE_CONTEXT, f"{url}: {why}")


def is_unknown_keyword(value: Any) -> bool:
    """Return whether a value has the form of a keyword that JSON-LD reserves."""
    if not isinstance(value, str) or value[:1] != "@":
        return False
    return value not in _KEYWORDS and _is_like_keyword(value) is not None


def has_unknown_prefix(name: str) -> bool:
    """Return whether a name is a compact IRI rather than an absolute one.

    >>> has_unknown_prefix("foaf:name"), has_unknown_prefix("urn:isbn:1")
    (True, False)
    """
    prefix, _, rest = name.partition(":")
    return not rest.startswith("//") and prefix.lower() not in _SCHEMES


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


_MAX_ALIASES: Final = 8  # followed from a term
_KEYWORDS: Final = OF_VALUES | {
    *("@base", "@container", "@default", "@embed", "@explicit", "@graph", "@id"),
    *("@import", "@included", "@json", "@list", "@nest", "@none", "@omitDefault"),
    *("@prefix", "@preserve", "@propagate", "@protected", "@requireAll", "@reverse"),
    *("@set", "@version", "@vocab"),
}
_is_like_keyword = re.compile(r"@[A-Za-z]+").fullmatch
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\]")


@dataclass(slots=True)
class RemoteContext:
    """A remote context: large, shared, and to be pruned."""

    terms: dict[str, Any]
    facts: dict[str, Any]  # of terms, by their names; shared if bundled


def are_mapped(
    holders: set[Any],
    contexts: Iterable[dict[str, Any]],
    *,
    roots: list[list[Any]],
    inner: list[list[Any]],
) -> bool:
    """Return whether all properties with objects or arrays are IRIs.

    The standard drops other properties with their content; pyoxigraph 0.5.13 writes
    some of it, and drops properties that only RDF lacks.

    Args:
        holders: keys and indexes of objects and arrays.
        contexts: all of the document.
        roots: expanded contexts of each outermost object.
        inner: expanded contexts of the other objects.
    """
    names = {x for x in holders if isinstance(x, str) and x[0:1] != "@"}
    if not all(map(_can_be_iri, names)) or any(map(changes_vocabulary, inner)):
        return False
    names = {name for name in names if ":" not in name}
    defined = ((name, terms) for terms in contexts for name in names & terms.keys())
    if any(is_unmapped(name, terms) for name, terms in defined):
        return False
    return all(map(_has_vocabulary, roots)) or all(
        names <= set().union(*map(terms_of, context)) for context in roots
    )


def terms_of(entry: Any) -> dict[str, Any]:
    """Return the definitions in an entry of a context, if an object."""
    if isinstance(entry, RemoteContext):
        return entry.terms
    return entry if isinstance(entry, dict) else {}


def _has_vocabulary(context: list[Any]) -> bool:
    """Return whether undefined names become IRIs."""
    vocabulary: Any = ""
    for entry in context:
        vocabulary = "" if entry is None else terms_of(entry).get("@vocab", vocabulary)
    return _is_vocabulary(vocabulary)


def _is_vocabulary(value: Any) -> bool:
    return isinstance(value, str) and ":" in value and not may_be_no_iri(value)


def changes_vocabulary(context: list[Any]) -> bool:
    """Return whether properties mapped outside may be unmapped inside."""
    vocabularies = (terms_of(entry).get("@vocab", "x:") for entry in context)
    return None in context or not all(map(_is_vocabulary, vocabularies))


def is_unmapped(name: str, terms: Mapping[str, Any]) -> bool:
    """Return whether a term may not be an absolute IRI."""
    for _ in range(_MAX_ALIASES):
        iri = terms[name]
        if isinstance(iri, dict):
            iri = iri.get("@id", iri.get("@reverse", ":"))
        if not isinstance(iri, str):
            return True
        if ":" in iri or iri.startswith("@"):
            return False
        if iri not in terms:
            return not _is_vocabulary(terms.get("@vocab"))
        name = iri
    return True


def _can_be_iri(name: str) -> bool:
    """Return whether a name is an IRI, or becomes one with a vocabulary."""
    try:
        NamedNode(name if ":" in name else "x:" + name)
    except ValueError:
        return False
    return not name.startswith("_:")


def may_be_no_iri(key: str) -> bool:
    """Return whether a property of this name or IRI may be dropped in RDF."""
    return key.startswith("_:") or bool(_NOT_IN_IRI.search(key))
