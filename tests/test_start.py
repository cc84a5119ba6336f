"""What may not be imported before it is needed: a command's start is paid each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_PROJECT = Path(__file__).parents[1]
# Each takes 20 to 300 ms of CPU, and most commands and documents need none of them.
_HEAVY = {
    *("numpy", "rdflib", "pyld", "pyRdfa", "html5lib", "extruct", "mf2py"),
    *("py7zr", "jsonpatch", "yaml", "rich", "tldextract", "requests", "selectolax"),
    *("rdfcrawl.html.page", "rdfcrawl.html.rules", "rdfcrawl.unpack.documents"),
    *("rdfcrawl.rdf.hdt", "rdfcrawl.rdf.trix", "rdfcrawl.rdf.jsonld.reading"),
    *("rdfcrawl.dataweb.process", "rdfcrawl.sources.ckan", "rdfcrawl.sources.sparql"),
}
_OF_THE_NETWORK = {"aiohttp", "redis", "rdfcrawl.fetch.exchange"}
_OF_A_CRAWL = {"rdfcrawl.options", "rdfcrawl.sources", "pyoxigraph"}
_TOLD = """
import atexit, sys
atexit.register(lambda: sys.stderr.write("MODULES " + " ".join(sys.modules)))
"""


def _modules(line: str) -> set[str]:
    """Return what a process has imported in the end; its exit code must be 0."""
    done = subprocess.run(
        [sys.executable, "-c", _TOLD + line],
        capture_output=True,
        text=True,
        check=False,
        cwd=_PROJECT,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("MODULES ")[2].split())


def _scrapy(*arguments: str) -> set[str]:
    return _modules(
        f"sys.argv[1:] = {list(arguments)!r}\nimport runpy\n"
        "runpy.run_module('scrapy', run_name='__main__', alter_sys=True)"
    )


@pytest.mark.parametrize("command", [["list"], ["version"], ["rdf", "-h"]])
def test_a_command_that_crawls_nothing_imports_no_room_of_a_crawl(
    command: list[str],
) -> None:
    """If a command does not crawl, it imports nothing that only a crawl needs."""
    imported = _scrapy(*command)
    assert not imported & (_HEAVY | _OF_THE_NETWORK | _OF_A_CRAWL)


def test_a_file_is_read_without_what_other_documents_need(tmp_path: Path) -> None:
    """If `scrapy rdf` reads a file of N-Triples, it opens no network, and no page."""
    path = tmp_path / "one.nt"
    path.write_text('<http://e/s> <http://e/p> "o" .\n')
    imported = _scrapy("rdf", str(path))
    assert "rdfcrawl.inspection" in imported
    assert not imported & (_HEAVY | _OF_THE_NETWORK)


def test_a_child_that_reads_begins_with_what_every_document_needs() -> None:
    """If a child process starts, it imports the readers of no special format."""
    imported = _modules("import rdfcrawl.extract.child")
    heavy = _HEAVY | _OF_THE_NETWORK | {"scrapy", "twisted", "lxml"}
    assert not imported & heavy


def test_the_stand_in_for_an_error_of_scrapys_is_taken_for_it() -> None:
    """If Scrapy's HTTP handler raises its `TunnelError`, it is retried as ever."""
    from scrapy.core.downloader.handlers.http11 import TunnelError as ScrapysError

    from rdfcrawl.fetch.scrapy_handler import TunnelError

    assert isinstance(ScrapysError("no tunnel"), TunnelError)
    assert not isinstance(ValueError("no tunnel"), TunnelError)
