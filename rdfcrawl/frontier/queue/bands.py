"""The order of URIs: bands by score, and epochs of domains (Algorithm 6.1).

URLs wait in the frontier, separately for sitemaps and links, best first.
`lua/epochs.lua` grants them to the queues of their hosts, as many per epoch as the
quota allows; no other path leads a page into a queue. When an epoch is over, any worker
judges it (`analysis/refresh/domain_schedule.py`) and begins the next; if several try,
one succeeds. All state is in Redis, and each change is one script, so killing a worker
loses no grant.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import Document, RankScore, Record, Urgency
from rdfcrawl.core.tasks import DescribedSample, DumpPart, ListedPage, SamplePage
from rdfcrawl.frontier.queue.options import (
    DiscoveryScore,
    EpochOptions,
    ScoreChoice,
    SitemapScore,
)
from rdfcrawl.frontier.redis.operations import Argument, LuaScripts, millisecs

if TYPE_CHECKING:
    from pathlib import Path

    from redis.asyncio import Redis

    from rdfcrawl.analysis.ranking.table import RankTable
    from rdfcrawl.analysis.refresh.domain_schedule import DomainSchedule
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.queue.candidate import Candidate


logger = logging.getLogger(__name__)

_URGENCIES: Final = (
    *(Urgency.LOW, Urgency.LOWERED, Urgency.ORDINARY),
    *(Urgency.RAISED, Urgency.HIGH, Urgency.HIGHEST),
)  # by level
_MIDDLE_LEVEL: Final = _URGENCIES.index(Urgency.ORDINARY)


class ScoreBands:
    """The urgency of URIs by score; unknown URIs get the middle one.

    The table is memory-mapped and used for each queued URI; there is none unless a
    setting uses scores.

    Args:
        table: of the last ranking; None if there was none.
        choice: which of its scores count.
    """

    def __init__(self, table: RankTable | None, choice: ScoreChoice) -> None:
        self._table = table
        self._of_sitemaps = _ranked(choice.of_sitemaps)
        self._of_links = _ranked(choice.of_links)

    @classmethod
    def open(cls, root: Path, choice: ScoreChoice) -> ScoreBands | None:
        """Return the bands of a crawl; None if it uses no scores.

        Args:
            root: `CRAWL_DIR/<CRAWL_ID>`.
            choice: of the crawl.

        Raises:
            ConfigError: the table is damaged or unreadable.
        """
        if _ranked(choice.of_sitemaps) is _ranked(choice.of_links) is None:
            return None
        from rdfcrawl.analysis.ranking.table import open_ranks

        try:
            table = open_ranks(root)
        except OSError as error:
            raise ConfigError(f"SITEMAP_SCORE, DISCOVERY_SCORE: {error}") from error
        if table is None:
            logger.warning(
                "SITEMAP_SCORE, DISCOVERY_SCORE: no URI of this crawl has a score yet;"
                " scrapy urldb rank computes them"
            )
        return cls(table, choice)

    def of_listed(self, fingerprint: int, stated: Urgency) -> Urgency:
        """Return the urgency of a URI of a sitemap, with its stated priority."""
        if self._of_sitemaps is None:
            return stated
        return self._urgency(fingerprint, self._of_sitemaps)

    def of_links(self, links: Iterable[Candidate], band: bytes) -> list[Candidate]:
        """Return links with their bands; `band` is that of ordinary ones."""
        if self._table is None or self._of_links is None:
            return list(links)
        (ordinary,) = band
        found = []
        for link in links:
            item = link.item
            if item[0] == ordinary:  # others are late anyway
                urgency = self._urgency(link.fingerprint, self._of_links)
                shifted = ordinary + urgency - Urgency.ORDINARY
                item = bytes((shifted,)) + item[1:]
            found.append(link._replace(item=item))
        return found

    def _urgency(self, fingerprint: int, score: RankScore) -> Urgency:
        level = None
        if self._table is not None:
            level = self._table.level(fingerprint, score)
        return _URGENCIES[_MIDDLE_LEVEL if level is None else level]


def _ranked(score: SitemapScore | DiscoveryScore) -> RankScore | None:
    """Return the ranking score of a setting; None for other kinds of score."""
    try:
        return RankScore(score.value)
    except ValueError:
        return None


SCHEDULE: Final = "schedule"  # fields of the crawl's settings
EPOCHS: Final = "epochs"
_MOST_GRANTED: Final = 500  # per call, as long scripts block all others
_NOT_ASKED: Final = "-"  # outcome of a URL; see `lua/ack.lua`
_NOT_WORTH_IT: Final = ""
_OF_SITEMAPS: Final = (ListedPage, DumpPart, SamplePage, DescribedSample)
_LISTED, _LINKED = ord("A"), ord("P")  # see `lua/schedule.lua`


class EndedEpoch(NamedTuple):
    """A log entry of a finished epoch."""

    prefix: str
    entry: str


class EpochLook(NamedTuple):
    """The result of a look at the epochs of some partitions.

    Attributes:
        granted: partitions where URLs were granted.
        n_granted: their number.
        n_begun: epochs that were begun.
        ended: entries to log, of the epochs before; then call `logged`.
        due_secs: until a domain needs the next look, or None.
    """

    granted: tuple[int, ...] = ()
    n_granted: int = 0
    n_begun: int = 0
    ended: tuple[EndedEpoch, ...] = ()
    due_secs: float | None = None


class EpochTotals(NamedTuple):
    """URLs granted in all epochs of all runs.

    Attributes:
        begun: epochs.
        sitemaps: URLs granted to sitemaps.
        links: URLs granted to links.
        further: URLs of either, where the other had too few.
    """

    begun: int = 0
    sitemaps: int = 0
    links: int = 0
    further: int = 0


class _OverEpoch(NamedTuple):
    """A finished epoch, or none yet; see `lua/epochs.lua`."""

    prefix: str
    domain: str
    number: int
    schedule: bytes
    of_sitemaps: bytes
    of_links: bytes


class DomainEpochs:
    """The epochs of one crawl.

    Attributes:
        is_scheduled: the crawl has quotas since its beginning.
        options: valid options; None in a crawl without quotas.
        given: options given to this worker.
    """

    def __init__(self, redis: Redis, scripts: LuaScripts, crawl_id: str) -> None:
        self.is_scheduled = False
        self.options: EpochOptions | None = None
        self.given: EpochOptions | None = None
        self._redis = redis
        self._scripts = scripts
        self._crawl_id = crawl_id
        self._prefixes: Sequence[str] = ()

    def open(
        self,
        prefixes: Sequence[str],
        stored: Mapping[bytes, bytes],
        given: EpochOptions | None,
    ) -> None:
        """Join the epochs of a crawl.

        Args:
            prefixes: of its partitions.
            stored: stored settings of the crawl.
            given: options given to this worker; None keeps the stored ones.

        Raises:
            ConfigError: the crawl was begun without quotas.
        """
        self._prefixes = prefixes
        self.is_scheduled = stored.get(SCHEDULE.encode()) == b"domain"
        if given and not self.is_scheduled:
            raise ConfigError(
                f"argument schedule=domain: crawl {self._crawl_id} was begun without"
                " it; -a fresh=1 restarts it"
            )
        text = stored.get(EPOCHS.encode(), b"").decode()
        kept = decode(text, EpochOptions) if text else None
        self.given, self.options = given, given or kept

    async def totals(self) -> EpochTotals:
        """Return the URLs granted in all partitions, in one round trip."""
        pipe = self._redis.pipeline(transaction=False)
        for prefix in self._prefixes:
            pipe.hmget(f"{prefix}:cnt", "en", "gs", "gd", "gf")
        rows = await pipe.execute()
        columns = zip(*rows, strict=True)
        return EpochTotals(*(sum(int(n or 0) for n in column) for column in columns))

    async def look(self, partitions: Sequence[int] | None = None) -> EpochLook:
        """Grant waiting URLs, and begin the epochs that are due.

        Safe to repeat: no URL is granted twice.
        """
        options = self.options
        if options is None:
            return EpochLook()
        chosen = range(len(self._prefixes)) if partitions is None else partitions
        n_begun, granted, due = 0, dict.fromkeys(chosen, 0), dict[int, int]()
        looked: Iterable[int] = chosen
        ended: list[EndedEpoch] = []
        while looked := list(looked):
            rows = await self._look(looked, options)
            over: list[_OverEpoch] = []
            again = set()
            for partition, row in zip(looked, rows, strict=True):
                n, next_due, unlogged, *found = row
                granted[partition] += n
                prefix = self._prefixes[partition]
                ended += [EndedEpoch(prefix, each.decode()) for each in unlogged]
                over += [_OverEpoch(prefix, row[0].decode(), *row[1:]) for row in found]
                if found or next_due == 0:
                    again.add(partition)
                due[partition] = next_due
            begun = await self._begin(over, options)
            n_begun += len(begun)
            ended += [each for each in begun if each.entry]
            looked = sorted(again)
        waits = [ms for ms in due.values() if ms >= 0]
        return EpochLook(
            tuple(p for p, n in granted.items() if n),
            sum(granted.values()),
            n_begun,
            tuple(ended),
            min(waits) / 1000 if waits else None,
        )

    async def _look(
        self, partitions: Sequence[int], options: EpochOptions
    ) -> list[list[Any]]:
        arguments: list[Argument] = ["look", _MOST_GRANTED, millisecs(options.secs)]
        calls = [(self._prefixes[p], arguments) for p in partitions]
        return cast("list[list[Any]]", await self._scripts.run("epochs", calls))

    async def _begin(
        self, over: Sequence[_OverEpoch], options: EpochOptions
    ) -> list[EndedEpoch]:
        """Begin epochs; return the log entries of those before, if any."""
        if not over:
            return []
        calls = [(each.prefix, _beginning(each, options)) for each in over]
        replies = await self._scripts.run("epochs", calls)
        return [
            EndedEpoch(each.prefix, entry.decode())
            for each, entry in zip(over, replies, strict=True)
            if isinstance(entry, bytes)
        ]

    async def logged(self, ended: Sequence[EndedEpoch]) -> None:
        """Mark epochs as logged; safe to repeat."""
        calls = [(each.prefix, ["logged", each.entry]) for each in ended]
        await self._scripts.run("epochs", calls)


def _beginning(over: _OverEpoch, options: EpochOptions) -> list[Argument]:
    """Return the arguments that begin the next epoch of a domain."""
    from rdfcrawl.analysis.refresh.domain_schedule import (
        DomainSchedule,
        judge_epoch,
        move_balance,
        new_schedule,
        with_quota,
    )

    entry_end = ""
    if over.number < 0:
        schedule = new_schedule(options.quota, options.phi)
    else:
        kept = decode(over.schedule.decode(), DomainSchedule)
        judged = judge_epoch(kept, _judged(over.of_sitemaps), _judged(over.of_links))
        entry_end = _log_entry_end(over.domain, kept, judged)
        schedule = with_quota(judged, options.quota)
    schedule = move_balance(schedule)
    return [
        "begin",
        over.domain,
        over.number,
        schedule.epoch,
        encode(schedule),
        schedule.quota,
        schedule.n_sitemaps,
        entry_end,
    ]


def _judged(outcomes: bytes) -> list[bool]:
    """Return the known outcomes of granted URLs; a zero byte is unknown."""
    return [mark == ord("1") for mark in outcomes if mark]


def _log_entry_end(
    domain: str, schedule: DomainSchedule, judged: DomainSchedule
) -> str:
    """Return the end of a log entry; the script adds its beginning."""
    values = {
        "domain": domain,
        "quota": schedule.quota,
        "share": round(schedule.k_sitemaps / schedule.quota, 4),
        "utility_sitemaps": round(judged.utility_sitemaps, 4),
        "utility_links": round(judged.utility_discovery, 4),
    }
    return json.dumps(values)[1:]


def waiting_band(band: bytes, record: Record) -> bytes:
    """Return the band of a record that waits for an epoch, by its origin."""
    is_listed = isinstance(record.task, _OF_SITEMAPS)
    return bytes(((_LISTED if is_listed else _LINKED) + int(band),))


def linked_band(band: bytes) -> bytes:
    """Return the band of a link that waits for an epoch."""
    return bytes((_LINKED + int(band),))


def note_outcome(visit: Visit, index: int, document: Document) -> None:
    """Note the outcome of a record of a visit, for the epoch of its domain.

    The fetch was useful if new statements were stored, which no document of the domain
    had before: the store is the index of the algorithm. Error pages with status 200
    have the same text, so only the first one counts.
    """
    found = _outcome(document)
    if found not in (_NOT_ASKED, _NOT_WORTH_IT) or index not in visit.outcomes:
        visit.outcomes[index] = found


def _outcome(document: Document) -> str:
    if not document.response.requested:
        return _NOT_ASKED
    is_worth_it = document.n_quads > 0 and not document.has_same_statements
    if not is_worth_it:
        return _NOT_WORTH_IT
    facts = document.facts
    return facts.text_hash or facts.content_hash or document.url


def outcome_arguments(visit: Visit) -> list[Argument]:
    """Return the arguments of `lua/ack.lua` for the records of a visit."""
    arguments: list[Argument] = [len(visit.outcomes)]
    for index, found in visit.outcomes.items():
        arguments += (index, found)
    return arguments
