"""Detect whether a document equals the stored one, or is gone or has moved.

For each document that a later run may request again, a digest of its statements is kept
in Redis, from the time when they are on disk until they are replaced. The store of the
crawl is kept, too, for all runs and workers.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import blake2b
from typing import Final

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.core.errors import ConfigError, Reason
from rdfcrawl.core.last_copies import (
    REDIRECTED,
    LastCopy,
    NewCopy,
    detour_of,
    doubt_of,
    doubted,
)
from rdfcrawl.core.records import GONE, Document, Kind
from rdfcrawl.core.tasks import RefreshedPage
from rdfcrawl.pipelines.items import HarvestingSpider
from rdfcrawl.rdf.fingerprints import MAX_STATEMENT_BYTES, statements_hash
from rdfcrawl.sources.harvest.last_copies import CRAWL, STORED, copy_key
from rdfcrawl.stores.options import shown_uri

_DIGEST_BYTES: Final = 12


class StatementsDigest:
    """Digests of the statements of a document.

    Their order and chunks make no difference, except in documents of more than
    `MAX_STATEMENT_BYTES`.
    """

    __slots__ = "_hash", "_held", "_n_bytes"

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._n_bytes = 0
        self._hash: blake2b | None = None  # of a large document

    def add(self, chunk: QuadChunk) -> None:
        """Add statements."""
        if self._hash is not None:
            self._hash.update(chunk.digest)
            return
        lines = chunk.lines
        self._held.append(lines)
        self._n_bytes += len(lines)
        if self._n_bytes > MAX_STATEMENT_BYTES:
            self._hash = blake2b(b"".join(self._held), digest_size=_DIGEST_BYTES)
            self._held.clear()

    def stored(self) -> str:
        """Return the digest that shows whether a store has these statements."""
        found = self._hash
        if found is None:
            lines = sorted({*b"".join(self._held).split(b"\n")})
            found = blake2b(b"\n".join(lines), digest_size=_DIGEST_BYTES)
        return b64encode(found.digest()).decode()

    def compared(self, graph: str) -> str:
        """Return the hash for the history of a document.

        Unless the document is large, blank nodes have no labels in it, and `graph`, the
        IRI of the document, makes no difference.
        """
        if self._hash is not None:
            return self._hash.hexdigest()
        return statements_hash(b"".join(self._held), graph)


def may_be_revisited(document: Document) -> bool:
    """Return whether a later run may request the document again."""
    return document.record.depth == 0 or _is_requested_again(document)


def _is_requested_again(document: Document) -> bool:
    record = document.record
    return record.kind.is_source or bool(record.task or record.change)


class StoredCopies:
    """The stored statements of a crawl's documents, for all runs and workers.

    The digest of a copy is stored after its statements are on disk, and removed before
    others are written. So no changed graph counts as unchanged, however a worker ends.
    """

    def __init__(self, spider: HarvestingSpider) -> None:
        self._spider = spider
        self._written: dict[str, str] = {}  # since the last flush
        self._seeds: set[str] = set()  # of these, only of interest if there is room

    @property
    def run(self) -> int:
        """Number of the run."""
        return self._spider.joined().run

    async def last(self, document: Document, url: str = "") -> LastCopy | None:
        """Return the copy by an earlier run of a document, or of another URL."""
        if not self._is_later(document):
            return None
        key = copy_key(url or document.url)
        text = await self._spider.joined().state_store.get(CRAWL, STORED, key)
        return LastCopy.of_text(text) if text else None

    async def is_stored(self, document: Document, new: NewCopy) -> bool:
        """Return whether the store has exactly these statements of a document.

        If the store has others, their digest is removed here, as they will be replaced,
        and `Document.has_new_statements` is set.
        """
        last = await self.last(document)
        if last is None:
            return False
        key = copy_key(document.url)
        if last.digest == new.kept().digest != "" and key not in self._written:
            if last.n_doubts:  # others that come later are doubted like the first
                await self._put({key: new.kept().text()})
            return True
        document.has_new_statements = bool(last.digest) and not document.has_losses
        self._written.pop(key, None)
        await self._put({key: last._replace(digest="").text()})
        return False

    async def doubt(self, document: Document, new: NewCopy) -> str:
        """Return why a document does not replace the last copy; empty if it does."""
        if document.record.kind is Kind.SPARQL:
            return ""  # an endpoint is judged by all of its responses
        task, moved = document.record.task, moved_from(document)
        copies = {document.url: await self.last(document)}
        if moved:
            copies[moved] = await self.last(document, moved)
        if isinstance(task, RefreshedPage) and task.is_stored:
            stored = document.url if task.read_at else moved or document.url
            # of a crawl that did not expect a later one
            copies[stored] = copies[stored] or LastCopy()
        for url, last in copies.items():
            if last is None:
                continue
            if url == moved:  # whose date is not that of its target
                detour = detour_of(url, document.url)
                new = new._replace(detour=detour, modified=0)
            if why := doubt_of(new, last):
                self._written[copy_key(url)] = doubted(last, new).text()
                return f"{REDIRECTED}: {why}" if url == moved else why
        return ""

    def _is_later(self, document: Document) -> bool:
        """Return whether an earlier run may have stored the document."""
        if document.record.change:
            return True
        return bool(self._spider.joined().run) and may_be_revisited(document)

    def may_have(self, document: Document) -> bool:
        """Return whether an earlier run may have stored a page or dump.

        For pages of `scrapy refresh`, use `lost_copy`.
        """
        record = document.record
        is_judged = record.kind.is_source or isinstance(record.task, RefreshedPage)
        is_later_run = bool(self._spider.joined().run)
        return is_later_run and may_be_revisited(document) and not is_judged

    async def has(self, document: Document) -> bool:
        """Return whether the crawl has stored the document."""
        key = copy_key(document.url)
        if key in self._written:
            return True
        state_store = self._spider.joined().state_store
        return await state_store.get(CRAWL, STORED, key) is not None

    def note(self, document: Document, new: NewCopy) -> None:
        """Remember a document that was written to the store."""
        key = copy_key(document.url)
        self._written[key] = new.kept().text()
        if not _is_requested_again(document):
            self._seeds.add(key)

    async def forget(self, document: Document) -> None:
        """Forget the copy of a document that is deleted."""
        key = copy_key(document.url)
        self._written.pop(key, None)
        await self._spider.joined().state_store.drop(CRAWL, STORED, [key])

    def take(self) -> dict[str, str]:
        """Return the copies of documents written since the last flush."""
        written, self._written = self._written, {}
        return written

    async def put(self, written: dict[str, str]) -> None:
        """Store the copies of documents that are on disk.

        Those of seeds are left out while Redis is full, as a crawl goes on then.
        """
        seeds = {key: written[key] for key in self._seeds & written.keys()}
        self._seeds -= seeds.keys()
        if rest := {key: text for key, text in written.items() if key not in seeds}:
            await self._put(rest)
        if seeds:
            state_store = self._spider.joined().state_store
            await state_store.put_unless_full(CRAWL, STORED, seeds)

    async def _put(self, entries: dict[str, str]) -> None:
        await self._spider.joined().state_store.put(CRAWL, STORED, entries)


_WHERE: Final = ("crawl:", "store")  # table of the crawl, with one entry
_KEY: Final = "uri"


class KeptStore:
    """Keeps the `STORE` of a crawl, from the first flush on.

    Another store would lack its documents, which are not requested again.

    Args:
        spider: of the crawl.
        uri: of the store; its login is not kept.
    """

    def __init__(self, spider: HarvestingSpider, uri: str) -> None:
        self._spider = spider
        self._uri = shown_uri(uri)
        self._is_kept = False

    async def check(self) -> None:
        """Check that the crawl has no other store.

        Raises:
            ConfigError: it has another store.
        """
        kept = await self._spider.joined().state_store.get(*_WHERE, _KEY)
        if kept is not None:
            self._compare(kept)

    async def keep(self) -> None:
        """Store the URI.

        Raises:
            ConfigError: another worker has stored another URI first.
        """
        if not self._is_kept:
            state_store = self._spider.joined().state_store
            self._compare(await state_store.claim(*_WHERE, _KEY, self._uri))

    def _compare(self, kept: str) -> None:
        if kept != self._uri:
            crawl_id = self._spider.joined().options.crawl_id
            raise ConfigError(
                f"STORE={self._uri}: crawl {crawl_id} was begun"
                f" with STORE={kept}, and keeps it; -a fresh=1 restarts it"
            )
        self._is_kept = True


def lost_copy(document: Document) -> str:
    """Return the URL of a page whose statements are deleted; empty if all stay.

    They are deleted if the page is gone, or was read at another URL, also of another
    host. Other responses change nothing stored. The URL where the page was read before
    is affected by its own response alone: at the end of the same redirect, or to a
    request of its own.
    """
    task, url = document.record.task, document.record.first_url
    if not isinstance(task, RefreshedPage) or not task.is_stored:
        return ""
    is_gone = task.is_gone(document.status, document.response.started_ms)
    if task.read_at:
        return document.url if is_gone and document.url == task.read_at else ""
    if is_gone:
        return url
    is_elsewhere = document.url != url
    if any(fault.reason is not Reason.EMPTY for fault in document.faults):
        return url if document.n_quads and is_elsewhere else ""
    return url if is_elsewhere and 200 <= document.status < 300 else ""


def moved_from(document: Document) -> str:
    """Return the URL of a page that is redirected; empty for others.

    Its own statements are deleted when the new content is known, not earlier: a target
    on another host is requested later, and may fail.
    """
    url, status = document.record.first_url, document.status
    is_redirect = 300 <= status < 400 and status != 304
    if is_redirect or document.url == url:
        return ""
    is_clear = all(fault.reason is Reason.EMPTY for fault in document.faults)
    is_known = 200 <= status < 400 and (is_clear or document.n_quads)
    return url if is_known or status in GONE else ""
