"""Queue candidates by `lua/add.lua` and `lua/budget.lua`, or note why not.

Each candidate first goes to the partition of its registered domain, unless its host is
known to be away (`candidate.py`). If that partition reports the host as away, the
candidate goes on to the partition of the host; before that, it is counted for the URI
budget of its domain, if any. A worker that dies between two calls loses nothing: when
offered again, each URI goes the same way and is counted once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, cast

from redis.asyncio import Redis

from rdfcrawl.core.errors import Decision
from rdfcrawl.core.records import CrawlBudget
from rdfcrawl.core.times import now_ms
from rdfcrawl.frontier.queue.candidate import (
    SEEN_ONLY,
    AddedCounts,
    Candidate,
    KeyLocations,
    bucket_of,
    unpack_or_none,
)
from rdfcrawl.frontier.queue.options import DecisionOptions
from rdfcrawl.frontier.redis.operations import Argument, LuaScripts
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.stores.nquads import DECISION_IRI, OPERATOR, document_mark
from rdfcrawl.uri import (
    MAX_CACHED_HOSTS,
    BadUri,
    NormalForm,
    fingerprint,
    partition_of,
    registered_domain,
)

Call = tuple[str, list[Argument]]


# Long scripts block all other workers: about 3 ms for 500 URIs of 10 keys.
MAX_URIS_PER_CALL = 500
MAX_KEYS_PER_CALL = 100
# Number of URIs over the budget of their host that are kept, in case it is raised.
MAX_REFUSED = 1_000_000
_ADD_HEAD = 7  # arguments of `add` before the keys
_KEY_HEAD = 3  # and of each key before its URIs
# Results of the operations for a URI.
_NEW, _SEEN, _AWAY, _COUNTED = b"10AS"
_WANTED: Final = b"WFL"  # results of a look that are not "seen before"
_REFUSALS: Final = {ord("F"): Decision.HOST_BUDGET, ord("D"): Decision.DOMAIN_BUDGET}

_MAX_PARENTS: Final = 10_000  # parents with counted decisions
_MAX_SPELLED: Final = 10_000
_32_BITS: Final = 0xFFFF_FFFF


class _Row(NamedTuple):
    """A URI of a host that is away."""

    key: str
    fingerprint: int
    item: bytes
    budget: CrawlBudget


class CandidateAdder:
    """Adds candidates to one crawl."""

    def __init__(
        self,
        redis: Redis,
        scripts: LuaScripts,
        locations: KeyLocations,
        budget: CrawlBudget,
    ) -> None:
        self._redis = redis
        self._scripts = scripts
        self._whereabouts = locations
        self._budget = budget
        self._prefixes: Sequence[str] = ()
        self._fill = self._most_here = self._most_over = 0
        self.decisions: DecisionLog | None = None  # log of refusals

    def open(self, prefixes: Sequence[str], *, fill: int, most_here: int) -> None:
        """Set the fixed options of the crawl; with `most_here` 0, no host goes away."""
        self._prefixes = prefixes
        self._fill = fill
        self._most_here = most_here if len(prefixes) > 1 else 0
        self._most_over = -(-MAX_REFUSED // len(prefixes))

    async def add(self, candidates: Sequence[Candidate]) -> AddedCounts:
        """Queue the candidates that are new.

        Safe to repeat: candidates that were queued before count as seen.
        """
        here, rows = self._split_away(candidates)
        calls = list(self._calls(here))
        marks = await self._run("add", calls)
        if _AWAY in marks:
            rows += self._sent_away(calls, marks)
        added = _added(marks)
        decisions = self.decisions
        if decisions is not None and (
            added.over_host or added.over_domain or decisions.spelled
        ):
            _note_refused(decisions, zip(_rows(calls), marks, strict=True))
        if not rows:
            return added
        marks = await self._add_away(rows)
        if decisions is not None:
            _note_refused(decisions, zip(rows, marks, strict=True))
        return added + _added(marks)

    async def unseen(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates that `add` would queue, even if the server is full."""
        here, rows = self._split_away(candidates)
        calls = list(self._calls(here, mode="look"))
        marks = await self._run("add", calls)
        rows += self._sent_away(calls, marks)
        wanted = {
            (key, fingerprint)
            for (key, fingerprint, _, _), mark in zip(_rows(calls), marks, strict=True)
            if mark in _WANTED
        }
        found = bytearray(len(rows))
        await self._add_rows(rows, range(len(rows)), found, mode="look")
        wanted |= {
            (row.key, row.fingerprint)
            for row, mark in zip(rows, found, strict=True)
            if mark in _WANTED
        }
        return [x for x in candidates if (x.key, x.fingerprint) in wanted]

    async def take_up(self, profile: int, budget: CrawlBudget) -> int:
        """Queue the refused URIs of a profile, as far as its budget now allows.

        Safe to repeat. Return the number of URIs that were queued.
        """
        n_new = 0
        pipe = self._redis.pipeline(transaction=False)
        for prefix in self._prefixes:
            pipe.hlen(f"{prefix}:over")
        sizes = await pipe.execute()
        for partition, prefix in enumerate(self._prefixes):
            cursor = 0
            while sizes[partition]:
                found: Any = await self._redis.hscan(
                    f"{prefix}:over", cursor, count=MAX_URIS_PER_CALL
                )
                cursor, rows = found
                n_new += await self.take_up_some(partition, rows, {profile: budget})
                if not cursor:
                    break
        return n_new

    async def take_up_some(
        self,
        partition: int,
        rows: Mapping[bytes, bytes],
        budgets: Mapping[int, CrawlBudget],
    ) -> int:
        """Queue the refused URIs that budgets now allow; safe to repeat.

        Args:
            partition: of the refused URIs.
            rows: some of its refused URIs.
            budgets: by profile; URIs of others stay refused.
        """
        refused = [
            candidate
            for name, item in rows.items()
            if (candidate := self._refused(name, item, budgets))
        ]
        here, away = self._split_away(refused)
        calls = list(self._calls(here))
        marks = await self._run("add", calls)
        away += self._sent_away(calls, marks)
        fates = [*marks, *await self._add_away(away)]
        taken: dict[str, list[Argument]] = {}
        for row, mark in zip([*_rows(calls), *away], fates, strict=True):
            if mark in (_NEW, _SEEN):
                taken.setdefault(row.key, []).extend((row.fingerprint, row.item))
        forget = [
            (self._prefixes[partition], ["forget", 0, self._fill, 0, *arguments])
            for arguments in _cut(taken)
        ]
        await self._run("budget", forget)
        return fates.count(_NEW)

    def _refused(
        self, name: bytes, item: bytes, budgets: Mapping[int, CrawlBudget]
    ) -> Candidate | None:
        """Return the candidate of a refused URI, if its profile has a budget here."""
        key, _, fingerprint = name.decode().rpartition(" ")
        item = item.removeprefix(b"d")  # over the budget of its domain
        record = unpack_or_none(item[1:], key)
        if record is None or record.profile not in budgets:
            return None
        partition = partition_of(key, len(self._prefixes))
        return Candidate(
            partition, key, int(fingerprint), item, budgets[record.profile]
        )

    def _split_away(
        self, candidates: Sequence[Candidate]
    ) -> tuple[Sequence[Candidate], list[_Row]]:
        """Split off the candidates of hosts that are known to be away."""
        self._whereabouts.refresh()
        away = self._whereabouts.away
        if not away:
            return candidates, []
        rows = [
            _Row(x.key, x.fingerprint, x.item, x.budget or self._budget)
            for x in candidates
            if x.key in away
        ]
        if rows:
            candidates = [x for x in candidates if x.key not in away]
        return candidates, rows

    def _calls(
        self, candidates: Iterable[Candidate], *, mode: Literal["add", "look"] = "add"
    ) -> Iterator[Call]:
        partitions: dict[int | tuple[int, CrawlBudget], dict[str, list[Argument]]] = {}
        for partition, key, number, item, budget in candidates:
            place = partition if budget is None else (partition, budget)
            keys = partitions.get(place)
            if keys is None:
                keys = partitions[place] = {}
            pairs = keys.get(key)
            if pairs is None:
                pairs = keys[key] = []
            pairs += (number, item)
        for place, keys in partitions.items():
            own = (place, self._budget) if isinstance(place, int) else place
            head = self._add_head(own[1], mode)
            for arguments in _cut(keys):
                yield self._prefixes[own[0]], head + arguments

    def _add_head(self, budget: CrawlBudget, mode: str) -> list[Argument]:
        return [*budget, self._fill, self._most_over, mode, self._most_here]

    def _sent_away(self, calls: list[Call], marks: bytes) -> list[_Row]:
        """Return the URIs whose hosts are reported as away; remember these hosts."""
        rows = [
            row for row, mark in zip(_rows(calls), marks, strict=True) if mark == _AWAY
        ]
        for row in rows:
            self._whereabouts.note_away(row.key)
        return rows

    async def _add_away(self, rows: Sequence[_Row]) -> bytes:
        marks = bytearray([_COUNTED]) * len(rows)
        waiting = [
            i
            for i, row in enumerate(rows)
            if row.budget.of_domain > 0 and row.item != SEEN_ONLY
        ]
        bound = frozenset(waiting)
        free = [i for i in range(len(rows)) if i not in bound]
        await self._add_rows(rows, free, marks, mode="add")
        for unsure in (b"", b"L"):
            # Count only URIs that will be accepted, so that they take no room from
            # others; URIs that are not counted are only added where they are refused
            # anyway.
            await self._add_rows(rows, waiting, marks, mode="look")
            new = [i for i in waiting if marks[i] in b"W" + unsure]
            await self._add_rows(rows, new, marks, mode="count")
            sure = [i for i in waiting if marks[i] in b"SF"]
            await self._add_rows(rows, sure, marks, mode="add")
            waiting = [i for i in waiting if marks[i] == ord("L")]
        over = [i for i in bound if marks[i] in b"FR"]
        await self._add_rows(rows, over, bytearray(marks), mode="give back")
        return bytes(marks)

    async def _add_rows(
        self,
        rows: Sequence[_Row],
        which: Iterable[int],
        marks: bytearray,
        *,
        mode: Literal["add", "look", "count", "give back"],
    ) -> None:
        is_home = mode in ("count", "give back")
        groups: dict[tuple[int, CrawlBudget], dict[str, list[int]]] = {}
        for i in which:
            key = rows[i].key
            partition = (
                partition_of(key, len(self._prefixes))
                if is_home
                else self._whereabouts.note_away(key)
            )
            keys = groups.setdefault((partition, rows[i].budget), {})
            keys.setdefault(key, []).append(i)
        calls: list[Call] = []
        order: list[int] = []
        for (partition, budget), keys in groups.items():
            head = self._add_head(budget, mode)
            if is_home:
                head = [mode, budget.of_domain, self._fill, self._most_over]
            pairs: dict[str, list[Argument]] = {
                key: [x for i in some for x in (rows[i].fingerprint, rows[i].item)]
                for key, some in keys.items()
            }
            calls += [
                (self._prefixes[partition], head + arguments)
                for arguments in _cut(pairs, "" if is_home else "+")
            ]
            order += [i for some in keys.values() for i in some]
        name: Literal["budget", "add"] = "budget" if is_home else "add"
        for i, mark in zip(order, await self._run(name, calls), strict=True):
            marks[i] = mark

    async def _run(self, name: Literal["add", "budget"], calls: list[Call]) -> bytes:
        if not calls:
            return b""
        return b"".join(cast("list[bytes]", await self._scripts.run(name, calls)))


