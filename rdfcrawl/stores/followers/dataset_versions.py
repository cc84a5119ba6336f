"""A folder that changes as a whole: a symbolic link to one of its versions.

`PATH` is a link into `.NAME.rdfcrawl/versions/` beside it. A version is a folder that
is not changed any more once the link points to it; what has not changed is in the next
version as another link to the same file. So whoever lists the folder finds the files
of one version, and no file ever has other content than when it was listed.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError, StoreFault
from rdfcrawl.stores.followers.local_disk import sync

if TYPE_CHECKING:
    from pathlib import Path

_KEPT: Final = 2  # versions: the present one, and the one before for its readers


class DatasetVersions:
    """The versions of one folder.

    Args:
        path: of the folder.

    Attributes:
        state: folder of all that is not for readers.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.state = path.parent / f".{path.name}.rdfcrawl"
        self._versions = self.state / "versions"

    def prepare(self) -> None:
        """Make the folder of the versions.

        Raises:
            ConfigError: something else is at the path.
            OSError: the disk refuses it.
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
            raise ConfigError(f"{path}: is there, and was not made by rdfcrawl")

    def folder(self, number: int) -> Path:
        """Return the folder of a version."""
        return self._versions / str(number)

    def begin(self, number: int) -> Path:
        """Return the empty folder of the next version.

        Raises:
            OSError: the disk refuses it.
        """
        folder = self.folder(number)
        self.discard(number)
        folder.mkdir()
        return folder

    def discard(self, number: int) -> None:
        """Remove what there is of a version that nobody has seen."""
        shutil.rmtree(self.folder(number), ignore_errors=True)

    def finish(self, number: int) -> None:
        """Bring the folders of a version to the disk; its files are there.

        Raises:
            OSError: the disk refuses it.
        """
        for folder, _, _ in os.walk(self.folder(number)):
            sync(self._versions / folder)
        sync(self._versions)

    def show(self, number: int) -> None:
        """Let readers find a version from now on, and remove old ones.

        Raises:
            OSError: the disk refuses it.
            StoreFault: the version is not there any more.
        """
        if not self.folder(number).is_dir():
            raise StoreFault(
                f"{self.state}: files are missing; delete it, and it is filled anew"
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
