"""Places in the logs that mention a URI, by the fingerprint of its normal form.

Records are first staged, one row for each member. Once there are enough, a batch is
sorted into rows by the leading bits of the fingerprints, after all earlier rows. So no
row is ever rewritten, and a lookup reads one row of each batch. A million documents
with ten links each make about 70 batches.
"""

from __future__ import annotations

import re
import sqlite3
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, Self

from rdfcrawl.analysis.crawl_index.database import IndexDatabase, identity_of
from rdfcrawl.analysis.crawl_index.members import LogMember
from rdfcrawl.stores.provenance.records import written_url
from rdfcrawl.uri import BadUri, NormalForm, fingerprint
from rdfcrawl.uri.parse import seed_url

RECORD: Final = struct.Struct(">qIBH")  # fingerprint, member, role, how often
KEY: Final = struct.Struct(">q")
BUCKETS: Final = 4096
MOST_PLACES: Final = 50  # per URI, role and batch: the first and the last
FORM: Final = "uri_form"  # in the head of the index
NO_MEMBER: Final = 0xFFFFFFFF  # represents all omitted members
_MOST_TIMES: Final = 0xFFFF
_STAGED_RECORDS: Final = 200_000
_STAGE: Final = """
INSERT INTO uri_staged VALUES (?, ?)
ON CONFLICT (number) DO UPDATE SET records = CAST(records || excluded.records AS BLOB)
"""
_LINE: Final = b"\n#\t"
_find_target = re.compile(rb"> <([^>\n]*)>\n").findall
_find_decided = re.compile(rb"<([^<>\n]*+)> <urn:rdfcrawl:decision:").findall
_marked = re.compile(rb"(?:document|dropped) <([^>\n]*)> ").match


def form_text(normal_form: NormalForm) -> str:
    """Return a text that identifies a normal form."""
    return " ".join(normal_form.session_parameters)


class PlaceRole(IntEnum):
    """The role in which a member mentions a URI."""

    FETCH = 0  # it was crawled, or was the target of a redirect
    SAME_CONTENT = 1  # another URI has its content
    STATEMENTS = 2  # it is a document
    LINKS_FROM = 3
    LINKS_TO = 4
    DECISION = 5


