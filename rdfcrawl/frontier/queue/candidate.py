r"""URIs to be added to the frontier: their bytes, partitions and results.

A key is in the partition of its registered domain. A giant domain has some keys in its
partition. The others are away, spread over all other partitions by hash. The domain's
partition decides once which keys are away (`lua/add.lua`) and marks them; this module
only remembers them.

A payload is small, because there is one per queued URI:

    head    one byte: kind (bits 0-3), suspected of killing workers (4-5), retries (6-7)
    depth   one byte
    URL     compact against the key of its queue (`uri.compact`)
    \0 s p  if there is a parent: s = one byte, length of a prefix that the parent
            shares with the URL; p = the rest of the parent
    \0 c    for each URL that redirected here
    \0 \x02 c  if it is fetched again for a change
    \0 \x01 t  if there is a task: its text (`core.tasks.text`)
    \0 \x06 f  if it was requeued after a fault: `Record.refusal`
    \0 \x03 n  if its profile is not 0
    \0 \x04 n  if it has lost n eighths of a life
    \0 \x05 g  if it was granted in an epoch of its domain (`lua/schedule.lua`), which
            only the frontier reads

The Lua operations read and change the head and the last two of these. URLs are ASCII
without control characters (WHATWG), so \0 can part them; the byte s is read by
position.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from math import log
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

from rdfcrawl.core.errors import Fault, SourceFault
from rdfcrawl.core.formats import FORMATS, HTML, PACKING_EXTENSIONS
from rdfcrawl.core.records import CrawlBudget, Kind, Record
from rdfcrawl.uri import (
    BadUri,
    HostGrouping,
    PolitenessKey,
    compact,
    expand,
    partition_of,
    requestable,
)
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.tasks import Task
    from rdfcrawl.frontier.redis.server_state import ServerState


# Fields of a key's first URIs, each of which begins in the first half (`prelude.lua`).
STORED: Final = ("i", "j", "l", "r", "s", "t")
SEEN_ONLY: Final = b"k"  # item that only marks a candidate as seen
FORGOTTEN: Final = b"f"  # item that removes the mark of a candidate
_MAX_KNOWN: Final = 100_000

_MAX_SHARED = 255
_TASK, _CHANGE, _PROFILE, _BLAME = "\x01", "\x02", "\x03", "\x04"  # not in URLs
_GRANT, _REFUSAL = "\x05", "\x06"
_KINDS = {int(kind): kind for kind in Kind}
# Buckets of registered domains per partition, which stay compact up to about a hundred
# domains each.
_DOMAIN_BUCKETS: Final = 128
_EXTENSIONS: Final = {
    *(name for each in FORMATS if each is not HTML for name in each.extensions),
    *PACKING_EXTENSIONS,
}
_is_dump = re.compile(rf"\.(?:{'|'.join(sorted(_EXTENSIONS))})\Z", re.IGNORECASE).search


class Candidate(NamedTuple):
    """A URI to be added to the frontier."""

    partition: int  # of the registered domain of the key
    key: str  # politeness key
    fingerprint: int  # of the URI's normal form
    item: bytes  # band digit and payload, `SEEN_ONLY` or `FORGOTTEN`
    # of its host and domain; None is that of the worker
    budget: CrawlBudget | None = None


@dataclass(frozen=True, slots=True)
class AddedCounts:
    """Counts of candidates: new, seen before, over budget of host or domain."""

    new: int = 0
    seen: int = 0
    over_host: int = 0
    over_domain: int = 0

    def __add__(self, other: AddedCounts) -> AddedCounts:
        """Return the sums."""
        return AddedCounts(
            self.new + other.new,
            self.seen + other.seen,
            self.over_host + other.over_host,
            self.over_domain + other.over_domain,
        )


@dataclass(slots=True)
class RejectedLinks:
    """Numbers of links that were not queued, by cause."""

    recent: int = 0
    bad: int = 0
    filtered: int = 0
    ignored_extension: int = 0  # pictures and other files without statements, by name
    too_deep: int = 0
    covered: int = 0
    nofollow: int = 0
    trap: int = 0
    large_form: int = 0  # queued late
    of_copy: int = 0  # in documents with the content of many others
    of_copy_later: int = 0  # the same, queued late
    no_rdf: int = 0  # distributions declared as other formats


class JudgedLinks(NamedTuple):
    """The candidates among the links of a document."""

    candidates: list[Candidate]  # in the order of the links
    # one for all links that are invalid or have an unstorable task, and one for those
    # into traps
    faults: list[Fault]


class OriginPlace(NamedTuple):
    """Partition and key of the URLs of an origin."""

    key: str  # politeness key
    partition: int  # of its registered domain
    short: str  # the origin as in compact URLs (`uri.compact`)
    n_chars: int  # length of the origin


class OriginPlaces:
    """The places of origins; those of http(s) are remembered."""

    def __init__(self, keys: PolitenessKey, partitions: int) -> None:
        self._key_of = keys.of
        self._partitions = partitions
        # addresses change, and are looked up each time
        self._keeps = keys.grouping is not HostGrouping.IP
        self.known: dict[str, OriginPlace] = {}  # by origin

    def of(self, url: str) -> OriginPlace:
        """Return the place of a requestable URL."""
        origin = origin_of(url)
        place = self.known.get(origin)
        if place is None:
            key = self._key_of(url)
            short = compact(f"{origin}/", key)[:-1]
            partition = partition_of(key, self._partitions)
            place = OriginPlace(key, partition, short, len(origin))
            if self._keeps and origin.startswith(("http://", "https://")):
                if len(self.known) >= _MAX_KNOWN:
                    self.known.clear()
                self.known[origin] = place
        return place


def payload_url(url: str) -> str:
    """Return the URL of a document in the form for payloads.

    Servers of sources may name documents by any IRI.
    """
    if url.isascii() and url.isprintable():
        return url
    try:
        return requestable(url)
    except BadUri:
        return ""


def pack(record: Record, key: str, task: str | None = None) -> bytes:
    """Return the payload of a record; `task` is its `task_text()`, if known."""
    head = int(record.kind)
    if record.lost or record.retries:
        head |= min(record.lost, 3) << 4 | min(record.retries, 3) << 6
    url, parent = record.url, record.parent
    payload = pack_link(url, head, record.depth, parent, short=compact(url, key))
    more = "".join(f"\0{hop}" for hop in record.chain)
    if record.change:
        more = f"{more}\0{_CHANGE}{record.change}"
    if record.task is not None:
        more = f"{more}\0{_TASK}{record.task_text() if task is None else task}"
    if record.refusal:
        more = f"{more}\0{_REFUSAL}{record.refusal}"
    if record.profile:
        more = f"{more}\0{_PROFILE}{record.profile}"
    if record.blame:
        more = f"{more}\0{_BLAME}{record.blame}"
    if more and not parent:
        more = f"\0\0{more}"
    return payload + more.encode("latin-1") if more else payload


def pack_link(
    url: str, head: int, depth: int, parent: str, *, short: str, profile: int = 0
) -> bytes:
    """Return `pack` of a link's record, without making the record.

    `head` is its kind, and `short` is `uri.compact` of its URL.
    """
    text = f"{chr(head)}{chr(min(depth, 255))}{short}"
    if parent or profile:
        shared = min(url.rfind("/") + 1, _MAX_SHARED)
        if url[:shared] != parent[:shared] or parent.startswith(url):
            shared = _n_shared(url, parent)
        text = f"{text}\0{chr(shared)}{parent[shared:]}"
    if profile:
        text = f"{text}\0{_PROFILE}{profile}"
    return text.encode("latin-1")  # one byte per character: URLs are ASCII


def _n_shared(url: str, parent: str) -> int:
    """Return the length of the common prefix of two URLs, at least their origin."""
    most = min(len(url), len(parent), _MAX_SHARED)
    least = min(url.find("/", url.find("://") + 3) + 1, most)
    if url[:least] != parent[:least]:
        return 0
    while least < most:
        middle = (least + most + 1) // 2
        if url[:middle] == parent[:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def unpack(payload: bytes, key: str) -> Record:
    """Return the record of a payload from the queue of a politeness key.

    Raises:
        ValueError, LookupError, SourceFault: the payload is not a record.
    """
    text = payload.decode("latin-1")
    head, depth = payload[0], payload[1]
    kind, lost, retries = _KINDS[head & 15], head >> 4 & 3, head >> 6
    end = text.find("\0", 2)
    if end < 0:
        url = _url(text[2:], key)
        return Record(url, kind, depth, "", (), lost, retries)
    url = _url(text[2:end], key)
    tail, *chain = text[end + 2 :].split("\0")
    parent = url[: payload[end + 1]] + tail
    if chain and chain[-1][:1] == _GRANT:
        chain.pop()
    blame = int(chain.pop()[1:]) if chain and chain[-1][:1] == _BLAME else 0
    profile = int(chain.pop()[1:]) if chain and chain[-1][:1] == _PROFILE else 0
    refusal = chain.pop()[1:] if chain and chain[-1].startswith(_REFUSAL) else ""
    task = _task(chain.pop()[1:]) if chain and chain[-1].startswith(_TASK) else None
    change = chain.pop()[1:] if chain and chain[-1].startswith(_CHANGE) else ""
    hops = tuple(map(_checked, chain))
    return Record(
        *(url, kind, depth, parent, hops, lost, retries, task, change, profile, blame),
        refusal,
    )


def unpack_or_none(item: bytes, key: str) -> Record | None:
    """Return the record of a payload, or None if it is unreadable."""
    try:
        return unpack(item, key)
    except (ValueError, LookupError, SourceFault):
        return None


def stored_items(values: Sequence[Any]) -> list[tuple[int, bytes]]:
    r"""Return band and payload of the URIs stored with a key, in order of arrival.

    Each after the first has the lengths of the prefix and suffix that it shares with
    the one before, and the rest of its payload (`prelude.lua`).

    Args:
        values: of the fields `STORED`, as bytes; None or empty without a URI.

    >>> stored_items([b"2first one", None, b"4\6\4th", None, None, b"ird"])
    [(2, b'first one'), (4, b'first third one')]
    """
    half = len(STORED) // 2
    found: list[tuple[int, bytes]] = []
    for text, rest in zip(values[:half], values[half:], strict=True):
        if not text:
            continue
        band, item = int(text[:1]), text[1:] + (rest or b"")
        if found:
            before = found[-1][1]
            prefix, suffix = (*item[:2], 0, 0)[:2]
            shared = before[max(0, len(before) - suffix) :]
            item = before[:prefix] + item[2:] + shared
        found.append((band, item))
    return found


def parent_of(payload: bytes, key: str) -> str:
    """Return the parent of a record without unpacking the rest; see `unpack`."""
    text = payload.decode("latin-1")
    end = text.find("\0", 2)
    if end < 0:
        return ""
    url = _url(text[2:end], key)
    return url[: payload[end + 1]] + text[end + 2 :].partition("\0")[0]


def _task(text: str) -> Task:
    from rdfcrawl.core.tasks import decode_task  # noqa: PLC0415

    return decode_task(text)


def _url(text: str, key: str) -> str:
    return _checked(expand(text, key))


def _checked(url: str) -> str:
    if "://" in url and url.isascii() and url.isprintable():
        return url
    raise ValueError("no URL")


def away_partition(key: str, n_partitions: int) -> int:
    """Return the partition of a key that is away: never that of its domain."""
    home = partition_of(key, n_partitions)
    if n_partitions == 1:
        return home
    digest = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")
    return (home + 1 + digest % (n_partitions - 1)) % n_partitions


def bucket_of(group: str) -> int:
    """Return where a partition counts the hosts of a registered domain or address."""
    return crc32(group.encode()) % _DOMAIN_BUCKETS


class KeyLocations:
    """The keys that are away, as far as this worker knows."""

    def __init__(self, state: ServerState) -> None:
        self.n_partitions = 1  # of the crawl
        self.away: dict[str, int] = {}  # key -> partition
        self._state = state
        self._n_restores = state.n_restores

    def of(self, key: str) -> int:
        """Return the partition of a key: that of its domain, unless it is away."""
        found = self.away.get(key) if self.away else None
        return partition_of(key, self.n_partitions) if found is None else found

    def note_away(self, key: str) -> int:
        """Record that a key is away, and return its partition."""
        found = self.away.get(key)
        if found is None:
            if len(self.away) >= _MAX_KNOWN:
                self.away.clear()
            found = self.away[key] = away_partition(key, self.n_partitions)
        return found

    def refresh(self) -> None:
        """Forget all keys that are away, after a possible loss of data."""
        if self._n_restores != self._state.n_restores:
            self._n_restores = self._state.n_restores
            self.away.clear()

    def partitions(self, candidates: Iterable[Candidate]) -> set[int]:
        """Return the partitions in which candidates were queued."""
        away = self.away
        if not away:
            return {candidate.partition for candidate in candidates}
        return {away.get(each.key, each.partition) for each in candidates}


def machine_of(worker: str) -> str:
    """Return the machine in the name of a worker (`CrawlOptions`)."""
    return worker.rsplit("-", 2)[0]


class PollPlan(NamedTuple):
    """The partitions of a crawl from the view of one worker.

    Each machine is home to partitions in proportion to its number of workers, and each
    partition to one of these, by rendezvous hashing. So a restarted worker, under
    another name, leaves all partitions and the stored documents of their hosts on their
    machines. Workers that see the same list agree. A wrong list only costs empty polls,
    as claims are atomic. The worker counts as live even if the list lacks it.
    """

    home: tuple[int, ...]  # its own
    near: tuple[int, ...]  # of other workers on this machine
    away: tuple[int, ...]  # of other machines


@lru_cache(maxsize=16)  # called at each claim; the list of workers rarely changes
def poll_plan(worker: str, workers: tuple[str, ...], n_partitions: int) -> PollPlan:
    """Return the partitions of a worker, of its machine, and of other machines."""
    machines: defaultdict[str, set[str]] = defaultdict(set)
    for name in (*workers, worker):
        machines[machine_of(name)].add(name)
    mine = machine_of(worker)
    sizes = {name: len(names) for name, names in machines.items()}
    of_machine = _at_home(mine, sizes, range(n_partitions))
    home = _at_home(worker, dict.fromkeys(machines[mine], 1), of_machine)
    near = tuple(p for p in of_machine if p not in home)
    away = tuple(sorted({*range(n_partitions)} - {*of_machine}))
    return PollPlan(home, near, away)


def _at_home(
    name: str, sizes: Mapping[str, int], partitions: Sequence[int]
) -> tuple[int, ...]:
    """Return the partitions of one member, in proportion to the sizes of all.

    No member has more than its share, rounded up: with few partitions, hashing alone
    may give one three times as many as another.
    """
    total = sum(sizes.values())
    room = {each: -(-len(partitions) * size // total) for each, size in sizes.items()}
    found = []
    for p in partitions:
        best = max(room, key=lambda each: (_share(each, p, sizes[each]), each))
        room[best] -= 1
        if not room[best]:
            del room[best]
        if best == name:
            found.append(p)
    return tuple(found)


def _share(name: str, partition: int, size: int) -> float:
    """Return a score that is the highest in proportion to the size of a member.

    This is weighted rendezvous hashing, by the logarithm method.
    """
    digest = int.from_bytes(_weight(name, partition), "big")
    return -size / log((digest + 0.5) / 2**64)


def _weight(worker: str, partition: int) -> bytes:
    return blake2b(f"{worker}\0{partition}".encode(), digest_size=8).digest()


def kind_of(url: str) -> Kind:
    """Return the kind of a URL by the extension of its file name.

    Files with the extension of an RDF format or a packing may be larger and slower than
    pages.

    >>> kind_of("https://example.org/all.nt.gz?v=2")
    <Kind.DUMP: 1>
    >>> kind_of("https://example.org/about")
    <Kind.PAGE: 0>
    """
    path = url.partition("?")[0]
    name = path[path.rfind("/") + 1 :]
    return Kind.DUMP if "." in name and _is_dump(name) else Kind.PAGE


def kind_of_named(kind: Kind, url: str) -> Kind:
    """Return the kind for requesting a URL: the given one, unless a page."""
    return kind_of(url) if kind is Kind.PAGE else kind