def _added(marks: bytes) -> AddedCounts:
    n_seen = marks.count(b"0") + marks.count(b"R")
    return AddedCounts(marks.count(b"1"), n_seen, marks.count(b"F"), marks.count(b"D"))


def _note_refused(decisions: DecisionLog, fates: Iterable[tuple[_Row, int]]) -> None:
    """Note the URIs over a budget, and those seen before in another spelling."""
    for (key, number, item, _), mark in fates:
        why = _REFUSALS.get(mark)
        if decisions.is_other_spelling(number) and mark == _SEEN:
            why = Decision.DUPLICATE
        if why is None or (record := unpack_or_none(item[1:], key)) is None:
            continue
        decisions.note(why, [record.url], record.parent, mark=number)


def _rows(calls: Iterable[Call]) -> Iterator[_Row]:
    """Yield the URIs in calls of `add`, in the order of the replies."""
    for _, arguments in calls:
        budget = CrawlBudget(*map(int, arguments[:3]))
        at = _ADD_HEAD
        while at < len(arguments):
            key, end = str(arguments[at]), at + _KEY_HEAD + 2 * int(arguments[at + 2])
            for i in range(at + _KEY_HEAD, end, 2):
                item = cast("bytes", arguments[i + 1])
                yield _Row(key, int(arguments[i]), item, budget)
            at = end


