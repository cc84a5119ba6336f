"""Whether a document that is read again says what an earlier run has stored.

Of each document that a later run may ask for again, a digest of its statements is kept
in Redis: once they are on disk, and no longer than they are the last ones.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, cast

from rdfcrawl.provenance import has_losses
from rdfcrawl.rdf.graphs import graph_iri

if TYPE_CHECKING:
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.frontier.visiting import VisitingSpider
    from rdfcrawl.records import Document

_CRAWL: Final = "crawl:"  # stands for the crawl itself where a source is asked for
_STORED: Final = "stored"  # table of the crawl: digest of graph -> digest of statements
_KEY_BYTES: Final = 8  # both have to be equal by chance for a change to be missed
_DIGEST_BYTES: Final = 12


class DocumentDigest:
    """The statements of a document while they pass, in their order."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=_DIGEST_BYTES)
        self.add = self._hash.update

    def text(self) -> str:
        """Return what is compared."""
        return b64encode(self._hash.digest()).decode()


def may_come_again(document: Document) -> bool:
    """Tell whether a later run may ask for a document that was read once."""
    record = document.record
    return record.kind.is_source or bool(record.task or record.change)


class StoredDigests:
    """What the graphs of a crawl hold, for all runs and workers.

    A digest is put after the statements are on disk, and taken away before others are
    written: whatever stops a worker, no graph is called unchanged that is not.

    Args:
        spider: of the crawl.
    """

    def __init__(self, spider: VisitingSpider) -> None:
        self._spider = spider
        self._written: dict[str, str] = {}  # since the last flush

    async def is_stored(self, document: Document, digest: DocumentDigest) -> bool:
        """Tell whether the store has just these statements of a document.

        If it has others, they are forgotten here, as they will be replaced; the
        document is told so.
        """
        if has_losses(document):
            await self.forget(document)
        elif self._session.run:
            key = _key(document)
            known = await self._session.state_store.get(_CRAWL, _STORED, key)
            if known == digest.text() and key not in self._written:
                return True
            document.is_changed = known is not None
            await self.forget(document)
        return False

    def note(self, document: Document, digest: DocumentDigest) -> None:
        """Note what the store was given, once a document has ended there."""
        if not has_losses(document):
            self._written[_key(document)] = digest.text()

    async def forget(self, document: Document) -> None:
        """Forget a document that is replaced, or deleted."""
        key = _key(document)
        self._written.pop(key, None)
        await self._session.state_store.drop(_CRAWL, _STORED, [key])

    def take(self) -> dict[str, str]:
        """Return what was written so far, to be put once it is on disk."""
        written, self._written = self._written, {}
        return written

    async def put(self, written: dict[str, str]) -> None:
        """Keep what is on disk."""
        if written:
            await self._session.state_store.put(_CRAWL, _STORED, written)

    @property
    def _session(self) -> CrawlSession:
        return cast("CrawlSession", self._spider.session)


def _key(document: Document) -> str:
    graph = graph_iri(document.url).encode()
    return b64encode(blake2b(graph, digest_size=_KEY_BYTES).digest()).decode()
