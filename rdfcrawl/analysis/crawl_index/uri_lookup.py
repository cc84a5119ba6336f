"""Find the members of the logs that mention a URI."""

from __future__ import annotations

import sqlite3
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

from rdfcrawl.analysis.crawl_index.database import IndexDatabase, identity_of
from rdfcrawl.analysis.crawl_index.uri_places import (
    BUCKETS,
    FORM,
    KEY,
    NO_MEMBER,
    RECORD,
    PlaceRole,
    bucket_of,
    form_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdfcrawl.uri import NormalForm


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
