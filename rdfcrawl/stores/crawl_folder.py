"""The folder of a crawl: identity and runs of its log, kept time, and how to find it.

The first worker that opens the folder writes `quads/log.json`. `fresh=1` moves the
folder away, and the next one is another generation of the same log.

The latest version of a document counts. After the clock was set back, a worker would
write versions older than those they replace. So each worker keeps its time in
`clock.txt` of the crawl, and the next one continues from there.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.table import OptionsTable, path, text
from rdfcrawl.core.times import advance_to, now_ms
from rdfcrawl.stores.files import replacing_file, sync, synced_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

FORMAT: Final = 2
_LOG_NAME: Final = "log.json"
_FINISHED: Final = "finished"
_RUNS: Final = "runs.txt"
_MAX_BYTES: Final = 4096
_SHOWN_NAMES: Final = 20  # of crawls, in a message
MOST_AHEAD_MS: Final = 86_400_000
"""Ignore a kept time that is further ahead: the clock was wrong then."""
_CLOCK: Final = "clock.txt"
_MOST_DIGITS: Final = 16
_LEAST_REPORTED_MS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LogIdentity:
    """The log that a folder of segments belongs to."""

    log: str  # unique name, the same for all generations
    generation: int = 1  # from 1; each `fresh=1` begins the next
    format: int = FORMAT  # version of the format of the segments


def read_identity(segments: Path) -> LogIdentity | None:
    """Return the identity of a folder of segments; None if it has none.

    Raises:
        ConfigError: the file is damaged, or of a later version of rdfcrawl.
    """
    path = segments / _LOG_NAME
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_MAX_BYTES))
        number, log, generation = found["format"], found["log"], found["generation"]
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path}: not the identity of a log: {error!r}") from error
    if number != FORMAT:
        raise ConfigError(
            f"{path}: the log has format {number}, and this version of rdfcrawl reads"
            f" format {FORMAT}"
        )
    return LogIdentity(log=str(log), generation=int(generation))


def ensure_identity(segments: Path) -> LogIdentity:
    """Return the identity of a folder; write it if it is missing.

    Raises:
        ConfigError: as `read_identity`.
        OSError: the disk cannot be written.
    """
    found = read_identity(segments)
    if found is not None:
        return found
    content = json.dumps(asdict(_next_identity(segments))).encode() + b"\n"
    draft = segments / f".{_LOG_NAME}-{secrets.token_hex(6)}"
    try:
        with synced_file(draft) as file:
            file.write(content)
        # Unlike a rename, a link fails if another worker was first.
        os.link(draft, segments / _LOG_NAME)
        sync(segments)  # losing the name would change the identity of the log
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)
    written = read_identity(segments)
    if written is None:
        raise ConfigError(
            f"{segments / _LOG_NAME}: was removed while the crawl started"
        )
    return written


def _next_identity(segments: Path) -> LogIdentity:
    """Return the identity after those that `fresh=1` has moved aside."""
    earlier = [
        found
        for folder in segments.parent.glob(f"before-*/{segments.name}")
        if (found := read_identity(folder))
    ]
    if not earlier:
        return LogIdentity(log=secrets.token_hex(16))
    last = max(earlier, key=lambda each: each.generation)
    return LogIdentity(log=last.log, generation=last.generation + 1)


def mark_finished(segments: Path) -> None:
    """Note that the crawl has reached its end at least once."""
    # If the disk is full, followers keep the documents of earlier generations for now.
    with suppress(OSError):
        if segments.is_dir():
            (segments / _FINISHED).touch()


def is_finished(segments: Path) -> bool:
    """Return whether the crawl has reached its end at least once in this generation."""
    return (segments / _FINISHED).exists()


@dataclass(frozen=True, slots=True)
class CrawlRuns:
    """The runs of a crawl, as recorded in its log."""

    ended: dict[int, int]  # by number, from 0: end of the run, Unix time in ms
    # Run in which each worker has written. The numbers order the runs; their times may
    # come from different clocks.
    workers: dict[str, int]


def note_worker(segments: Path, run: int, worker: str) -> None:
    """Note in which run a worker writes, before its first segment.

    Args:
        segments: their folder.
        run: number of runs before.
        worker: its unique name.
    """
    with suppress(OSError):  # as `mark_finished`; then times are used instead
        _append(segments, f"{run} begun {worker}\n")


def note_run(segments: Path, run: int, ended_ms: int) -> None:
    """Note the end of a run; each of its workers may do so.

    Args:
        segments: their folder.
        run: number of runs before.
        ended_ms: Unix time in ms, after all fetches of the run.
    """
    with suppress(OSError):  # as `mark_finished`
        if segments.is_dir():
            _append(segments, f"{run} {ended_ms}\n")


def _append(segments: Path, line: str) -> None:
    with (segments / _RUNS).open("a", encoding="utf-8") as file:
        file.write(line)


def read_runs(segments: Path) -> CrawlRuns:
    """Return the runs of a crawl; damaged lines are ignored."""
    ended: dict[int, int] = {}
    workers: dict[str, int] = {}
    try:
        lines = (segments / _RUNS).read_text("utf-8", "replace").splitlines()
    except OSError:
        return CrawlRuns(ended, workers)
    for line in lines:
        match line.split(" "):  # a full disk may have cut it
            case [run, ended_ms] if run.isdecimal() and ended_ms.isdecimal():
                ended[int(run)] = max(int(ended_ms), ended.get(int(run), 0))
            case [run, "begun", worker] if run.isdecimal():
                workers[worker] = int(run)
    return CrawlRuns(ended, workers)


class CrawlPaths:
    """The folders of a crawl on this machine.

    Attributes:
        frontier: data, socket and log of the embedded server.
        quads: segments of documents.
        provenance: segments of provenance.
        links: segments of the log of links.
        decisions: segments of the log of decisions.
        results: segments of the log of results, in a folder for each kind.
        warc: files of the web archive.
        spool: large bodies between fetch and parser.
        logs: of the processes of `scrapy workers`.
        epochs: log of the epochs of domains with a quota.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.frontier = root / "frontier"
        self.quads = root / "quads"
        self.provenance = root / "provenance"
        self.links = root / "links"
        self.decisions = root / "decisions"
        self.results = root / "results"
        self.warc = root / "warc"
        self.spool = root / "spool"
        self.logs = root / "logs"
        self.epochs = root / "epochs"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlLocation(OptionsTable):
    """The settings that say which crawl is meant, and where it is."""

    folder: Path = path("CRAWL_DIR", "crawl")
    """folder for everything a crawl keeps on this machine: `CRAWL_DIR/<CRAWL_ID>/` with
    `frontier`, `quads`, `provenance`, `spool`, `logs`, `warc` if wanted, `epochs`
    with [quotas](../explanation/refresh.md#quotas), `verified` after `scrapy verify`,
    `settings.json` (for the [page](page.md#settings)), and `clock.txt` (the time that
    the crawl has come to, in ms)"""
    # name that the workers of one crawl share
    crawl_id: str | None = text(
        "CRAWL_ID", None, allowed="letters, digits, `.`, `_`, `-`; at most 100"
    )
    """name of the crawl; unset, it is the name of the spider. Workers with the same
    name (and the same Redis) share one crawl; the same command continues it"""


