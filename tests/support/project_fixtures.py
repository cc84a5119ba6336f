"""Fixtures for Scrapy projects that depend on an installed rdfcrawl."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.support.project import ADDON, LAB, InstalledPackage, Project

if TYPE_CHECKING:
    from pathlib import Path

StartProject = Callable[..., Project]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> InstalledPackage:
    """Return a virtual environment with rdfcrawl, one for all tests of a run."""
    base = tmp_path_factory.getbasetemp()
    if base.name.startswith(("fork-", "popen-")):  # of one of several processes
        base = base.parent
    folder: Path = base / "installed"
    with (base / "installed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        built = folder / "venv" / "bin" / "python"
        if (folder / "done").exists():
            return InstalledPackage(built)
        folder.mkdir()
        installed = InstalledPackage.build(folder)
        (folder / "done").touch()
        return installed


@pytest.fixture(scope="module")
def start_project(
    installed: InstalledPackage, tmp_path_factory: pytest.TempPathFactory
) -> StartProject:
    """Return a function that starts a project with the add-on, for loopback."""

    def start(name: str, settings: str = LAB + ADDON) -> Project:
        folder = tmp_path_factory.mktemp("projects")
        project = Project.start(installed, folder, name)
        project.add_settings(settings)
        return project

    return start
