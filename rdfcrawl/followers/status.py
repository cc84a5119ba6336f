"""How far each follower of a crawl is: a small file that its process renews."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import RdfcrawlError
from rdfcrawl.log.crawl_log import CrawlLog
from rdfcrawl.log.documents import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FOLDER: Final = "followers"
_USUAL_BYTES: Final = 300.0  # of a document in the log, if none was read


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerStatus:
    """How far a follower is.

    Attributes:
        name: URI of the store, without a login.
        state: what it does, in a word: following, waiting, ended, failed.
        detail: why it waits, or has failed.
        n_documents: versions that it has read since it began.
        n_behind: versions in the log that it has not read; estimated from their bytes.
        secs_behind: age of what was fetched last of all that is in the store.
        set_aside: documents that the store refused, with the reason.
        checkpoint: of the last commit, as JSON.
        bytes_per_document: of those read, in the log.
    """

    name: str
    state: str
    detail: str = ""
    n_documents: int = 0
    n_behind: int = 0
    secs_behind: float = 0.0
    set_aside: Mapping[str, str]
    checkpoint: Mapping[str, object]
    bytes_per_document: float = _USUAL_BYTES

    def summary(self) -> str:
        """Return what the progress shows of the follower."""
        parts = [self.name]
        if self.n_behind:
            secs = f", {self.secs_behind:,.0f} s" if self.secs_behind else ""
            parts.append(f"{self.n_behind:,} documents{secs} behind")
        else:
            parts.append("up to date")
        if self.set_aside:
            parts.append(f"{len(self.set_aside):,} set aside")
        if self.state in {"waiting", "failed"}:
            parts.append(f"{self.state}: {self.detail}")
        return ", ".join(parts)


def status_path(root: Path, name: str) -> Path:
    """Return the file of a follower in the folder of a crawl."""
    digest = blake2b(name.encode(), digest_size=4).hexdigest()
    return root / _FOLDER / f"{name.partition(':')[0]}-{digest}.json"


def write_status(root: Path, status: FollowerStatus) -> None:
    """Renew the file of a follower.

    Raises:
        OSError: the disk refuses it.
    """
    path = status_path(root, status.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(asdict(status)), encoding="utf-8")
    draft.replace(path)


def read_statuses(root: Path) -> list[FollowerStatus]:
    """Return the followers of a crawl, as they are now."""
    found = []
    for path in sorted((root / _FOLDER).glob("*.json")):
        try:
            status = FollowerStatus(**json.loads(path.read_text(encoding="utf-8")))
            found.append(_updated(root, status))
        except (OSError, ValueError, TypeError, RdfcrawlError):
            continue  # of another version, or just removed
    return found


def _updated(root: Path, status: FollowerStatus) -> FollowerStatus:
    """Return a status with what has come into the log since it was written."""
    checkpoint = Checkpoint(**status.checkpoint)  # type: ignore[arg-type]
    n_bytes = CrawlLog(root).n_unread_bytes(checkpoint)
    n_behind = -(-n_bytes // max(1, int(status.bytes_per_document)))
    secs = status.secs_behind if n_behind else 0.0
    return replace(status, n_behind=n_behind, secs_behind=secs)


def summaries(root: Path) -> list[str]:
    """Return what the progress shows of each follower."""
    return [f"store {status.summary()}" for status in read_statuses(root)]