class UriPlaceTally:
    """Places of all URIs, in at most 15 bytes for each mention in a member.

    A document with ten links takes 230 bytes. A URI that a member mentions several
    times has one record for each role, with the number of mentions.

    Args:
        normal_form: of the crawl.
    """

    schema = """
    CREATE TABLE IF NOT EXISTS uri_segments (number INTEGER PRIMARY KEY, name TEXT
        UNIQUE);
    CREATE TABLE IF NOT EXISTS uri_members (number INTEGER PRIMARY KEY,
        segment INTEGER, offset INTEGER, n_bytes INTEGER);
    CREATE TABLE IF NOT EXISTS uri_staged (number INTEGER PRIMARY KEY, records BLOB);
    CREATE TABLE IF NOT EXISTS uri_places (place INTEGER PRIMARY KEY, records BLOB);
    CREATE TABLE IF NOT EXISTS uri_state (one INTEGER PRIMARY KEY, n_staged INTEGER,
        n_batches INTEGER);
    INSERT OR IGNORE INTO uri_state VALUES (1, 0, 0);
    """

    def __init__(self, normal_form: NormalForm) -> None:
        self._normal_form = normal_form
        # With another normal form, all tables are rebuilt.
        form = form_text(normal_form).replace("'", "''")
        note = f"INSERT OR REPLACE INTO head VALUES ('{FORM}', '{form}');\n"  # noqa: S608
        self.schema = UriPlaceTally.schema + note

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Stage the URIs of a member; sort the staged records if there are enough."""
        counts: Counter[tuple[int, PlaceRole]] = Counter()
        for role, spellings in _READERS[member.kind](member):
            for spelling, times in Counter(spellings).items():
                if (mark := self._mark(spelling)) is not None:
                    counts[mark, role] += times
        if not counts:
            return
        number = _number_member(connection, member)
        records = b"".join(_records(number, counts))
        connection.execute(_STAGE, (number, records))
        n_records = len(records) // RECORD.size
        connection.execute("UPDATE uri_state SET n_staged = n_staged + ?", (n_records,))
        ((n_staged, n_batches),) = connection.execute(
            "SELECT n_staged, n_batches FROM uri_state"
        ).fetchall()
        if n_staged >= _STAGED_RECORDS:
            _sort_staged(connection, n_batches)

    def _mark(self, spelling: bytes) -> int | None:
        """Return the fingerprint of a URL; None if it cannot be crawled."""
        text = spelling.decode("utf-8", "replace")
        form = self._normal_form
        if form.is_simple(text):
            return fingerprint(text)
        try:
            return fingerprint(form.normalize(seed_url(text)))
        except BadUri:
            return None


def _number_member(connection: sqlite3.Connection, member: LogMember) -> int:
    connection.execute(
        "INSERT OR IGNORE INTO uri_segments (name) VALUES (?)", (member.name,)
    )
    # Pieces of a large member are adjacent.
    last = connection.execute(
        "SELECT uri_members.number FROM uri_members JOIN uri_segments"
        " ON uri_segments.number = segment WHERE uri_members.number ="
        " (SELECT MAX(number) FROM uri_members) AND name = ? AND offset = ?",
        (member.name, member.offset),
    ).fetchone()
    if last:
        return int(last[0])
    found = connection.execute(
        "INSERT INTO uri_members (segment, offset, n_bytes)"
        " SELECT number, ?, ? FROM uri_segments WHERE name = ?",
        (member.offset, member.n_bytes, member.name),
    )
    return int(found.lastrowid or 0)


def _records(number: int, counts: Counter[tuple[int, PlaceRole]]) -> Iterator[bytes]:
    for (mark, role), times in counts.items():
        left = times
        while left > _MOST_TIMES:
            yield RECORD.pack(mark, number, role, _MOST_TIMES)
            left -= _MOST_TIMES
        yield RECORD.pack(mark, number, role, left)


def bucket_of(mark: int) -> int:
    """Return the row of a batch that has a fingerprint."""
    return (mark >> 52) & (BUCKETS - 1)


def _sort_staged(connection: sqlite3.Connection, n_batches: int) -> None:
    """Turn the staged records into a batch."""
    buckets: defaultdict[int, list[bytes]] = defaultdict(list)
    size = RECORD.size
    for (records,) in connection.execute(
        "SELECT records FROM uri_staged ORDER BY number"
    ):
        for at in range(0, len(records), size):
            record = records[at : at + size]
            buckets[record[0] << 4 | record[1] >> 4].append(record)
    connection.executemany(
        "INSERT INTO uri_places VALUES (?, ?)",
        (
            (n_batches * BUCKETS + bucket, b"".join(_bounded(sorted(records))))
            for bucket, records in sorted(buckets.items())
        ),
    )
    connection.execute("DELETE FROM uri_staged")
    connection.execute("UPDATE uri_state SET n_staged = 0, n_batches = n_batches + 1")


def _bounded(records: list[bytes]) -> Iterable[bytes]:
    """Return sorted records with a limited number of places for each URI and role.

    For a URI with too many places, the first and last ones remain, and one record with
    the number of all other mentions.
    """
    if len(records) <= MOST_PLACES:
        return records
    groups: defaultdict[tuple[bytes, int], list[bytes]] = defaultdict(list)
    for record in records:
        groups[record[:8], record[12]].append(record)
    kept: list[bytes] = []
    half = MOST_PLACES // 2
    for group in groups.values():
        if len(group) <= MOST_PLACES:
            kept += group
            continue
        left_out = [RECORD.unpack(record) for record in group[half:-half]]
        mark, _, role, _ = left_out[0]
        times = sum(record[3] for record in left_out)
        kept += [*group[:half], *group[-half:]]
        kept += _records(NO_MEMBER, Counter({(mark, PlaceRole(role)): times}))
    return kept


_Found = tuple[PlaceRole, "Iterable[bytes]"]


def _read_provenance(member: LogMember) -> Iterator[_Found]:
    for block in member.blocks:
        urls = [each.uri for each in block.activities]
        for each in block.activities:
            if each.requested:
                urls += map(written_url, each.requested)
        urls += (written_url(each.url) for each in block.same)
        yield PlaceRole.FETCH, [url.encode() for url in urls]
        if block.same:
            first = [written_url(each.first_url).encode() for each in block.same]
            yield PlaceRole.SAME_CONTENT, first


def _read_quads(member: LogMember) -> Iterator[_Found]:
    yield PlaceRole.STATEMENTS, _marked_graphs(member.content)


def _marked_graphs(content: bytes) -> Iterator[bytes]:
    if content.startswith(_LINE[1:]) and (found := _marked(content, 2)):
        yield found[1]
    at = content.find(_LINE)
    while at >= 0:
        at += len(_LINE)
        if found := _marked(content, at):
            yield found[1]
        at = content.find(_LINE, at)


def _read_links(member: LogMember) -> Iterator[_Found]:
    yield PlaceRole.LINKS_FROM, _marked_graphs(member.content)
    yield PlaceRole.LINKS_TO, _find_target(member.content)


def _read_decisions(member: LogMember) -> Iterator[_Found]:
    yield PlaceRole.DECISION, _find_decided(member.content)


_READERS: Final = {
    "provenance": _read_provenance,
    "quads": _read_quads,
    "links": _read_links,
    "decisions": _read_decisions,
}


class MemberPlace(NamedTuple):
    """A member of a segment that mentions a URI in some role.

    Attributes:
        segment: name in checkpoints, `kind/segment`.
        offset: of the member.
        n_bytes: compressed size of the member.
        times: number of mentions.
    """

    segment: str
    offset: int
    n_bytes: int
    times: int


class FoundPlaces(NamedTuple):
    """Members that mention a URI, in the order of reading.

    Attributes:
        places: of the members; if there are very many, the first and last of each
            batch.
        n_left_out: number of mentions in other members.
    """

    places: tuple[MemberPlace, ...]
    n_left_out: int


class UriIndex:
    """The places of URIs in a snapshot of the index; close it soon.

    Args:
        database: open for reading.

    Attributes:
        offsets: end of the indexed part of each segment, by its name in checkpoints.
        caught_up_ms: last time when the index was complete, Unix time; 0: never.
    """

    def __init__(self, database: IndexDatabase) -> None:
        self._database = database
        database.connection.execute("BEGIN")
        self.offsets = database.offsets()
        self.caught_up_ms = int(database.head("caught_up_ms") or 0)
        self._n_batches = int(
            database.rows("SELECT n_batches FROM uri_state")[0][0]  # one row
        )

    @classmethod
    def open(cls, root: Path, normal_form: NormalForm) -> Self | None:
        """Return the index of a crawl; None if it does not match logs and normal form.

        Args:
            root: `CRAWL_DIR/<CRAWL_ID>`.
            normal_form: for lookups.
        """
        try:
            database = IndexDatabase.open(root, is_read=True)
        except sqlite3.Error:
            return None
        try:
            is_of_logs = database.head("identity") == identity_of(root)
            is_of_form = database.head(FORM) == form_text(normal_form)
            if is_of_logs and is_of_form:
                return cls(database)
        except sqlite3.Error:
            pass
        database.close()
        return None

    def find(self, mark: int, role: PlaceRole) -> FoundPlaces:
        """Return the places where the logs mention a URI in a role.

        Args:
            mark: fingerprint of its normal form.
            role: of the mention.

        Raises:
            sqlite3.Error: the index cannot be read.
        """
        places, n_left_out = [], 0
        for number, times in self._records(mark, role):
            if number == NO_MEMBER:
                n_left_out += times
            elif place := self._place(number, times):
                places.append(place)
        return FoundPlaces(tuple(places), n_left_out)

    def _records(self, mark: int, role: PlaceRole) -> Iterator[tuple[int, int]]:
        key, bucket = KEY.pack(mark), bucket_of(mark)
        for content in self._contents(bucket):
            at = content.find(key)
            while at >= 0:
                if at % RECORD.size:
                    at = content.find(key, at + 1)
                    continue
                _, number, found, times = RECORD.unpack_from(content, at)
                if found == role:
                    yield number, times
                at = content.find(key, at + RECORD.size)

    def _contents(self, bucket: int) -> Iterator[bytes]:
        rows = self._database.rows
        for batch in range(self._n_batches):
            for (records,) in rows(
                "SELECT records FROM uri_places WHERE place = ?",
                (batch * BUCKETS + bucket,),
            ):
                yield records
        yield self._staged

    @cached_property
    def _staged(self) -> bytes:
        """All records that are not sorted yet, a few megabytes."""
        return b"".join(
            records
            for (records,) in self._database.rows(
                "SELECT records FROM uri_staged ORDER BY number"
            )
        )

    def _place(self, number: int, times: int) -> MemberPlace | None:
        rows = self._database.rows(
            "SELECT name, offset, n_bytes FROM uri_members JOIN uri_segments"
            " ON uri_segments.number = segment WHERE uri_members.number = ?",
            (number,),
        )
        return MemberPlace._make((*rows[0], times)) if rows else None

    def close(self) -> None:
        """Close the connection."""
        self._database.close()
