"""A worker's decisions not to queue URIs, until they are logged.

Noting a decision needs no round trip.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.options.table import OptionsTable, integer, number
from rdfcrawl.core.times import now_ms
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.stores.nquads import DECISION_IRI, OPERATOR, document_mark
from rdfcrawl.uri import BadUri, NormalForm, fingerprint

if TYPE_CHECKING:
    from rdfcrawl.core.errors import Decision

_MAX_PARENTS: Final = 10_000  # parents with counted decisions
_MAX_SPELLED: Final = 10_000
_32_BITS: Final = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class DecisionOptions(OptionsTable):
    """Which decisions are logged."""

    share: float = number("DECISIONS_SAMPLE", 1.0, 0, 1)
    """share of all URIs of which the [log of decisions](stores.md#the-log-of-decisions)
    has the reasons why they are not queued; chosen by hash, so it has all decisions
    about a URI or none. 0: no log"""
    of_document: int = integer("DECISIONS_MAX_PER_DOCUMENT", 1000, 1, 100_000)
    """decisions about links of one document in that log"""
    of_worker: int = integer("DECISIONS_MAX", 1_000_000, 1, 1_000_000_000)
    """decisions that one worker logs in one run"""


def is_sampled(mark: int, share: float) -> bool:
    """Return whether the decisions about a URI are logged, by its fingerprint.

    This depends only on the URI, so the log has all decisions about it or none.
    """
    return (mark & _32_BITS) < share * (_32_BITS + 1)


class DecisionLog:
    """Gathers decisions; `take` returns those since the last time.

    Attributes:
        counts: decisions by statistic, since the last report.
        spelled: fingerprints of links in flight that are not in normal form.
    """

    def __init__(self, options: DecisionOptions, normal_form: NormalForm) -> None:
        self.counts: Counter[str] = Counter()
        self._options = options
        self._normalize = normal_form.normalize
        self._is_simple = normal_form.is_simple
        self._n_left = options.of_worker
        self._lines: dict[str, list[str]] = {}  # by parent
        self._n_of: dict[str, int] = {}  # logged, by parent
        self.spelled: set[int] = set()

    def note(
        self,
        why: Decision,
        urls: Iterable[str],
        parent: str,
        *,
        mark: int | None = None,
    ) -> None:
        """Note the reason why URLs of a document are not queued.

        Args:
            why: the reason.
            urls: absolute URLs; links of other schemes as found.
            parent: URL of the document; empty for seeds.
            mark: fingerprint if there is one URL and it is known.
        """
        n_left = min(
            self._n_left, self._options.of_document - self._n_of.get(parent, 0)
        )
        found: list[str] = []
        n_over, share = 0, self._options.share
        for url in urls:
            if url == parent:  # the document itself was fetched
                continue
            if share < 1 and not is_sampled(
                self._mark(url) if mark is None else mark, share
            ):
                continue
            if len(found) >= n_left:
                n_over += 1
                continue
            iri = url if self._is_simple(url) else graph_iri(url)
            found.append(f"<{iri}> <{DECISION_IRI}{why}>\n")
        if n_over:
            self.counts["decision/not_logged"] += n_over
        if found:
            self._keep(parent, found)
            self.counts[f"decision/{why}"] += len(found)

    def _mark(self, url: str) -> int:
        try:
            return fingerprint(self._normalize(url))
        except BadUri:
            return fingerprint(url)

    def _keep(self, parent: str, found: list[str]) -> None:
        if len(self._n_of) >= _MAX_PARENTS and parent not in self._n_of:
            self._n_of.clear()
        self._n_of[parent] = self._n_of.get(parent, 0) + len(found)
        self._n_left -= len(found)
        self._lines.setdefault(parent, []).extend(found)

    def note_spelling(self, mark: int) -> None:
        """Remember a link whose spelling is not its normal form."""
        if len(self.spelled) < _MAX_SPELLED:
            self.spelled.add(mark)

    def is_other_spelling(self, mark: int) -> bool:
        """Return whether `note_spelling` was called for a link, and forget the link."""
        if mark in self.spelled:
            self.spelled.discard(mark)
            return True
        return False

    def take(self) -> bytes:
        """Return the lines since the last call, each after the mark of its document."""
        lines, self._lines = self._lines, {}
        at_ms = now_ms()
        return b"".join(
            document_mark(graph_iri(parent) if parent else OPERATOR, at_ms)
            + "".join(found).encode("utf-8", "replace")
            for parent, found in lines.items()
        )
