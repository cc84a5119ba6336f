"""Query the index of a crawl from any thread, while another one writes it."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING, Any

from rdfcrawl.analysis.crawl_index.database import IndexDatabase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

logger = logging.getLogger(__name__)


class IndexReaders:
    """Connections to one index, each used by one thread at a time.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._idle: list[IndexDatabase] = []

    def rows(
        self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()
    ) -> list[Any]:
        """Return the rows of a query; none while there is no index."""
        try:
            database = self._take()
            found = database.rows(query, values)
        except sqlite3.Error as error:
            logger.debug("the index of %s cannot be queried: %s", self._root, error)
            return []
        self._idle.append(database)
        return found

    def _take(self) -> IndexDatabase:
        """Return a connection to the present file.

        Raises:
            sqlite3.Error: there is no file.
        """
        while self._idle:
            database = self._idle.pop()
            if database.is_current:
                return database
            database.close()
        return IndexDatabase.open(self._root, is_read=True)

    def close(self) -> None:
        """Close idle connections."""
        while self._idle:
            self._idle.pop().close()
