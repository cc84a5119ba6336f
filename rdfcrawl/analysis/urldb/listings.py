"""Observations from the statements of sitemaps: listed URLs and their claims."""

from __future__ import annotations

import re
from hashlib import blake2b
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.urldb.activities import UrlObservation
from rdfcrawl.analysis.urldb.joining import observe
from rdfcrawl.core.namespaces import DCTERMS, RC
from rdfcrawl.stores.reading import iter_marked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LISTS: Final = f"{RC}lists".encode()
_LISTS_SITEMAP: Final = f"{RC}listsSitemap".encode()
_MODIFIED: Final = f"{DCTERMS}modified".encode()
_CHANGEFREQ: Final = f"{RC}changefreq".encode()
_PRIORITY: Final = f"{RC}priority".encode()
_STATEMENT: Final = re.compile(
    rb'^<([^>\n]*)> <(%b)> ["<]([^>"\n]*)[">]'
    % b"|".join(
        map(re.escape, (_LISTS, _LISTS_SITEMAP, _MODIFIED, _CHANGEFREQ, _PRIORITY))
    ),
    re.MULTILINE,
)
_MAX_BYTES: Final = 100  # of a claim


def iter_listings(blocks: Iterable[bytes]) -> Iterator[UrlObservation]:
    """Yield the observations in the marked documents of a member, in complete lines.

    A document is a sitemap if it has a statement about its own listed URLs.
    """
    reading: _SitemapReading | None = None
    for mark, quads in iter_marked(blocks):
        if mark is not None:
            if reading is not None:
                yield from reading.end()
            reading = _SitemapReading(mark[1], int(mark[2]))
        elif reading is not None and (reading.is_sitemap or _LISTS in quads):
            yield from reading.read(quads)
    if reading is not None:
        yield from reading.end()


class _SitemapReading:
    """One version of a document that may be a sitemap."""

    def __init__(self, graph: bytes, version_ms: int) -> None:
        self._sitemap = graph.partition(b"#")[0]  # further parts have a fragment
        self._name = self._sitemap.decode("utf-8", "replace")
        self._name_json = quoted(self._name)
        self._ms = version_ms
        self._url = b""
        self._is_index = False
        self._claims: dict[bytes, bytes] = {}
        self._n_urls = 0
        self._hash = blake2b(digest_size=16)
        self.is_sitemap = False

    def read(self, quads: bytes) -> Iterator[UrlObservation]:
        """Yield complete entries; the claims of an entry follow it."""
        for subject, predicate, value in _STATEMENT.findall(quads):
            if predicate in (_LISTS, _LISTS_SITEMAP):
                if subject == self._sitemap:
                    yield from self.take()
                    self._url, self._is_index = value, predicate == _LISTS_SITEMAP
                    self.is_sitemap = True
                    self._n_urls += 1
                    self._hash.update(value + b"\n")
            elif subject == self._url and len(value) <= _MAX_BYTES:
                self._claims[predicate] = value

    def end(self) -> Iterator[UrlObservation]:
        """Yield the last entry, and the reading itself."""
        yield from self.take()
        if self.is_sitemap:
            digest = self._hash.hexdigest()
            is_index = "true" if self._is_index else "false"
            columns = observe(
                reading=f'{self._ms},{self._n_urls},"{digest}",{is_index}'
            )
            yield UrlObservation(self._name, 0, columns)

    def take(self) -> Iterator[UrlObservation]:
        """Yield the last entry, if there is one."""
        if not self._url:
            return
        claim = ",".join(
            [
                quoted(self._claims.get(predicate, b"").decode("utf-8", "replace"))
                for predicate in (_MODIFIED, _CHANGEFREQ, _PRIORITY)
            ]
        )
        ms, url = self._ms, self._url.decode("utf-8", "replace")
        columns = observe(
            listed=f"{ms},{self._name_json},{ms}",
            claim=f"{claim},{ms},{ms}",
            latest=f'["isSitemap",{ms},"true"]' if self._is_index else "",
            listing=f"{self._name_json},{ms},{ms},{claim}",
        )
        self._url = b""
        self._claims.clear()
        yield UrlObservation(url, 0, columns)
