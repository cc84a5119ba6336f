"""The manifest: segments of the URL database, and the part of the logs in them."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.drafts import sync, synced_file

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)

FOLDER: Final = "urldb"
"""Name of the folder, within that of the crawl."""

FORMAT: Final = 3
_NAME: Final = "urldb.json"
_DRAFT: Final = ".urldb.json.draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlDatabaseManifest:
    """The state of a URL database; it is replaced atomically.

    Attributes:
        log: name of the log.
        generation: of the log.
        session_parameters: of the normal form of its URLs.
        offsets: end of the part that was read, by `quads/<segment>` and so on.
        segments: file by number of the partition.
        n_records: in all segments.
        format: version of the format.
    """

    log: str
    generation: int
    session_parameters: tuple[str, ...]
    offsets: dict[str, int] = field(default_factory=dict)
    segments: dict[str, str] = field(default_factory=dict)
    n_records: int = 0
    format: int = FORMAT

    @property
    def content(self) -> bytes:
        """Content of its file."""
        return json.dumps(asdict(self), indent=1, sort_keys=True).encode() + b"\n"

    @property
    def digest(self) -> str:
        """Hash of the content, 32 hex digits."""
        return blake2b(self.content, digest_size=16).hexdigest()

    def is_behind(self, other: UrlDatabaseManifest) -> bool:
        """Return whether this database can be updated from the log of another."""
        return (self.log, self.generation, self.session_parameters) == (
            *(other.log, other.generation, other.session_parameters),
        )


def read_manifest(
    folder: Path, *, to_build: bool = False
) -> UrlDatabaseManifest | None:
    """Return the manifest in a folder; None if there is none.

    Args:
        folder: of the database.
        to_build: treat an older format as missing, and log a warning.

    Raises:
        ConfigError: the file is damaged, or of another version of rdfcrawl.
    """
    path = folder / _NAME
    try:
        found = json.loads(path.read_bytes())
        if to_build and found["format"] < FORMAT:
            logger.warning(
                "%s: has format %d; rebuilding it in format %d",
                *(path, found["format"], FORMAT),
            )
            return None
        if found["format"] != FORMAT:
            raise ConfigError(
                f"{path}: has format {found['format']}, not {FORMAT}; `urldb build`"
                " rebuilds an older one; remove the folder of a newer one"
            )
        found["session_parameters"] = tuple(found["session_parameters"])
        return UrlDatabaseManifest(**found)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path}: is damaged: {error!r}") from error


def write_manifest(folder: Path, manifest: UrlDatabaseManifest) -> None:
    """Replace the manifest in a folder; its segments must be on disk.

    Raises:
        OSError: the disk refuses the file.
    """
    draft = folder / _DRAFT
    with synced_file(draft) as file:
        file.write(manifest.content)
    draft.replace(folder / _NAME)
    sync(folder)
