"""Lists of the URLs behind the numbers: missed, listed in vain, duplicates, changes.

Rows are compressed while a domain is read, and kept on disk until they are written, so
memory does not depend on their number.
"""

from __future__ import annotations

import json
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if sys.version_info >= (3, 14):  # pragma: no cover
    from compression import zstd
else:
    from backports import zstd

from rdfcrawl.analysis.measures.domain_clusters import classify_missed
from rdfcrawl.analysis.measures.listed import PageOutcome, detail_of
from rdfcrawl.analysis.measures.refetches import FetchInterval, stated_lastmod
from rdfcrawl.analysis.report.content import (
    MAX_ROWS,
    ReportRow,
    ReportTable,
    time_text,
)

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.uri_facts import UriFacts
    from rdfcrawl.core.sorting import SpillFile, SpillFolder

_DAY: Final = "T00:00:00Z"
_BLOCK_ROWS: Final = 1000  # compressed together
_LEVEL: Final = 1


class UrlList(NamedTuple):
    """A list of URLs with a reason in common.

    Attributes:
        key: also the name of its CSV file.
        columns: the last one is a sitemap that lists the URL, if any does.
    """

    key: str
    title: str
    sentence: str
    columns: tuple[str, ...]


_LINKED: Final = ("linked by", "sitemap")
_WITH_STATUS: Final = ("URL", "status", "requested", *_LINKED)
_WITH_REASON: Final = ("URL", "reason", *_LINKED)
MISSED: Final = UrlList(
    "missed",
    "Pages that sitemaps miss",
    "Pages that were read, that no sitemap lists, and that no other page represents."
    " List those of the class “missing content”; the others are described at table 2.",
    ("URL", "class", "first linked", *_LINKED),
)
DUPLICATES: Final = UrlList(
    "duplicates",
    "Duplicates",
    "URLs with the content of another URL of the site, and the URL that represents"
    " both. Sitemaps should list the latter only.",
    ("URL", "represented by", *_LINKED),
)
UNCLAIMED: Final = UrlList(
    "unclaimed-changes",
    "Changes without a new lastmod",
    "Listed pages whose content changed between two fetches, while their sitemaps"
    " were read and claimed no change: their date was the same, or there was none.",
    ("URL", "fetched", "fetched again", "lastmod", "sitemap"),
)
UNCHANGED: Final = UrlList(
    "claimed-unchanged",
    "A new lastmod without a change",
    "Listed pages whose content was the same at two fetches, while their sitemaps"
    " claimed a change.",
    UNCLAIMED.columns,
)
_OF_OUTCOMES: Final = {
    PageOutcome.NOT_FOUND: UrlList(
        "not-found",
        "Not found",
        "URLs with the response 404 or 410. Remove them from sitemaps, and correct"
        " links to them.",
        _WITH_STATUS,
    ),
    PageOutcome.REDIRECTED: UrlList(
        "redirected",
        "Redirected",
        "URLs that redirect elsewhere. List the target instead.",
        ("URL", "target", "requested", *_LINKED),
    ),
    PageOutcome.BLOCKED: UrlList(
        "blocked",
        "Blocked by robots.txt",
        "URLs that robots.txt forbids, so they were not requested. Remove the listed"
        " ones from sitemaps, or allow them.",
        _WITH_REASON,
    ),
    PageOutcome.NOINDEX: UrlList(
        "noindex",
        "Not for search engines",
        "Pages with “noindex” in X-Robots-Tag or in a robots meta element. Remove the"
        " listed ones from sitemaps, or allow indexing.",
        _WITH_STATUS,
    ),
    PageOutcome.ERROR_PAGE: UrlList(
        "error-pages",
        "Error pages with status 200",
        "Pages that say that there is no such page. They should have status 404.",
        _WITH_STATUS,
    ),
    PageOutcome.FAILED: UrlList(
        "failed",
        "Failed",
        "URLs that could not be read for another reason.",
        ("URL", "reason", "requested", *_LINKED),
    ),
    PageOutcome.REFUSED: UrlList(
        "refused",
        "Refused by the crawl",
        "URLs that were not requested because of limits of the crawl, such as"
        " max_per_host.",
        _WITH_REASON,
    ),
    PageOutcome.NOT_TRIED: UrlList(
        "not-requested",
        "Listed, but not requested",
        "URLs of sitemaps that the crawl has not requested: they are still in its"
        " queue, or out of its scope, as those of another site.",
        ("URL", *_LINKED),
    ),
}
LISTS: Final = (MISSED, *_OF_OUTCOMES.values(), DUPLICATES, UNCLAIMED, UNCHANGED)

_Part: TypeAlias = tuple[str, bool]  # key of a list; whether sitemaps list the URLs


def rows_of(
    facts: UriFacts, outcome: PageOutcome, intervals: Iterable[FetchInterval]
) -> Iterator[tuple[UrlList, ReportRow]]:
    """Yield the lists that a URL is in, and its rows there.

    Args:
        facts: of the URL.
        outcome: of its last try.
        intervals: between its fetches.
    """
    url = facts.url
    found_at = facts.linked_by, _sitemap(facts) if facts.is_still_listed else ""
    if outcome is PageOutcome.NOT_TRIED:
        if facts.is_still_listed:
            yield _OF_OUTCOMES[outcome], (url, *found_at)
    elif outcome is not PageOutcome.READ:
        last = () if facts.refusal else (_time(facts.fetches[-1].started_ms),)
        yield _OF_OUTCOMES[outcome], (url, detail_of(facts), *last, *found_at)
    if facts.is_crawled and facts.is_copy:
        yield DUPLICATES, (url, facts.original, *found_at)
    elif outcome is PageOutcome.READ and not facts.is_still_listed:
        since = _time(facts.first_linked_ms)
        yield MISSED, (url, classify_missed(facts).value, since, *found_at)
    if facts.is_listed:
        for each in intervals:
            is_false = each.is_claimed and not each.content_changed
            if is_false or _is_unclaimed(facts, each):
                times = _time(each.begin_ms), _time(each.end_ms)
                # A day was stated, or its first second.
                lastmod = _time(stated_lastmod(facts, each.end_ms)).removesuffix(_DAY)
                kind = UNCHANGED if is_false else UNCLAIMED
                yield kind, (url, *times, lastmod, _sitemap(facts))


