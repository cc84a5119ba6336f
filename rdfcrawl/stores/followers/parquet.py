"""Follow a crawl with a dataset of Parquet: `parquet:PATH`.

Documents are kept in a table until the dataset is renewed: then the next version of the
folder is written and replaces the current one atomically. See `dataset_versions`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from rdfcrawl.core.extras import needed_by_operator
from rdfcrawl.stores.followers.dataset_versions import DatasetVersions
from rdfcrawl.stores.followers.file_names import host_name
from rdfcrawl.stores.followers.local_disk import LOCK_SECS
from rdfcrawl.stores.followers.renewals import RENEW_SECS, checked_options, path_of
from rdfcrawl.stores.followers.renewed import TableFollower

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


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
