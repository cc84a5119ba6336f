"""Cache of query answers, so that all pages show the same answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEPT: Final = 16  # answers
_KEPT_BYTES: Final = 16 * 1024 * 1024  # of all of them
_SECS: Final = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswer:
    """The answer to a query.

    Attributes:
        kind: `rows`, `triples` or `boolean`.
        variables: of rows.
        rows: of the page, each a term for each variable, as in the JSON of SPARQL;
            None: unbound.
        text: statements, or the content of a download.
        is_true: of ASK.
        n_rows: rows or statements on all pages.
        is_cut: there are more, which are on no page.
        page: number of the page, from 1.
        n_pages: number of pages.
        first: number of the first row of the page, from 1; 0: there is none.
        answered_ms: time of the answer, Unix time.
        n_behind: documents of the log that the store lacks; -1: not known.
        note: why the store was not brought up to date; empty if that was tried.
    """

    kind: str
    variables: tuple[str, ...] = ()
    rows: tuple[Any, ...] = ()
    text: str = ""
    is_true: bool = False
    n_rows: int = 0
    is_cut: bool = False
    page: int = 1
    n_pages: int = 1
    first: int = 0
    answered_ms: int = 0
    n_behind: int = 0
    note: str = ""


class AnswerKey(NamedTuple):
    """Identity of an answer, apart from its time.

    Attributes:
        query: of SPARQL.
        rows: limit of rows.
        most: rows of a page.
    """

    query: str
    rows: int
    most: int


class PagedAnswer:
    """An answer whose rows are in pages.

    Args:
        answer: without rows.
        pages: the rows of each page as a JSON array; none if there are no rows.
        most: rows of a page.
    """

    def __init__(self, answer: QueryAnswer, pages: Sequence[str], most: int) -> None:
        self._answer, self._most = answer, most
        self._pages = [page.encode() for page in pages]
        self.n_bytes = sum(map(len, self._pages))

    def page(self, number: int) -> QueryAnswer:
        """Return the answer with the rows of a page, at most the last one."""
        number = min(max(1, number), max(1, len(self._pages)))
        if not self._pages:
            return self._answer
        return replace(
            self._answer,
            rows=tuple(json.loads(self._pages[number - 1])),
            page=number,
            n_pages=len(self._pages),
            first=(number - 1) * self._most + 1,
        )


class KeptAnswers:
    """The latest answers: 16 of them, of 16 MiB together, each for ten minutes."""

    def __init__(self) -> None:
        self._kept: dict[AnswerKey, tuple[float, PagedAnswer]] = {}

    def get(self, key: AnswerKey) -> PagedAnswer | None:
        """Return an answer, if it is still cached."""
        end, answer = self._kept.get(key, (0.0, None))
        return answer if monotonic() < end else None

    def put(self, key: AnswerKey, answer: PagedAnswer) -> None:
        """Cache an answer; remove its former version and the oldest ones."""
        self._kept.pop(key, None)
        self._kept[key] = monotonic() + _SECS, answer
        while len(self._kept) > _KEPT or self._n_bytes() > _KEPT_BYTES:
            del self._kept[next(iter(self._kept))]

    def _n_bytes(self) -> int:
        return sum(answer.n_bytes for _, answer in self._kept.values())
