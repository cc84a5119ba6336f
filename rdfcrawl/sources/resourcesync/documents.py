"""Read documents of ResourceSync as streams: the heading, then the entries.

Source: ANSI/NISO Z39.99-2017, sections "Sitemap Document Formats", "Describing the
Source" to "Change Dump Manifest", and tables 2 to 4; the documents of ResourceSync
Archives have the same form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.namespaces import RESOURCESYNC
from rdfcrawl.core.source_tasks import ResourceChange, SyncCapability
from rdfcrawl.core.times import is_datetime
from rdfcrawl.sources.resourcesync.fixity import ExpectedBytes, parse_hashes
from rdfcrawl.sources.sitemaps.elements import Element, iter_elements
from rdfcrawl.sources.sitemaps.markup import (
    ElementStructure,
    MarkupLimits,
    OpeningTag,
    iter_events,
)
from rdfcrawl.uri import BadUri, parse_uri, requestable

PATCH: Final = RESOURCESYNC + "patch"
_TERMS = re.compile(r"https?://(?:www\.)?openarchives\.org/rs/terms/?").fullmatch
_IS_PLAIN = re.compile(r"https?://[a-z0-9./_~?=&%-]++").fullmatch
_USUAL_HASH = re.compile(r"md5:[0-9a-f]{32}|sha-256:[0-9a-f]{64}").fullmatch
_ROOTS: Final = frozenset({"urlset", "sitemapindex"})
_ITEMS: Final = frozenset({"url", "sitemap"})
_LEAVES: Final = frozenset({"loc", "lastmod", "changefreq", "priority"})
_STRUCTURE: Final = ElementStructure(
    records=_ITEMS, leaves=_LEAVES, others=frozenset({"md", "ln"})
)


# Of a document, uncompressed. The sitemap protocol allows 50 MiB and 50,000 entries,
# but a source with a million resources need not have an index.
MAX_BYTES: Final = 2 * 2**30
MAX_ENTRIES: Final = 10_000_000
MAX_LINKS: Final = 100  # `rs:ln` of one entry, or of the document
MAX_VALUE_CHARS: Final = 8192  # of one attribute or text; longer ones are skipped


@dataclass(frozen=True, slots=True)
class ResourceFacts:
    """The attributes of an `rs:md` or `rs:ln`, with white space collapsed.

    For `rs:ln`, without `href` and `rel`.
    """

    attributes: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return an attribute such as `capability` or `encoding`, or ""."""
        return self.attributes.get(name, "")

    def time(self, name: str) -> str:
        """Return a time such as `at` or `datetime`; empty if not a W3C datetime."""
        text = self.attributes.get(name, "")
        return text if text and is_datetime(text) else ""

    @property
    def capability(self) -> SyncCapability | None:
        """The kind of the document; None if missing or unknown."""
        return _CAPABILITIES.get(self.text("capability"))

    @property
    def change(self) -> ResourceChange | None:
        """The kind of change; None if missing or unknown."""
        return _CHANGES.get(self.text("change"))

    @property
    def media_type(self) -> str:
        """`type` in lower case, without parameters."""
        return self.text("type").partition(";")[0].strip().lower()

    @property
    def length(self) -> int | None:
        """Bytes; None if missing."""
        return _number(self.text("length"))

    @property
    def pri(self) -> int:
        """Order among links of the same relation, 1 first; 999999 if missing."""
        number = _number(self.text("pri"))
        return number if number and number <= 999_999 else 999_999

    @property
    def fixity(self) -> ExpectedBytes:
        """Digests and length of the bytes."""
        return ExpectedBytes(parse_hashes(self.text("hash"))[0], self.length)


