"""Update the index of a crawl from its logs, in small transactions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from rdfcrawl.analysis.crawl_index.database import IndexDatabase, identity_of
from rdfcrawl.analysis.crawl_index.members import LogMember, iter_new_members

_COMMIT_BYTES: Final = 4 * 1024 * 1024  # of content in one transaction
_NOTED_MS: Final = 5_000  # between two updates of the time without new members


class IndexTally(Protocol):
    """Some tables of an index, and their updates.

    Attributes:
        schema: statements that create the tables, if they do not exist.
    """

    schema: str

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add the content of a member, or of a piece of a large one.

        Each piece comes once within committed transactions.
        """


class IndexBuilder:
    """The writer of the index of a crawl.

    Each transaction moves the checkpoint together with the added rows. So a killed
    builder leaves the index in the state after some member, and continues from there.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        tallies: to update.
    """

    def __init__(self, root: Path, tallies: Sequence[IndexTally]) -> None:
        self._root = root
        self._tallies = tuple(tallies)
        self._identity = identity_of(root)
        self._database = self._open()
        self._noted_ms = 0

    def _open(self) -> IndexDatabase:
        schemas = [each.schema for each in self._tallies]
        return IndexDatabase.open(self._root, schemas=schemas, is_read=False)

    def catch_up(self, is_stopped: Callable[[], bool] = lambda: False) -> int:
        """Read new members; return their number.

        Args:
            is_stopped: called after each member; if true, the rest is left for later.

        Raises:
            OSError: a log cannot be read.
            sqlite3.Error: the index cannot be written.
        """
        if (identity := identity_of(self._root)) != self._identity:
            self._database.close()
            self._identity, self._database = identity, self._open()
        connection, n_members, n_bytes = self._database.connection, 0, 0
        now_ms = round(time.time() * 1000)
        for member in iter_new_members(self._root, self._database.offsets()):
            for tally in self._tallies:
                tally.take(connection, member)
            if not member.is_last:  # commit only with the last piece
                if is_stopped():
                    connection.rollback()
                    break
                continue
            connection.execute(
                "INSERT OR REPLACE INTO checkpoint VALUES (?, ?)",
                (member.name, member.end),
            )
            n_members, n_bytes = n_members + 1, n_bytes + len(member.content)
            if n_bytes > _COMMIT_BYTES:
                connection.commit()
                n_bytes = 0
            if is_stopped():
                break
        else:
            self._note_time(now_ms, n_members)
        connection.commit()
        return n_members

    def _note_time(self, now_ms: int, n_members: int) -> None:
        """Store the time at which all members had been read; rarely if none is new."""
        if n_members or now_ms - self._noted_ms > _NOTED_MS:
            self._noted_ms = now_ms
            self._database.connection.execute(
                "INSERT OR REPLACE INTO head VALUES ('caught_up_ms', ?)", (now_ms,)
            )

    def close(self) -> None:
        """Close the index."""
        self._database.close()
