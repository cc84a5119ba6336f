"""A folder that changes atomically: a symbolic link to one of its versions.

`PATH` links into `.NAME.rdfcrawl/versions/` in the same folder. A version is not
modified once the link points to it; the next version has hard links to its unchanged
files. So a reader that lists the folder finds the files of one version, with the same
content until they are deleted.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError, StoreFault
from rdfcrawl.stores.drafts import sync

if TYPE_CHECKING:
    from pathlib import Path

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