@dataclass(frozen=True, slots=True)
class RsLink:
    """An `rs:ln` with one relation; `url` is its `href` resolved, of any scheme."""

    rel: str
    href: str
    url: str
    facts: ResourceFacts = ResourceFacts()


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentHeading:
    """The metadata of a document; entries of an index are documents too."""

    url: str
    is_index: bool = False
    facts: ResourceFacts = ResourceFacts()
    links: tuple[RsLink, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceEntry:
    """A `url` or `sitemap` of a document."""

    index: int  # place in the document, from 0; entries without location count
    loc: str  # unparsed, like `lastmod`
    uri: str  # `loc`, resolved and normalized like in browsers
    lastmod: str = ""
    facts: ResourceFacts = ResourceFacts()
    links: tuple[RsLink, ...] = ()


def linked(links: tuple[RsLink, ...], rel: str) -> list[RsLink]:
    """Return the links of a relation, by `pri`, then in their order."""
    found = [link for link in links if link.rel == rel]
    return sorted(found, key=lambda link: link.facts.pri) if len(found) > 1 else found


class DocumentEntries:
    """The entries of a document, once, in order; bad ones are logged and skipped.

    Args:
        source: the document, uncompressed.
        url: of the document, after redirects.
        log: receives the faults. `BAD_ANSWER`: another document, or an attribute of a
            wrong type; `BAD_URI`: an entry without a usable location is skipped;
            `TOO_MANY_ENTRIES`; those of `markup.iter_events`.
        skip: entries at the beginning to skip unread.

    Attributes:
        heading: of the document. Metadata before the first entry is available
            immediately; metadata after it at the end of the iteration.
        n_read: entries passed so far, including skipped ones.
        is_document: a document of ResourceSync, or a sitemap.
        is_complete: the document was read completely and no limit was reached.
    """

    def __init__(  # keywords with defaults
        self,
        source: bytes | Path | ByteSource,
        *,
        url: str,
        log: FaultLog,
        charset: str = "",
        skip: int = 0,
    ) -> None:
        self._log, self._skip = log, skip
        self.heading = DocumentHeading(url=url)
        self.n_read = 0
        self.is_document = False
        self.is_complete = False
        self._n_lost = self._lost()
        events = iter_events(
            ByteSource.of(source),
            log=log,
            charset=charset,
            limits=MarkupLimits(n_bytes=MAX_BYTES),
            structure=_STRUCTURE,
        )
        self._entries = self._read(iter_elements(events, log=log))
        self._first = next(self._entries, None)

    def __iter__(self) -> Iterator[ResourceEntry]:
        """Yield the entries; a second iteration continues the first."""
        while self.has_more():
            entry, self._first = self._first, None
            if entry is not None:
                yield entry

    def has_more(self) -> bool:
        """Return whether there is an entry left."""
        if self._first is None:
            self._first = next(self._entries, None)
        return self._first is not None

    def _lost(self) -> int:
        reasons = (Reason.TOO_LARGE, Reason.TOO_DEEP, Reason.INCOMPLETE)
        return sum(self._log.count(reason) for reason in reasons)

    def _read(self, items: Iterator[OpeningTag | Element]) -> Iterator[ResourceEntry]:
        """Yield the entries below the root."""
        root = next(items, None)
        if not isinstance(root, OpeningTag):
            return
        if root.local.lower() not in _ROOTS:
            detail = f"not a ResourceSync document: its root is {root.name[:80]}"
            self._log.note(Reason.BAD_ANSWER, detail)
            return
        self.is_document = True
        is_index = root.local.lower() == "sitemapindex"
        self.heading = replace(self.heading, is_index=is_index)
        own = _Vocabulary(root)
        for item in items:
            if isinstance(item, OpeningTag):  # another root
                break
            name = own.name(item)
            if name not in _ITEMS:
                self._of_heading(name, item)
                continue
            if self.n_read >= MAX_ENTRIES:
                self._log.note(Reason.TOO_MANY_ENTRIES, f"more than {MAX_ENTRIES}")
                return
            self.n_read += 1
            # A truncated entry may be a deletion.
            if self.n_read > self._skip and item.is_complete:
                entry = self._entry(item, own)
                if entry is not None:
                    yield entry
        self.is_complete = self._lost() == self._n_lost

    def _of_heading(self, name: str, element: Element) -> None:
        heading = self.heading
        if name == "md" and not heading.facts.attributes:
            self.heading = replace(heading, facts=self._facts(element))
        elif name == "ln" and len(heading.links) < MAX_LINKS:
            link = self._link(element)
            if link is not None:
                self.heading = replace(heading, links=(*heading.links, link))

    def _entry(self, item: Element, own: _Vocabulary) -> ResourceEntry | None:
        texts: dict[str, str] = {}
        facts: ResourceFacts | None = None
        links: list[RsLink] = []
        for child in item.children:
            name = own.name(child)
            if name in _LEAVES:
                texts.setdefault(name, child.text.strip())
            elif name == "md" and facts is None:
                facts = self._facts(child)
            elif name == "ln" and len(links) < MAX_LINKS:
                link = self._link(child)
                if link is not None:
                    links.append(link)
        loc = texts.get("loc", "")
        uri = self._resolved(loc, "loc")
        if not uri:
            return None
        lastmod = texts.get("lastmod", "")
        if lastmod and not is_datetime(lastmod):
            self._log.note(Reason.BAD_ANSWER, f"lastmod: {lastmod[:80]!r}")
        return ResourceEntry(
            index=self.n_read - 1,
            loc=loc,
            uri=uri,
            lastmod=lastmod[:80],
            facts=facts or ResourceFacts(),
            links=tuple(links),
        )

    def _resolved(self, text: str, what: str) -> str:
        """Return a resolved URL; if invalid, log a fault and return an empty string."""
        detail = f"no {what}" if not text else f"a {what} that is too long"
        if text and len(text) <= MAX_VALUE_CHARS:
            try:
                if _IS_PLAIN(text):  # fast path
                    return requestable(text, max_chars=len(text))
                return parse_uri(text, self.heading.url)
            except BadUri as error:
                detail = error.fault.detail
        self._log.note(Reason.BAD_URI, detail)
        return ""

    def _facts(
        self, start: Element, *, skip: frozenset[str] = frozenset()
    ) -> ResourceFacts:
        attributes = {
            name: " ".join(value.split())
            for name, value in start.attributes.items()
            if name not in skip
            and not name.startswith("xmlns")
            and len(value) < MAX_VALUE_CHARS
        }
        facts = ResourceFacts(attributes)
        for problem in _problems(facts):
            self._log.note(Reason.BAD_ANSWER, problem)
        return facts

    def _link(self, start: Element) -> RsLink | None:
        rel = start.attributes.get("rel", "").strip()
        href = start.attributes.get("href", "").strip()
        url = self._resolved(href if rel else "", "rs:ln")
        if not url:
            return None
        facts = self._facts(start, skip=frozenset({"rel", "href"}))
        return RsLink(rel, href, url, facts)


class _Vocabulary:
    """Filter of elements of the two vocabularies."""

    def __init__(self, root: OpeningTag) -> None:
        self._root = root.namespace
        self._names: dict[tuple[str, str], str] = {}

    def name(self, start: Element) -> str:
        """Return the local name; empty for an element of another vocabulary."""
        key = start.name, start.namespace
        found = self._names.get(key)
        if found is None:
            found = self._name(start)
            if len(self._names) < 256:
                self._names[key] = found
        return found

    def _name(self, start: Element) -> str:
        local = start.local.lower()
        prefix = start.name.rpartition(":")[0]
        if local in {"md", "ln"}:
            is_own = _TERMS(start.namespace) or (
                not start.namespace and prefix in {"rs", ""}
            )
            return local if is_own else ""
        return local if start.namespace in {self._root, ""} else ""


def _problems(facts: ResourceFacts) -> Iterator[str]:
    for name, value in facts.attributes.items():
        match name:
            case "hash":
                if not _USUAL_HASH(value):
                    yield from (f"hash: {part!r}" for part in parse_hashes(value)[1])
                continue
            case "length" | "pri":
                is_wrong = _number(value) is None
            case "at" | "completed" | "from" | "until" | "datetime" | "modified":
                is_wrong = not is_datetime(value)
            case "change":
                is_wrong = facts.change is None
            case _:
                continue
        if is_wrong:
            yield f"{name}: {value[:80]!r}"


def _number(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if is_number else None


_CAPABILITIES: Final = {each.value: each for each in SyncCapability}
_CHANGES: Final = {each.value: each for each in ResourceChange}
