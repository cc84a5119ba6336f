"""Observations from the links of documents: the first and last links to a URL.

Other forms of a document that it names (`canonical`, `alternate`) become known, but are
not linked.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.urldb.activities import UrlObservation
from rdfcrawl.analysis.urldb.joining import observe
from rdfcrawl.core.formats import Relation
from rdfcrawl.rdf.links.outlinks import relation_iri
from rdfcrawl.stores.reading import iter_marked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAX_BYTES: Final = 4 * 1024 * 1024  # of lines with buffered targets
_MAX_TARGETS: Final = 150_000
# Relations to other URLs of the page itself; they are not links.
_FORMS: Final = [
    relation_iri(each).encode() for each in (Relation.CANONICAL, Relation.ALTERNATE)
]
_forms = b"|".join(map(re.escape, _FORMS))
_begin = rb"^<(?!(?:%b)>)[^>\n]*> <([^>\n]*)" % _forms
_find_targets = re.compile(_begin, re.MULTILINE).findall
_find_forms = re.compile(rb"^<(?:%b)> <([^>\n]*)" % _forms, re.MULTILINE).findall


class LinkedUrls:
    """Targets of links, with the first and the last document that links to each.

    They are buffered, since many documents link to the same targets.
    """

    def __init__(self) -> None:
        self._documents: list[tuple[int, bytes, list[bytes]]] = []
        self._n_bytes = 0
        self._first: dict[bytes, tuple[int, bytes]] = {}
        self._last: dict[bytes, int] = {}
        self._forms: dict[bytes, None] = {}

    def add(self, blocks: Iterable[bytes]) -> None:
        """Add the links in the marked documents of a member, as complete lines."""
        ms, document = 0, b""
        for mark, lines in iter_marked(blocks):
            if mark is not None:
                ms, document = int(mark[2]), mark[1]
            else:
                self._documents.append((ms, document, _find_targets(lines)))
                self._n_bytes += len(lines)
                if any(each in lines for each in _FORMS):
                    self._forms.update(dict.fromkeys(_find_forms(lines)))
        if self._n_bytes >= _MAX_BYTES:
            self._join_targets()

    def _join_targets(self) -> None:
        """Join the buffered targets of documents with the known ones."""
        self._documents.sort(key=lambda each: each[:2])
        first: dict[bytes, tuple[int, bytes]] = {}
        last: dict[bytes, int] = {}
        for ms, _, targets in self._documents:
            last.update(dict.fromkeys(targets, ms))
        for ms, document, targets in reversed(self._documents):
            first.update(dict.fromkeys(targets, (ms, document)))
        for target in first.keys() & self._first.keys():
            first[target] = min(first[target], self._first[target])
            last[target] = max(last[target], self._last[target])
        self._first.update(first)
        self._last.update(last)
        self._documents.clear()
        self._n_bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether `take` should be called."""
        return len(self._first) + len(self._forms) >= _MAX_TARGETS

    def take(self) -> Iterator[UrlObservation]:
        """Yield all observations, and start empty."""
        self._join_targets()
        for target, (ms, document) in self._first.items():
            source = quoted(document.decode("utf-8", "replace"))
            linked = f"[{ms},{source},{self._last[target]}]"
            columns = ["", linked, "", "", "", "", ""]
            yield UrlObservation(target.decode("utf-8", "replace"), 0, columns)
        for target in self._forms.keys() - self._first.keys():
            yield UrlObservation(target.decode("utf-8", "replace"), 0, observe())
        self._first, self._last, self._forms = {}, {}, {}
