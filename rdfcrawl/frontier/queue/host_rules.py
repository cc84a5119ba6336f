"""Rules for hosts: blocked ones, hours of visits, and rules of robots.txt.

A file names them, one per line: `www.example.org` is that host, `.example.org` the
domain and all hosts below it. `#` begins a comment.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from zlib import crc32

from rdfcrawl.core.errors import ConfigError, Fault, Reason
from rdfcrawl.core.options.table import OptionsTable, integer, number
from rdfcrawl.core.options.values import dictionary
from rdfcrawl.core.records import refused
from rdfcrawl.uri import BadUri, host_of
from rdfcrawl.uri.hosts import NO_HOSTS, HostNames

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit


MAX_FILE_BYTES: Final = 16 * 1024 * 1024


class BlockedHosts:
    """The hosts blocked in a worker, for all its requests.

    Each function of `changed` is called after a change.
    """

    def __init__(self) -> None:
        self.hosts = NO_HOSTS
        self.has_any = False
        self.changed: list[Callable[[], None]] = []

    def covers(self, url: str) -> bool:
        """Return whether the host of a URL is blocked."""
        return self.has_any and self.hosts.covers(url)

    def fault(self, url: str) -> Fault | None:
        """Return the fault of a URL whose host is blocked."""
        return Fault(Reason.HOST_LEFT, host_of(url)) if self.covers(url) else None

    def replace(self, entries: Iterable[str]) -> bool:
        """Set the blocked hosts; return whether any has changed."""
        hosts = parse_hosts(entries)
        if hosts == self.hosts:
            return False
        self.hosts, self.has_any = hosts, bool(hosts)
        for call in self.changed:
            call()
        return True

    def strike_out(self, visit: Visit) -> None:
        """Refuse the records of a visit whose hosts are blocked.

        A visit without further records sends no request, and starts no delay.
        """
        pending = []
        for index in visit.pending:
            record = visit.records[index]
            fault = self.fault(record.url)
            if fault is None:
                pending.append(index)
            else:
                visit.documents.append(refused(record, [fault]))
        visit.is_unrequested = not pending
        visit.pending[:] = pending


def parse_hosts(entries: Iterable[str]) -> HostNames:
    """Return the hosts named by entries.

    Raises:
        BadUri: one is not a host.

    >>> parse_hosts([".B.example"]).covers("http://b.example/x")
    True
    """
    names: list[str] = []
    for entry in entries:
        if entry.startswith("."):
            names += (entry[1:], f"*{entry}")
        else:
            names.append(entry)
    return HostNames.parse(names)


def read_file(path: Path) -> tuple[str, ...]:
    """Return the entries of a file of hosts; raise `ConfigError` for any other line."""
    try:
        with path.open("rb") as file:
            octets = file.read(MAX_FILE_BYTES + 1)
        if len(octets) > MAX_FILE_BYTES:
            raise ConfigError(f"LEAVE_HOSTS={path}: more than {MAX_FILE_BYTES} bytes")
        text = octets.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"LEAVE_HOSTS={path}: cannot be read: {error}") from None
    entries: dict[str, None] = {}
    for at, line in enumerate(text.splitlines(), start=1):
        entry = line.partition("#")[0].strip()
        if not entry:
            continue
        try:
            parse_hosts([entry])
        except BadUri:
            raise ConfigError(
                f"LEAVE_HOSTS={path}: line {at}: {entry[:100]!r} is not a host;"
                " it must be www.example.org, or .example.org for a domain"
            ) from None
        entries[entry] = None
    return tuple(entries)


_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY: Final = "|".join(_DAYS)
_TIME: Final = "[0-2][0-9]:[0-5][0-9](?::[0-5][0-9])?"
_SPAN: Final = re.compile(
    rf"(?:(?P<first>{_DAY})(?:-(?P<last>{_DAY}))? +)?"
    r"(?P<from>{0})-(?P<to>{0})".format(_TIME),
    re.IGNORECASE,
).fullmatch
_WHOLE_DAY: Final = 24 * 3600
_is_pattern: Final = re.compile(r"\*|\.?[^\s/:*.][^\s/*]*").fullmatch
_LOOK_DAYS: Final = 9  # each span begins at least once a week


class OpenSpan(NamedTuple):
    """A span of time on some days of the week, which may pass midnight.

    Attributes:
        days: on which it begins, from Monday (0).
        begin: in seconds of the day.
        end: likewise; at most `begin` if it is on the next day.
    """

    days: frozenset[int]
    begin: int
    end: int


class HostHours:
    """The hours of the hosts of one pattern.

    >>> hours = HostHours.parse("mon-fri 22:00-06:00")
    >>> friday_noon = datetime(2026, 1, 2, 12, tzinfo=UTC).timestamp()
    >>> hours.closed_secs(friday_noon) / 3600
    10.0
    >>> hours.open_secs(friday_noon + 11 * 3600) / 3600  # until Saturday, 6:00
    7.0
    """

    def __init__(self, spans: tuple[OpenSpan, ...], zone: tzinfo) -> None:
        self._spans = spans
        self._zone = zone
        self._known = 0.0, 0.0, False  # begin, end, and whether it is open

    @classmethod
    def parse(cls, text: str) -> HostHours:
        """Parse comma-separated spans, and an optional time zone.

        Raises:
            ValueError: the text is invalid.
        """
        pieces = [piece.strip() for piece in text.split(",")]
        head, _, zone = pieces[-1].rpartition(" ")
        if _SPAN(head.strip()):
            pieces[-1] = head.strip()
        else:
            zone = "UTC"
        return cls(tuple(map(_span_of, pieces)), _zone_of(zone))

    def closed_secs(self, at: float) -> float:
        """Return the seconds until the hosts may be visited; 0 if now."""
        _, until, is_open = self._state(at)
        return 0.0 if is_open else until - at

    def open_secs(self, at: float) -> float:
        """Return for how long the hosts may still be visited."""
        _, until, is_open = self._state(at)
        return until - at if is_open else 0.0

    def _state(self, at: float) -> tuple[float, float, bool]:
        """Return the span around a Unix time, and whether it is open."""
        since, until, _ = self._known
        if not since <= at < until:
            self._known = self._find(at)
        return self._known

    def _find(self, at: float) -> tuple[float, float, bool]:
        ends, nexts = at, []
        for begin, end in sorted(self._times(at)):
            if begin <= ends and end > ends:
                ends = end  # spans may overlap or be adjacent
            elif begin > at:
                nexts.append(begin)
        if ends > at:
            return at, ends, True
        return at, min(nexts), False

    def _times(self, at: float) -> Iterator[tuple[float, float]]:
        today = datetime.fromtimestamp(at, self._zone).replace(
            hour=0, minute=0, second=0, microsecond=0, fold=0
        )
        for n in range(-1, _LOOK_DAYS):
            day = today + timedelta(days=n)  # in local time
            for span in self._spans:
                if day.weekday() in span.days:
                    secs = span.end + _WHOLE_DAY * (span.end <= span.begin)
                    yield (
                        (day + timedelta(seconds=span.begin)).timestamp(),
                        (day + timedelta(seconds=secs)).timestamp(),
                    )


class WorkingHours:
    """The hours of all hosts with restrictions.

    Args:
        hours: by pattern: a host, `.domain` for a domain and all hosts below it, or `*`
            for all others. The most specific pattern is valid.
    """

    def __init__(self, hours: Mapping[str, HostHours]) -> None:
        self._hours = hours

    def closed_secs(self, host: str) -> float:
        """Return the seconds until a host may be visited; 0 if now."""
        hours = self._of(host)
        return 0.0 if hours is None else hours.closed_secs(time.time())

    def judge(self, visit: Visit) -> bool:
        """Put back the records of a visit outside of the hours; return whether any was.

        They go behind the others of the host; if there are none, the host waits.
        """
        now = time.time()
        left, waits, ends = [], [], []
        for index in visit.pending:
            hours = self._of(host_of(visit.records[index].url))
            if hours is None or not (secs := hours.closed_secs(now)):
                left.append(index)
                if hours is not None:
                    ends.append(hours.open_secs(now))
                continue
            waits.append(secs)
            visit.returned[index] = visit.records[index]
            visit.unrequested.add(index)
            visit.behind.add(index)
        if ends:
            visit.open_until = time.monotonic() + min(ends)
        if not waits:
            return False
        visit.pending[:] = left
        if not left:
            visit.behind.clear()  # they keep their order
            visit.not_before_secs = max(visit.not_before_secs, min(waits))
        return True

    def _of(self, host: str) -> HostHours | None:
        hours = self._hours
        found = hours.get(host) or hours.get(f".{host}")
        rest = host
        while found is None and "." in rest:
            rest = rest.partition(".")[2]
            found = hours.get(f".{rest}")
        return found or hours.get("*")


def working_hours(name: str, value: Any) -> WorkingHours | None:
    """Return the working hours in a setting; None if it is empty.

    Raises:
        ConfigError: the value is invalid.
    """
    hours = {}
    for pattern, text in dictionary(name, value).items():
        if text is None:
            continue
        if not _is_pattern(str(pattern)):
            raise ConfigError(f"{name}: {pattern!r}: must be a host, .domain or *")
        try:
            hours[str(pattern).lower()] = HostHours.parse(str(text))
        except ValueError as error:
            raise ConfigError(f"{name}: {pattern!r}: {error}") from None
    return WorkingHours(hours) if hours else None


def _span_of(text: str) -> OpenSpan:
    found = _SPAN(text)
    if found is None:
        raise ValueError(f"{text!r}: must be like 'mon-fri 22:00-06:00'")
    begin, end = _secs(found["from"]), _secs(found["to"])
    if max(begin, end) > _WHOLE_DAY or begin == _WHOLE_DAY:
        raise ValueError(f"{text!r}: a day has 24 hours")
    if not found["first"]:
        return OpenSpan(frozenset(range(7)), begin, end)
    first = _DAYS.index(found["first"].lower())
    last = _DAYS.index((found["last"] or found["first"]).lower())
    n_days = (last - first) % 7 + 1
    return OpenSpan(frozenset((first + n) % 7 for n in range(n_days)), begin, end)


def _secs(text: str) -> int:
    hours, minutes, *rest = map(int, text.split(":"))
    return 3600 * hours + 60 * minutes + sum(rest)


def _zone_of(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # noqa: PLC0415 (few need it)

    try:
        return ZoneInfo(name)
    except (LookupError, OSError, ValueError):
        raise ValueError(f"{name!r}: no time zone that this machine knows") from None


class KeptRules(NamedTuple):
    """The known state of the robots.txt of an origin.

    Attributes:
        is_due: the caller must request the file now, and report the result.
        secs: validity of this state.
        status: of the last response; 0 if there was none.
        rules: packed; None if unknown.
    """

    is_due: bool
    secs: float = 0.0
    status: int = 0
    rules: bytes | None = None


_UNKNOWN: Final = KeptRules(is_due=True)
_MOST_PARTITIONS: Final = 4  # that keep rules


def n_rules_partitions(n_partitions: int) -> int:
    """Return how many partitions keep rules, the first ones of a crawl."""
    return min(_MOST_PARTITIONS, n_partitions)


def rules_partition(name: str, n_partitions: int) -> int:
    """Return the partition that keeps the rules of an origin, or of its TDM file."""
    return crc32(name.encode()) % n_rules_partitions(n_partitions)


class RulesKeeper(Protocol):
    """Stores rules for all workers, one of which may request a file."""

    async def look(self, origin: str, *, is_hasty: bool = False) -> KeptRules:
        """Return the known state, after the requests of other workers for it.

        Args:
            origin: as returned by `origin_of`.
            is_hasty: retry a failed request now.
        """

    async def keep_rules(self, origin: str, rules: bytes, secs: float) -> None:
        """Store rules that were read, and their validity."""

    async def note_failure(self, origin: str, status: int) -> KeptRules:
        """Record a failed request; return the state that is valid meanwhile."""

    async def end(self, origin: str) -> None:
        """Record that the file was not requested after all."""


class OwnRules:
    """Storage of a single process: no rules, only failed origins.

    Args:
        first_secs: pause after the first failure of an origin; it doubles.
        longest_secs: longest pause.
    """

    MOST = 10_000  # origins

    def __init__(self, first_secs: float, longest_secs: float = 3600.0) -> None:
        self._pauses = first_secs, longest_secs
        self._failed: dict[str, tuple[KeptRules, float, int]] = {}

    async def look(self, origin: str, *, is_hasty: bool = False) -> KeptRules:
        """See `RulesKeeper.look`."""
        found, until, _ = self._failed.get(origin, (_UNKNOWN, 0.0, 0))
        secs = until - monotonic()
        if is_hasty or secs <= 0:
            return _UNKNOWN
        return found._replace(secs=secs)

    async def keep_rules(self, origin: str, rules: bytes, secs: float) -> None:
        """See `RulesKeeper.keep_rules`."""
        del rules, secs
        self._failed.pop(origin, None)

    async def note_failure(self, origin: str, status: int) -> KeptRules:
        """See `RulesKeeper.note_failure`."""
        _, _, n = self._failed.pop(origin, (_UNKNOWN, 0.0, 0))
        first, longest = self._pauses
        found = KeptRules(False, min(longest, first * 2.0 ** min(n, 40)), status)
        self._failed[origin] = found, monotonic() + found.secs, n + 1
        if len(self._failed) > self.MOST:
            del self._failed[next(iter(self._failed))]
        return found

    async def end(self, origin: str) -> None:
        """See `RulesKeeper.end`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepingOptions(OptionsTable):
    """How rules are kept; times in seconds."""

    most: int = integer("ROBOTSTXT_CACHE_MAX", 1_000_000, 1)
    """origins whose `robots.txt` is known to all workers of the crawl, in Redis, and
    files of reservations, which count as well; each takes some 150 bytes, and 250
    with a few rules"""
    most_bytes: int = integer("ROBOTSTXT_CACHE_BYTES", 256 * 1024 * 1024, 1024)
    """size of all these rules, compressed"""
    asking_secs: float = 600.0  # longest wait for the request of another worker
    stale_secs: float = 30 * 24 * 3600.0  # use of old rules while there are no others
    first_secs: float = 60.0  # after a failure; doubles
    longest_secs: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WantOptions(OptionsTable):
    """How many requests a form of URLs gets that yields nothing wanted."""

    tries: int = integer("WANT_TRIES", 12, 1, 1_000_000)
    """with [`want`](../how-to/wanted-pages.md): pages of one form of URL that are
    fetched before the form is unlikely, if none of them has or leads to wanted
    statements"""
    exploration: float = number("WANT_EXPLORATION", 0.01, 0, 1)
    """share of the URLs of unlikely forms that are fetched all the same, after the
    others; chosen by hash. If one of them has wanted statements, all URLs of its form
    are fetched. 1: every URL is fetched, in the order of its form"""
