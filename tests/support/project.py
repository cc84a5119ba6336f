"""Scrapy projects as users have them: rdfcrawl is installed, its clone not seen."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from sysconfig import get_path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from tests.conftest import LOOPBACK_NETS
from tests.support.command_forks import ROOT, CommandForks
from tests.support.crawl_fixtures import CrawlResult

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SOURCE = ("setup.py", "pyproject.toml", "README.md", "LICENSE")
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
# Settings of any project for its crawls, here for servers on loopback.
LAB = f"""
USER_AGENT = "lab/1 (+https://lab.example/crawl)"
GUARD_ALLOW_NETS = "{LOOPBACK_NETS}"
GUARD_PORTS = "1-65535"
DOWNLOAD_DELAY = 0
HOST_PATIENCE_SECS = 0
STATS_DUMP = True
"""
COMMANDS = 'COMMANDS_MODULE = "rdfcrawl.commands"\n'
ADDON = f'ADDONS = {{"rdfcrawl.Addon": 500}}\n{COMMANDS}'


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """A virtual environment with the wheel of the tree; its libraries are ours."""

    python: Path

    @classmethod
    def build(cls, folder: Path) -> InstalledPackage:
        """Build the wheel and install it, without a network.

        The dependencies of rdfcrawl are read from the running environment, without its
        `.pth` files: an editable installation of the tree is not seen.
        """
        source = folder / "source"
        shutil.copytree(
            ROOT / "rdfcrawl",
            source / "rdfcrawl",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        for name in _SOURCE:
            shutil.copy(ROOT / name, source)
        alone = ("--no-deps", "--no-index")
        _check(*_PIP, "wheel", *alone, "--no-build-isolation", "-w", folder, source)
        (wheel,) = folder.glob("rdfcrawl-*.whl")
        _check(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
        installed = cls(folder / "venv" / "bin" / "python")
        _check(*_PIP, "--python", installed.python, "install", *alone, wheel)
        (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
        (packages / "libraries.pth").write_text(get_path("purelib") + "\n")
        return installed

    def run(self, *words: str | Path, folder: Path) -> CrawlResult:
        """Run a Python module, or a program of the environment, to its end."""
        first, *others = words
        program = self.python.parent / first
        command = (program,) if program.exists() else ("-m", first)
        began = time.monotonic()
        done = forks_of(self.python).run(*command, *others, folder=folder)
        secs = time.monotonic() - began
        told = done.stderr + done.stdout
        return CrawlResult(done.returncode, told, folder, secs, 0)


@dataclass(frozen=True, slots=True)
class Project:
    """A Scrapy project in a separate folder.

    Attributes:
        folder: has `scrapy.cfg`.
        name: of the project and its package.
    """

    installed: InstalledPackage
    folder: Path
    name: str

    @classmethod
    def start(cls, installed: InstalledPackage, folder: Path, name: str) -> Project:
        """Run `scrapy startproject`."""
        done = installed.run("scrapy", "startproject", name, folder=folder)
        assert done.code == 0, done.stderr
        return cls(installed, folder / name, name)

    def add_settings(self, lines: str) -> None:
        """Append lines to the settings of the project."""
        with (self.folder / self.name / "settings.py").open("a") as file:
            file.write("\n" + dedent(lines))

    def write(self, path: str, text: str) -> None:
        """Write a module of the package, such as `spiders/people.py`."""
        (self.folder / self.name / path).write_text(dedent(text))

    def run(self, *words: str | Path, crawl_id: str = "") -> CrawlResult:
        """Run `scrapy <words>`, or `rdfcrawl <words>`, in the project.

        Args:
            words: the program, if it is not `scrapy`, and its arguments.
            crawl_id: of the crawl whose quads and provenance the result shows.
        """
        program = () if words[0] == "rdfcrawl" else ("scrapy",)
        done = self.installed.run(*program, *words, folder=self.folder)
        folder = self.folder / "crawl" / crawl_id
        return CrawlResult(done.code, done.stderr, folder, done.secs, 0)

    def feed(self, name: str) -> list[dict[str, Any]]:
        """Return the items of a feed of JSON lines."""
        lines = (self.folder / name).read_text().splitlines()
        return [json.loads(line) for line in lines]


@cache
def forks_of(python: Path) -> CommandForks:
    """Return the process from which commands of an environment are forked."""
    forks = CommandForks(python, env=_environment())
    atexit.register(forks.stop)
    return forks


def _environment() -> Mapping[str, str]:
    """Return the environment, without variables that would lead to the tree."""
    ours = ("SCRAPY", "REDIS", "PYTHON", "VIRTUAL_ENV")
    return {n: v for n, v in os.environ.items() if not n.startswith(ours)}


def _check(*words: str | Path) -> None:
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