@lru_cache(maxsize=MAX_CACHED_HOSTS)
def _place_of(key: str) -> str:
    """Return the length of a key's registered domain, and the bucket of that domain.

    A leading minus marks a key that stands for the domain itself, and is not counted
    among its hosts.
    """
    domain = registered_domain(key)
    stands_for_it = key.removeprefix("www.") == domain or key == domain
    return f"{'-' * stands_for_it}{len(domain)}:{bucket_of(domain)}"


def _cut(keys: dict[str, list[Argument]], how: str = "") -> Iterator[list[Argument]]:
    """Yield arguments of calls; `how` is "+" if the keys are away."""
    arguments: list[Argument] = []
    n_keys = n_uris = 0
    for key, pairs in keys.items():
        place = how + _place_of(key)
        for start in range(0, len(pairs), 2 * MAX_URIS_PER_CALL):
            part = pairs[start : start + 2 * MAX_URIS_PER_CALL]
            n = len(part) // 2
            if n_keys == MAX_KEYS_PER_CALL or n_uris + n > MAX_URIS_PER_CALL:
                yield arguments
                arguments, n_keys, n_uris = [], 0, 0
            arguments += (key, place, n, *part)
            n_keys += 1
            n_uris += n
    if arguments:
        yield arguments


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
        n_left, found = self._room_of(parent), list[str]()
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

    def note_links(self, why: Decision, links: Collection[bytes], parent: str) -> None:
        """Note the reason why distinct links, in UTF-8, are not queued; see `note`."""
        if self._options.share < 1 or self._room_of(parent) > 0:
            self.note(why, (x.decode(errors="replace") for x in links), parent)
        elif n_over := len(links) - (parent.encode(errors="replace") in links):
            self.counts["decision/not_logged"] += n_over

    def _room_of(self, parent: str) -> int:
        """Return how many more decisions about links of a document are logged."""
        of_document = self._options.of_document - self._n_of.get(parent, 0)
        return min(self._n_left, of_document)

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
