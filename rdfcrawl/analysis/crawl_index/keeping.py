"""Keep the index of a crawl up to date, in a thread or process of its own."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.crawl_index.building import IndexBuilder
from rdfcrawl.analysis.crawl_index.database import index_path, remove_index
from rdfcrawl.analysis.crawl_index.tallies import all_tallies
from rdfcrawl.analysis.urldb.lock import writing_alone
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.uri import NormalForm

if TYPE_CHECKING:
    import threading
    from pathlib import Path

logger = logging.getLogger(__name__)

_LOOK_SECS: Final = 1.0  # between two looks at the logs
_TAKEN_SECS: Final = 5.0  # between two tries while another process keeps the index


def keep_index(
    root: Path, stopped: threading.Event, normal_form: NormalForm | None = None
) -> None:
    """Read what is new in the logs, again and again, until stopped.

    One process at a time writes an index; others wait for its end. An index that is
    damaged, as by a power cut, is made anew from the logs.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`; it may come later.
        stopped: ends it.
        normal_form: of the crawl; by default that of the settings' defaults.
    """
    normal_form = normal_form or NormalForm()
    last = ""
    while not stopped.is_set():
        try:
            if root.is_dir():
                folder = index_path(root).parent
                folder.mkdir(exist_ok=True)
                with writing_alone(folder, "another page keeps the index"):
                    _keep(root, stopped, normal_form)
        # A full disk and the like are operational, and damage none of it.
        except (ConfigError, OSError, sqlite3.OperationalError) as error:
            if str(error) != last:
                logger.info("the logs are not indexed here: %s", error)
            last = str(error)
            stopped.wait(_TAKEN_SECS)
        except sqlite3.DatabaseError as error:
            logger.warning("%s: made anew: %s", index_path(root), error)
            remove_index(root)
        stopped.wait(_LOOK_SECS)


def _keep(root: Path, stopped: threading.Event, normal_form: NormalForm) -> None:
    builder = IndexBuilder(root, all_tallies(normal_form))
    try:
        while not stopped.is_set():
            builder.catch_up(stopped.is_set)
            stopped.wait(_LOOK_SECS)
    finally:
        builder.close()
