"""Read the entries of a sitemap in any format of the protocol.

The format is detected from the content; the media type is almost irrelevant. Elements
are matched by their local names, because many sitemaps have other namespaces or none.

Source: sitemaps.org, protocol 0.9; `feeds` has the sources for RSS and Atom.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, TypeAlias

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.sources.sitemaps.elements import Element, iter_elements
from rdfcrawl.sources.sitemaps.entry import (
    BLANKS,
    DEFAULT_LIMITS,
    SitemapEntry,
    SitemapFormat,
    SitemapLimits,
    atom_entry,
    extension_of,
    read_frequency,
    read_lastmod,
    read_priority,
    rss_entry,
    url_in,
    url_of,
)
from rdfcrawl.sources.sitemaps.json_feed import (
    json_entry,
    may_be_json_feed,
    read_json_feed,
)
from rdfcrawl.sources.sitemaps.markup import (
    ElementStructure,
    Event,
    MarkupTokenizer,
    OpeningTag,
)
from rdfcrawl.sources.sitemaps.semantic import (
    DATASET_LEAVES,
    SitemapDataset,
    read_dataset,
)
from rdfcrawl.sources.sitemaps.text import iter_text
from rdfcrawl.uri import BadUri, parse_uri

Item: TypeAlias = SitemapEntry | SitemapDataset

_RECORDS: Final = frozenset({"url", "sitemap", "dataset", "item", "entry"})
STRUCTURE: Final = ElementStructure(
    records=_RECORDS,
    leaves=frozenset({"loc", "lastmod", "changefreq", "priority", "link", "guid"})
    | DATASET_LEAVES,
    others=frozenset(
        ("image", "video", "news", "md", "ln", "mobile", "pagemap", "title")  # noqa: RUF005
        + ("description", "pubdate", "updated", "published")
    ),
)
_CONTAINERS: Final = frozenset({"channel", "urlset", "sitemapindex"})
_ROOTS: Final = {
    "urlset": SitemapFormat.URLSET,
    "sitemapindex": SitemapFormat.INDEX,
    "rss": SitemapFormat.RSS,
    "rdf": SitemapFormat.RSS_1,
    "feed": SitemapFormat.ATOM,
}
_MARKUP_AT = re.compile(
    r"<\?xml\b|<(?:[\w.\-]+:)?(?:urlset|sitemapindex|rss|rdf|feed)\b", re.IGNORECASE
)
_URL_LINE = re.compile(rf"[{BLANKS}]*(?:http|ftp)s?://", re.IGNORECASE)
_COMMENTS = re.compile(rf"(?:[{BLANKS}]*+#[^\r\n]*+)*+")
# Faults of a source that truncate a document.
_CUTS: Final = (
    Reason.TOO_LARGE,
    Reason.BAD_ARCHIVE,
    Reason.CHECKSUM,
    Reason.TRUNCATED_BODY,
    Reason.BAD_CONTENT_ENCODING,
)
_ENDS: Final = (Reason.INCOMPLETE, Reason.TOO_MANY_ENTRIES, Reason.PARSE_SECS)
_SNIFF_CHARS = 4096
_MAX_LINE_CHARS = 16 * 1024


class Sitemap:
    """A reader of a sitemap; iterate once, over its entries and datasets.

    Entries are not checked against the site that listed the sitemap: see
    `addresses.may_list` and `access.claims_about_others`.

    Args:
        source: the document, uncompressed.
        url: of the document, after redirects.
        log: of this document only; if it has a truncation (`TRUNCATED_BODY`), a list
            loses its last line. It receives the faults: those of `markup.iter_events`;
            `TOO_MANY_ENTRIES`; `BAD_URI` for skipped entries without a requestable URL;
            `SYNTAX` for invalid values; `UNKNOWN_FORMAT`.
        media_type: of the Content-Type, or empty; used only in faults.

    Attributes:
        format: detected format; None before.
        capability: of ResourceSync, if the document is such a list.
        n_read: entries read, including skipped ones.
        is_cut: there is more than was read, or reading failed before the end.
    """

    def __init__(
        self,
        source: bytes | ByteSource,
        *,
        url: str,
        log: FaultLog,
        media_type: str = "",
        charset: str = "",
        limits: SitemapLimits = DEFAULT_LIMITS,
    ) -> None:
        self._source, self._url, self._log = ByteSource.of(source), url, log
        self._base = url
        self._media_type, self._charset = media_type, charset
        self._limits = limits
        self.format: SitemapFormat | None = None
        self.capability = ""
        self.n_read = 0
        self.is_cut = False

    def __iter__(self) -> Iterator[Item]:
        texts = iter_text(
            self._source,
            log=self._log,
            charset=self._charset,
            n_bytes=self._limits.markup.n_bytes,
        )
        try:
            head = _head(texts)
            if (at := _where_markup_begins(head)) >= 0:
                yield from self._xml(chain((head[at:],), texts))
            elif _is_url_list(head):
                self.format = SitemapFormat.TEXT
                yield from self._lines(chain((head,), texts))
            elif may_be_json_feed(head):
                yield from self._json(head, texts)
            elif not head.strip():
                self._log.note(Reason.EMPTY, "nothing in the sitemap")
            else:
                self._unknown(head)
        finally:
            texts.close()
            ends = (*_CUTS, *_ENDS)
            self.is_cut = any(self._log.count(reason) for reason in ends)

    def _unknown(self, head: str) -> None:
        detail = f"not a sitemap ({self._media_type or 'no type'}): {head.strip()[:80]}"
        self._log.note(Reason.UNKNOWN_FORMAT, detail)

    def _lines(self, texts: Iterable[str]) -> Iterator[SitemapEntry]:
        for line in _iter_lines(texts, self._log):
            text = line.strip(BLANKS)
            if not text or text.startswith("#"):
                continue
            position = self._count()
            if position < 0:
                return
            if not _URL_LINE.match(text):
                self._log.note(Reason.BAD_URI, f"not an absolute URL: {text[:200]!r}")
            elif url := url_of(text, self._url, self._log):
                yield SitemapEntry(position=position, url=url)

    def _json(self, head: str, texts: Iterable[str]) -> Iterator[SitemapEntry]:
        items = read_json_feed(chain((head,), texts), self._log)
        if items is None:
            self._unknown(head)
            return
        self.format = SitemapFormat.JSON_FEED
        for item in items:
            position = self._count()
            if position < 0:
                return
            if entry := json_entry(item, position, self._url, self._log):
                yield entry

    def _xml(self, texts: Iterable[str]) -> Iterator[Item]:
        events = self._events(texts)
        items = iter_elements(events, containers=_CONTAINERS, log=self._log)
        for item in items:
            if isinstance(item, OpeningTag):
                if self.format is None and not self._recognize(item):
                    return
                self._rebase(item)
                continue
            local = item.local.lower()
            if local == "md":
                self.capability = self.capability or item.attribute("capability") or ""
            if local not in _RECORDS:
                continue
            position = self._count()
            if position < 0:
                return
            if local == "dataset":
                dataset = read_dataset(
                    item,
                    position=position,
                    base=self._url,
                    log=self._log,
                    max_values=self._limits.n_values,
                )
                if dataset is not None:
                    yield dataset
            else:
                yield from self._entries(item, position)

    def _events(self, texts: Iterable[str]) -> Iterator[Event]:
        """Yield the events, including those of a missing root."""
        tokenizer = MarkupTokenizer(
            self._log, limits=self._limits.markup, structure=STRUCTURE
        )
        is_first = True
        for text in texts:
            for event in tokenizer.feed(text):
                if is_first and isinstance(event, OpeningTag):
                    is_first = False
                    if event.local.lower() in ("url", "sitemap"):
                        self._log.note(Reason.REPAIRED, "no root element")
                        yield OpeningTag("urlset", "", {})
                yield event
        tokenizer.close()

    def _recognize(self, root: OpeningTag) -> bool:
        self.format = _ROOTS.get(root.local.lower())
        if self.format is None:
            self._unknown(f"<{root.name}>")
        return self.format is not None

    def _rebase(self, container: OpeningTag) -> None:
        """Use the `xml:base` of a feed as the base of its entries."""
        relative = container.attributes.get("xml:base", "").strip(BLANKS)
        try:
            self._base = parse_uri(relative, self._base) if relative else self._base
        except BadUri as error:
            self._log.note(error.fault.reason, error.fault.detail)

    def _count(self) -> int:
        """Return the position of the next entry, or -1 beyond the limit."""
        if self.n_read >= self._limits.n_entries:
            most = counted(self._limits.n_entries, "entry", "entries")
            detail = f"only the first {most} read"
            self._log.note(Reason.TOO_MANY_ENTRIES, detail)
            return -1
        self.n_read += 1
        return self.n_read - 1

    def _entries(self, element: Element, position: int) -> Iterator[SitemapEntry]:
        """Yield the entries of an element: one for each of its URLs."""
        feeds = {
            SitemapFormat.ATOM: atom_entry,
            SitemapFormat.RSS: rss_entry,
            SitemapFormat.RSS_1: rss_entry,
        }
        if read := feeds.get(self.format or SitemapFormat.URLSET):
            entry = read(element, position, self._base, self._log, self._limits)
            yield from () if entry is None else (entry,)
            return
        for entry in _url_entries(
            element, position, self._url, self._log, self._limits
        ):
            if entry.is_sitemap and entry.url == self._url:
                self._log.note(Reason.PAGING_LOOP, "the index lists itself")
            else:
                yield entry


def _url_entries(
    element: Element, position: int, base: str, log: FaultLog, limits: SitemapLimits
) -> Iterator[SitemapEntry]:
    """Yield an entry for each `loc` of a `url` or `sitemap`; the protocol has one."""
    lastmod = frequency = priority = None
    others: list[Element] = []
    for child in element.children:
        match child.local.lower():
            case "loc":
                pass
            case "lastmod":
                lastmod = lastmod or read_lastmod(child.text, log)
            case "changefreq":
                frequency = frequency or read_frequency(child.text, log)
            case "priority":
                priority = (
                    read_priority(child.text, log) if priority is None else priority
                )
            case _:
                others.append(child)
    extensions = tuple(
        extension_of(child, limits.n_values) for child in others[: limits.n_extensions]
    )
    for url in _urls_of(element, base, log, limits):
        yield SitemapEntry(
            position=position,
            url=url,
            is_sitemap=element.local.lower() == "sitemap",
            lastmod=lastmod,
            changefreq=frequency,
            priority=priority,
            extensions=extensions,
        )


def _urls_of(
    element: Element, base: str, log: FaultLog, limits: SitemapLimits
) -> Iterable[str]:
    """Return the URLs of an element's own `loc`s, without those of its images."""
    prefix = element.name.rpartition(":")[0]
    every = [child for child in element.all("loc") if child.text.strip(BLANKS)]
    own = [child for child in every if child.name.rpartition(":")[0] == prefix]
    if not every:
        log.note(Reason.BAD_URI, f"a {element.name} without loc")
    locs = (own or every[:1])[: limits.n_values]
    if len(locs) > 1:
        log.note(Reason.REPAIRED, f"a {element.name} with more than one loc")
    return filter(None, dict.fromkeys(url_in(child, base, log) for child in locs))


