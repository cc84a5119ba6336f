"""The identity of a log: a file in the folder of its segments that names the log.

The first worker that opens the folder writes `quads/log.json`. `fresh=1` moves the
folder away, and the next one is another generation of the same log.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.drafts import sync, synced_file

if TYPE_CHECKING:
    from pathlib import Path

FORMAT: Final = 1
_NAME: Final = "log.json"
_FINISHED: Final = "finished"
_RUNS: Final = "runs.txt"
_MAX_BYTES: Final = 4096


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
    path = segments / _NAME
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
    draft = segments / f".{_NAME}-{secrets.token_hex(6)}"
    try:
        with synced_file(draft) as file:
            file.write(content)
        # Unlike a rename, a link fails if another worker was first.
        os.link(draft, segments / _NAME)
        sync(segments)  # losing the name would change the identity of the log
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)
    written = read_identity(segments)
    if written is None:
        raise ConfigError(f"{segments / _NAME}: was removed while the crawl started")
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
