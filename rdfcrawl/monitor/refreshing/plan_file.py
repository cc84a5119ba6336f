"""The plan of an epoch on disk: a line for each page to fetch again.

A plan is complete or absent. If queueing is interrupted, the next refresh queues all
pages again, and the frontier drops those that it has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.urldb.lock import writing_alone
from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import ConfigError, SourceFault
from rdfcrawl.monitor.refreshing.planning import PlannedFetch
from rdfcrawl.stores.drafts import sync, synced_file

if TYPE_CHECKING:
    from pathlib import Path

FOLDER: Final = "refresh"
"""Name of the folder, in that of the crawl."""

_NAME: Final = "plan.jsonl"
_DRAFT: Final = ".plan.draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshPlanHead:
    """Identity of a plan.

    Attributes:
        log: name of the crawl's log.
        generation: of the log.
        begin_ms: start of the epoch, Unix time.
        length_ms: of the epoch.
        policy: that has chosen.
    """

    log: str
    generation: int
    begin_ms: int
    length_ms: int
    policy: str

    def is_of_epoch(self, other: RefreshPlanHead, now_ms: int) -> bool:
        """Return whether this plan is for the log of another, and is not over."""
        is_of_log = (self.log, self.generation) == (other.log, other.generation)
        return is_of_log and self.begin_ms <= now_ms < self.begin_ms + self.length_ms


class RefreshPlanFile:
    """The file with the plan of a crawl's present epoch.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
    """

    def __init__(self, root: Path) -> None:
        self._folder = root / FOLDER
        self._path = self._folder / _NAME

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock out other refreshes; the lock ends with the process.

        Raises:
            ConfigError: one is running.
        """
        self._folder.mkdir(exist_ok=True)
        with writing_alone(self._folder, "another refresh of this crawl is running"):
            yield

    def head(self) -> RefreshPlanHead | None:
        """Return the identity of the plan; None if there is none.

        Raises:
            ConfigError: it cannot be read.
        """
        try:
            with self._path.open("rb") as file:
                return RefreshPlanHead(**json.loads(file.readline()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise ConfigError(
                f"{self._path}: is not a plan of refresh; remove it ({error})"
            ) from error

    def fetches(self) -> Iterator[PlannedFetch]:
        """Yield the pages of the plan.

        Raises:
            ConfigError: it cannot be read.
        """
        with self._path.open("rb") as file:
            next(file)
            try:
                for line in file:
                    yield decode(line.decode(), PlannedFetch)
            except (ValueError, SourceFault) as error:
                raise ConfigError(
                    f"{self._path}: is not a plan of refresh; remove it ({error})"
                ) from error

    def write(self, head: RefreshPlanHead, fetches: Iterable[PlannedFetch]) -> int:
        """Replace the plan once the new one is on disk; return the number of pages."""
        draft = self._folder / _DRAFT
        n_fetches = 0
        with synced_file(draft) as file:
            file.write(json.dumps(asdict(head)).encode("ascii") + b"\n")
            for each in fetches:
                file.write(encode(each).encode("ascii") + b"\n")
                n_fetches += 1
        draft.replace(self._path)
        sync(self._folder)
        return n_fetches