def _head(texts: Iterator[str]) -> str:
    """Return enough of the text to detect the format."""
    head = ""
    for text in texts:
        head += text
        if len(head.lstrip()) >= _SNIFF_CHARS or len(head) > 64 * _SNIFF_CHARS:
            break
    return head


def _where_markup_begins(head: str) -> int:
    """Return the start of XML, possibly after an error message; -1 if there is none."""
    begin = len(head) - len(head.lstrip("\ufeff \t\r\n\0"))
    if head.startswith("<", begin):
        found = _MARKUP_AT.search(head, begin, begin + _SNIFF_CHARS)
        is_message = head[begin : begin + 3].lower() in ("<br", "<b>")  # of PHP
        return found.start() if is_message and found else begin
    if _is_url_list(head):
        return -1
    found = _MARKUP_AT.search(head, begin, begin + _SNIFF_CHARS)
    return found.start() if found else -1


def _is_url_list(head: str) -> bool:
    """Return whether the text begins with lines of URLs, possibly after comments."""
    comments = _COMMENTS.match(head)
    return _URL_LINE.match(head, comments.end() if comments else 0) is not None


def _iter_lines(texts: Iterable[str], log: FaultLog) -> Iterator[str]:
    """Yield lines; the last line only if the text is complete."""
    rest = ""
    for text in texts:
        *lines, rest = re.split(r"[\r\n]+", rest + text)
        yield from lines
        if len(rest) > _MAX_LINE_CHARS:
            log.note(Reason.LITERAL_TOO_LONG, "a line that is not a URL")
            rest = rest[:_MAX_LINE_CHARS]
    if not any(log.count(reason) for reason in _CUTS):
        yield rest