def crawl_folder(settings: BaseSettings) -> Path:
    """Return the folder of all crawls, `CRAWL_DIR`."""
    return CrawlLocation.from_settings(settings).folder


def find_crawl(settings: BaseSettings) -> Path:
    """Return the folder of the crawl `CRAWL_ID`, or of the only one in `CRAWL_DIR`.

    Raises:
        ConfigError: no crawl has stored anything, or there are several.
    """
    location = CrawlLocation.from_settings(settings)
    folder, crawl_id = location.folder, location.crawl_id
    if crawl_id is not None and read_identity(folder / crawl_id / "quads") is not None:
        return folder / crawl_id
    names = sorted(path.parent.parent.name for path in folder.glob("*/quads/log.json"))
    some = ", ".join(names[:_SHOWN_NAMES]) + (", ..." * (len(names) > _SHOWN_NAMES))
    if crawl_id is not None:
        _check_stores([folder / crawl_id])
        others = f"; there are {some}" if names else ""
        raise ConfigError(
            f"CRAWL_ID={crawl_id}: no crawl of this name has stored anything in"
            f" CRAWL_DIR={folder}{others}"
        )
    if not names:
        _check_stores(sorted(path.parent for path in folder.glob("*/provenance")))
        raise ConfigError(f"CRAWL_DIR={folder}: no crawl has stored anything here")
    if len(names) > 1:
        raise ConfigError(f"CRAWL_DIR={folder}: add -s CRAWL_ID=NAME; there are {some}")
    return folder / names[0]


def _check_stores(roots: Iterable[Path]) -> None:
    """Raise `ConfigError` if crawls use stores that only their own classes can read."""
    own = [
        root.name
        for root in roots
        if (root / "provenance").is_dir() and not (root / "quads").is_dir()
    ]
    if own:
        raise ConfigError(
            f"CRAWL_ID={', '.join(own)}: this command reads only STORE=segments, and"
            " the crawl used another STORE"
        )


class KeptTime:
    """The latest time that the workers of a crawl have reached on this machine.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
    """

    def __init__(self, root: Path) -> None:
        self._path = root / _CLOCK

    def resume(self) -> None:
        """Continue from the kept time, if it is ahead of the clock.

        A warning reports the difference. More than a day ahead is not followed.
        """
        ahead_ms = self._read() - now_ms()
        if ahead_ms <= 0:
            return
        if ahead_ms > MOST_AHEAD_MS:
            logger.warning(
                "the clock is %.1f days behind the last document of this crawl: until"
                " then, no fetched document replaces a stored one",
                ahead_ms / MOST_AHEAD_MS,
            )
            return
        advance_to(now_ms() + ahead_ms)
        if ahead_ms >= _LEAST_REPORTED_MS:
            logger.warning(
                "the clock was set back by %d s since the last run: this crawl goes on"
                " from the time of that run",
                ahead_ms // 1000,
            )

    def keep(self) -> None:
        """Keep the current time.

        Raises:
            OSError: the disk cannot be written.
        """
        now = now_ms()
        if self._read() >= now:
            return
        with replacing_file(self._path, is_lasting=False) as file:
            file.write(f"{now}\n")

    def _read(self) -> int:
        """Return the kept time in ms; 0 if there is none."""
        try:
            with self._path.open("rb") as file:
                digits = file.read(_MOST_DIGITS).strip()
        except OSError:
            return 0
        return int(digits) if digits.isdigit() else 0
