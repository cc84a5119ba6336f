"""Follow a crawl with a dataset of Parquet: `parquet:PATH`.

Documents are kept in a table until the dataset is renewed: then the next version of the
folder is written and replaces the current one atomically. See `DatasetVersions`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from rdfcrawl.core.errors import ConfigError, StoreFault, needed_by_operator
from rdfcrawl.stores.files import sync
from rdfcrawl.stores.followers.local_disk import LOCK_SECS
from rdfcrawl.stores.followers.renewed import (
    RENEW_SECS,
    TableFollower,
    checked_options,
    host_name,
    path_of,
)

_KEPT: Final = 2  # versions: the current one, and the previous one for its readers


class DatasetVersions:
    """The versions of one folder.

    Args:
        path: of the folder.

    Attributes:
        state: folder of everything that is not for readers.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.state = path.parent / f".{path.name}.rdfcrawl"
        self._versions = self.state / "versions"

    def prepare(self) -> None:
        """Create the folder of the versions.

        Raises:
            ConfigError: something else is at the path.
            OSError: the disk cannot be written.
        """
        self._check()
        self._versions.mkdir(parents=True, exist_ok=True)

    def _check(self) -> None:
        path = self._path
        if path.is_symlink():
            is_ours = path.readlink().parent == self._versions.relative_to(path.parent)
        else:
            is_ours = not path.exists() or (path.is_dir() and not any(path.iterdir()))
        if not is_ours:
            raise ConfigError(f"{path}: exists, and was not created by rdfcrawl")

    def folder(self, number: int) -> Path:
        """Return the folder of a version."""
        return self._versions / str(number)

    def begin(self, number: int) -> Path:
        """Return the empty folder of the next version.

        Raises:
            OSError: the disk cannot be written.
        """
        folder = self.folder(number)
        self.discard(number)
        folder.mkdir()
        return folder

    def discard(self, number: int) -> None:
        """Remove an unpublished version."""
        shutil.rmtree(self.folder(number), ignore_errors=True)

    def finish(self, number: int) -> None:
        """Make the folders of a version durable on disk; its files already are.

        Raises:
            OSError: the disk cannot be written.
        """
        for folder, _, _ in os.walk(self.folder(number)):
            sync(self._versions / folder)
        sync(self._versions)

    def show(self, number: int) -> None:
        """Publish a version, and remove old ones.

        Raises:
            OSError: the disk cannot be written.
            StoreFault: the version is gone.
        """
        if not self.folder(number).is_dir():
            raise StoreFault(
                f"{self.state}: files are missing; delete it to fill the store again"
            )
        target = self.folder(number).relative_to(self._path.parent)
        if not self._path.is_symlink() or self._path.readlink() != target:
            link = self.state / "link"
            link.unlink(missing_ok=True)
            link.symlink_to(target)
            if self._path.is_dir() and not self._path.is_symlink():
                self._path.rmdir()
            link.replace(self._path)
            sync(self._path.parent)
        for folder in self._versions.iterdir():
            is_version = folder.name.isdecimal()
            if is_version and not number - _KEPT < int(folder.name) <= number:
                shutil.rmtree(folder, ignore_errors=True)


class ParquetFollower(TableFollower):
    """Dataset of Parquet in a folder; see `protocol.Follower`.

    Args:
        path: of the folder.
        partition: unit of its parts: `host` or `day`.
        renew_secs: least time between two renewals of the dataset.
        lock_secs: longest wait for another process that has the store open.
    """

    def __init__(
        self,
        path: Path,
        *,
        partition: str = "host",
        renew_secs: float = RENEW_SECS,
        lock_secs: float = LOCK_SECS,
    ) -> None:
        with needed_by_operator("parquet", "parquet:PATH"):
            from rdfcrawl.stores.followers import parquet_files  # noqa: PLC0415

        self._files = parquet_files
        self._partition = partition
        self._versions = DatasetVersions(path)
        super().__init__(
            path,
            self._versions.state,
            {"partition": partition},
            renew_secs=renew_secs,
            lock_secs=lock_secs,
        )

    @classmethod
    def from_options(cls, uri: str, options: Mapping[str, object]) -> Self:
        """Return the dataset of a URI.

        Raises:
            ConfigError: the URI has no path, or an option is wrong.
        """
        found = checked_options(options, {"partition": ("host", "day")})
        return cls(path_of(uri), **found)  # type: ignore[arg-type]

    def _prepare(self) -> None:
        self._versions.prepare()

    def _resume(self) -> None:
        self._table.db.executescript(self._files.FILE_TABLES)
        if number := self._version():
            self._versions.show(number)

    def _part_of(self, graph: str, version_ms: int) -> str:
        if self._partition == "day":
            day = datetime.fromtimestamp(version_ms / 1000, UTC).date()
            return f"day={day.isoformat()}"
        return f"host={host_name(graph) or '__HIVE_DEFAULT_PARTITION__'}"

    def _renew(self) -> None:
        number = self._version() + 1
        try:
            self._write_version(number)
        except BaseException:
            self._table.roll_back()
            self._versions.discard(number)
            raise
        self._versions.show(number)

    def _version(self) -> int:
        """Return the number of the published version; 0: none."""
        return int(self._table.db.execute("PRAGMA user_version").fetchone()[0])

    def _write_version(self, number: int) -> None:
        """Write a version to disk, and note it as the current one."""
        folder = self._versions.begin(number)
        self._table.begin()
        before = self._versions.folder(number - 1)
        self._files.VersionWriter(self._table, before, folder).write()
        self._versions.finish(number)
        self._table.db.execute(f"PRAGMA user_version = {number}")
        self._table.db.execute("COMMIT")

    def statements(self) -> Iterator[bytes]:
        """Yield all published statements as N-Quads."""
        if number := self._version():
            yield from self._files.read_statements(self._versions.folder(number))