def _is_unclaimed(facts: UriFacts, interval: FetchInterval) -> bool:
    """Return whether a page changed, but its sitemaps, if read, did not claim it."""
    if interval.is_claimed or not interval.content_changed:
        return False
    reads = facts.sitemap_reads
    place = bisect_right(reads, interval.begin_ms)
    return place < len(reads) and reads[place] <= interval.end_ms


def _sitemap(facts: UriFacts) -> str:
    return facts.dated_by or facts.listings[-1].sitemap


def _time(time_ms: int | None) -> str:
    return time_text(time_ms) if time_ms else ""


class RowBlock(NamedTuple):
    """Some rows of one list.

    Attributes:
        key: of the list.
        is_listed: whether sitemaps list their URLs.
        n_rows: their number.
        content: the rows, compressed.
    """

    key: str
    is_listed: bool
    n_rows: int
    content: bytes


class DomainLists:
    """Collects the rows of one domain."""

    def __init__(self) -> None:
        self._rows: dict[_Part, list[str]] = {}
        self._blocks: list[RowBlock] = []

    def add(
        self, facts: UriFacts, outcome: PageOutcome, intervals: Iterable[FetchInterval]
    ) -> None:
        """Add the rows of a URL; see `rows_of`."""
        for kind, row in rows_of(facts, outcome, intervals):
            part = kind.key, bool(row[-1])
            rows = self._rows.setdefault(part, [])
            rows.append(json.dumps(row))
            if len(rows) == _BLOCK_ROWS:
                self._blocks.append(_pack(part, self._rows.pop(part)))

    def blocks(self) -> list[RowBlock]:
        """Return all rows in the order of their addition to each list."""
        rest = [_pack(part, rows) for part, rows in self._rows.items()]
        return [*self._blocks, *rest]


def _pack(part: _Part, rows: list[str]) -> RowBlock:
    content = zstd.compress(",".join(rows).encode(), _LEVEL)
    return RowBlock(*part, len(rows), content)


class UrlLists:
    """The lists of all domains.

    Args:
        spills: keeps the rows as long as tables are read.
    """

    def __init__(self, spills: SpillFolder) -> None:
        self._spills = spills
        self._parts: dict[_Part, _ListPart] = {}

    def add(self, blocks: Iterable[RowBlock]) -> None:
        """Add the rows of a domain.

        Raises:
            OSError: the disk is full.
        """
        for each in blocks:
            part = each.key, each.is_listed
            if part not in self._parts:
                self._parts[part] = _ListPart(self._spills.new())
            self._parts[part].add(each)

    def tables(self) -> Iterator[ReportTable]:
        """Yield a table of all lists, then one for each; listed URLs come first."""
        rows = [(x.title, *self._counts(x), f"{x.key}.csv") for x in LISTS]
        yield ReportTable(
            key="url-lists",
            title="All lists",
            sentence="The number of URLs in each list below, or of changes; how many"
            " of them are in sitemaps; and the file that has all of them.",
            columns=("list", "URLs", "in sitemaps", "file"),
            rows=tuple(rows),
        )
        for each in LISTS:
            n_rows, _ = self._counts(each)
            first = tuple(islice(self._iter_rows(each), MAX_ROWS))
            yield ReportTable(
                key=each.key,
                title=each.title,
                sentence=each.sentence,
                columns=each.columns,
                rows=first,
                n_left_out=n_rows - len(first),
                why_empty="No URL is in this list.",
                iter_all=partial(self._iter_rows, each),
            )

    def _of(self, kind: UrlList) -> list[_ListPart]:
        """Return the parts of a list, that of listed URLs first."""
        found = (self._parts.get((kind.key, is_listed)) for is_listed in (True, False))
        return [each for each in found if each is not None]

    def _counts(self, kind: UrlList) -> tuple[int, int]:
        """Return the number of rows, and of those in sitemaps."""
        listed = self._parts.get((kind.key, True))
        n_rows = sum(each.n_rows for each in self._of(kind))
        return n_rows, 0 if listed is None else listed.n_rows

    def _iter_rows(self, kind: UrlList) -> Iterator[ReportRow]:
        for part in self._of(kind):
            yield from part.rows()


class _ListPart:
    """Rows on disk."""

    def __init__(self, spill: SpillFile) -> None:
        self._spill = spill
        self._ends = array("Q", [0])  # of the blocks
        self.n_rows = 0

    def add(self, block: RowBlock) -> None:
        self._ends.append(self._spill.add(block.content)[1])
        self.n_rows += block.n_rows

    def rows(self) -> Iterator[ReportRow]:
        for begin, end in zip(self._ends, self._ends[1:], strict=False):
            content = zstd.decompress(self._spill.read(begin, end))
            yield from map(tuple, json.loads(b"[%b]" % content))
