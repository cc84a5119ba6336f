"""The status of each follower of a crawl: a small file, which its process updates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Final

from rdfcrawl.core.errors import RdfcrawlError
from rdfcrawl.core.messages import counted
from rdfcrawl.stores.files import replacing_file
from rdfcrawl.stores.followers.following import SetAside
from rdfcrawl.stores.log.crawl_log import CrawlLog
from rdfcrawl.stores.log.documents import Checkpoint

_FOLDER: Final = "followers"
_USUAL_BYTES: Final = 300.0  # of a document in the log, before the first is read


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerStatus:
    """Status of a follower.

    Attributes:
        name: URI of the store, without a login.
        state: following, waiting, unusable (waits for the operator), ended or failed.
        detail: why it waits or has failed.
        n_documents: versions that it has read since it began.
        n_behind: unread versions in the log; estimated from their bytes.
        secs_behind: age of the last fetch that the store has.
        set_aside: documents that the store refused, by graph, also before it began.
        n_unnamed: number of further ones.
        damages: parts of the log that were skipped.
        checkpoint: of the last commit, as JSON.
        bytes_per_document: mean length in the log.
        counts: statistics of the follower, by name.
        once: documents stored as links to others, with their statements and bytes, when
            it last ended; empty if all statements are stored.
    """

    name: str
    state: str
    detail: str = ""
    n_documents: int = 0
    n_behind: int = 0
    secs_behind: float = 0.0
    set_aside: Mapping[str, SetAside] = field(default_factory=dict)
    n_unnamed: int = 0
    damages: Sequence[str] = ()
    checkpoint: Mapping[str, object]
    bytes_per_document: float = _USUAL_BYTES
    counts: Mapping[str, int] = field(default_factory=dict)
    once: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_set_aside(self) -> int:
        """Number of documents that the store refused."""
        return len(self.set_aside) + self.n_unnamed

    @property
    def is_stuck(self) -> bool:
        """Whether the store waits, is unusable or has failed."""
        return self.state in {"waiting", "unusable", "failed"}

    def summary(self) -> str:
        """Return the line for the progress of the crawl."""
        parts = [self.name]
        if self.n_behind:
            secs = f", {self.secs_behind:,.0f} s" if self.secs_behind else ""
            documents = counted(self.n_behind, "document")
            parts.append(f"about {documents}{secs} behind")
        else:
            parts.append("up to date")
        if self.set_aside:
            parts.append(f"{self.n_set_aside:,} set aside")
        if self.damages:
            parts.append(f"{counted(len(self.damages), 'damage')} of the log")
        if self.is_stuck:
            parts.append(f"{self.state}: {self.detail}")
        elif self.detail:
            parts.append(self.detail)
        return ", ".join(parts)

    def details(self) -> list[str]:
        """Return lines for documents set aside, duplicates, and damage of the log."""
        # Names from the web may contain control characters of the terminal.
        lines = [
            f"set aside: {graph!a}: {each.reason!a}"
            for graph, each in self.set_aside.items()
        ]
        if self.once:
            lines.append(
                f"stored once: {counted(self.once['documents'], 'document')} stored as"
                f" links, saving {counted(self.once['statements'], 'statement')} and"
                f" {counted(self.once['bytes'], 'byte')}"
            )
        return lines + list(self.damages)


def status_path(root: Path, name: str) -> Path:
    """Return the file of a follower in the folder of a crawl."""
    digest = blake2b(name.encode(), digest_size=4).hexdigest()
    return root / _FOLDER / f"{name.partition(':')[0]}-{digest}.json"


def once_path(root: Path, name: str) -> Path:
    """Return the path of a follower's table of duplicates."""
    return status_path(root, name).with_suffix(".once")


def write_status(root: Path, status: FollowerStatus) -> None:
    """Write the status of a follower.

    Raises:
        OSError: the disk cannot be written.
    """
    path = status_path(root, status.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    # The other fields can be derived again from the store and its log.
    is_lasting = bool(status.set_aside or status.n_unnamed or status.damages)
    with replacing_file(path, is_lasting=is_lasting) as file:
        file.write(json.dumps(asdict(status)))


def read_statuses(root: Path) -> list[FollowerStatus]:
    """Return the current status of all followers of a crawl."""
    found = []
    for path in sorted((root / _FOLDER).glob("*.json")):
        try:
            status = _read(path)
        except (OSError, ValueError, TypeError):
            continue  # of another version, or just removed
        with suppress(OSError, TypeError, RdfcrawlError):  # the log cannot be read
            status = _updated(root, status)
        found.append(status)
    return found


def read_status(root: Path, name: str) -> FollowerStatus | None:
    """Return the last status that a follower has written, if any."""
    try:
        return _read(status_path(root, name))
    except (OSError, ValueError, TypeError):
        return None


def _read(path: Path) -> FollowerStatus:
    members = json.loads(path.read_text(encoding="utf-8"))
    set_aside = members.pop("set_aside", {})
    return FollowerStatus(
        **members,
        set_aside={graph: SetAside(**each) for graph, each in set_aside.items()},
    )


def _updated(root: Path, status: FollowerStatus) -> FollowerStatus:
    """Return a status, updated with the current length of the log."""
    checkpoint = Checkpoint(**status.checkpoint)  # type: ignore[arg-type]
    n_bytes = CrawlLog(root).n_unread_bytes(checkpoint)
    n_behind = -(-n_bytes // max(1, int(status.bytes_per_document)))
    secs = status.secs_behind if n_behind else 0.0
    return replace(status, n_behind=n_behind, secs_behind=secs)


def summaries(root: Path) -> list[str]:
    """Return a line for the progress of each follower."""
    return [f"store {status.summary()}" for status in read_statuses(root)]
