"""A table of SQLite in a temporary file, for the duration of one command."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def scratch_table(scratch: Path | None, schema: str) -> Iterator[sqlite3.Connection]:
    """Yield a connection to an empty table, which is deleted at the end.

    Args:
        scratch: folder of the temporary file; by default that of the system.
        schema: the SQL that creates the table.

    Raises:
        OSError: the scratch folder is full.
    """
    with TemporaryDirectory(dir=scratch, prefix="table-") as name:
        path = Path(name) / "table.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None)) as table:
            try:
                table.execute("PRAGMA journal_mode = OFF")  # not used after a crash
                table.execute("PRAGMA synchronous = OFF")
                table.execute(schema)
                table.execute("BEGIN")  # else each row is written to the file alone
                yield table
            except sqlite3.OperationalError as error:
                raise OSError(f"the scratch folder: {error}") from error
