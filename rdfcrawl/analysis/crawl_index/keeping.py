"""Keep the index of a crawl up to date, in a separate thread or process."""

from __future__ import annotations

import logging
import sqlite3
import threading
from pathlib import Path
from typing import Final

from rdfcrawl.analysis.crawl_index.building import IndexBuilder
from rdfcrawl.analysis.crawl_index.database import index_path, remove_index
from rdfcrawl.analysis.crawl_index.tallies import all_tallies
from rdfcrawl.analysis.urldb.files import writing_alone
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.uri import NormalForm

logger = logging.getLogger(__name__)

_LOOK_SECS: Final = 1.0  # between two reads of the logs
_TAKEN_SECS: Final = 5.0  # between two attempts while another process writes the index


def keep_index(
    root: Path, stopped: threading.Event, normal_form: NormalForm | None = None
) -> None:
    """Read new members of the logs repeatedly, until stopped.

    Only one process at a time writes an index; others wait. A damaged index, such as
    after a power cut, is rebuilt from the logs.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`; it may be created later.
        stopped: set to stop.
        normal_form: of the crawl; by default that of the default settings.
    """
    normal_form = normal_form or NormalForm()
    last = ""
    while not stopped.is_set():
        try:
            if root.is_dir():
                folder = index_path(root).parent
                folder.mkdir(exist_ok=True)
                with writing_alone(folder, "another page updates the index"):
                    _keep(root, stopped, normal_form)
        # Operational errors, such as a full disk, do not damage the index.
        except (ConfigError, OSError, sqlite3.OperationalError) as error:
            if str(error) != last:
                logger.info("the logs are not indexed: %s", error)
            last = str(error)
            stopped.wait(_TAKEN_SECS)
        except sqlite3.DatabaseError as error:
            logger.warning("%s: rebuilding it: %s", index_path(root), error)
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
