"""A Scrapy project that does not name rdfcrawl, where rdfcrawl is installed."""

from __future__ import annotations

import subprocess
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import pytest
from scrapy import commands

if TYPE_CHECKING:
    from tests.support.project import Project
    from tests.support.project_fixtures import StartProject

SPIDER = """
    import json
    import sys

    import scrapy


    class PlainSpider(scrapy.Spider):
        name = "plain"

        async def start(self):
            loaded = [name for name in sys.modules if name.startswith("rdfcrawl")]
            yield {"settings": list(self.settings), "loaded": loaded}
"""


@pytest.fixture(scope="module")
def project(start_project: StartProject) -> Project:
    """Return a project as Scrapy makes it, with one spider."""
    project = start_project("stranger", "")
    project.write("spiders/plain.py", SPIDER)
    return project


def run(project: Project, *words: str) -> str:
    """Return the output of `scrapy <words>`, in a process that begins with nothing."""
    done = subprocess.run(
        [project.installed.python, "-m", "scrapy", *words],
        cwd=project.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_commands_are_those_of_scrapy(project: Project) -> None:
    """If a project does not name our commands, then `scrapy` has its own alone."""
    listed = run(project).partition("Available commands:")[2]
    found = {line.split()[0] for line in listed.splitlines() if line[:2] == "  "}
    assert found == {module.name for module in iter_modules(commands.__path__)}
    assert "--page" not in run(project, "crawl", "-h")


def test_a_crawl_imports_nothing_of_ours(project: Project) -> None:
    """If a project does not name us, its crawl has no module and setting of ours."""
    run(project, "crawl", "plain", "-O", "plain.jl")
    (found,) = project.feed("plain.jl")
    assert found["loaded"] == []
    assert "CRAWL_DIR" not in found["settings"]
