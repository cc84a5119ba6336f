"""Imports forbidden before their first use: a command's start is paid each time."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import LOOPBACK_NETS

if TYPE_CHECKING:
    from tests.support.crawl_webs import Loopback

_PROJECT = Path(__file__).parents[2]
# Each takes 20 to 300 ms of CPU, and most commands and documents need none of them.
_HEAVY = {
    *("numpy", "rdflib", "pyld", "html5lib", "mf2py"),
    *("py7zr", "jsonpatch", "yaml", "tldextract", "requests", "selectolax"),
    *(
        "rdfcrawl.rdf.html.page",
        "rdfcrawl.rdf.html.rules",
        "rdfcrawl.rdf.unpack.documents",
    ),
    *("rdfcrawl.rdf.hdt", "rdfcrawl.rdf.trix", "rdfcrawl.rdf.jsonld.reading"),
    *(
        "rdfcrawl.dataweb.process",
        "rdfcrawl.sources.harvest.ckan",
        "rdfcrawl.sources.harvest.sparql",
    ),
}
# Scrapy imports them for components that are switched off, or we for later steps.
_NOT_BEFORE_THE_FIRST_REQUEST = _HEAVY | {
    *("urllib3", "aiohttp", "twisted.conch", "twisted.mail", "pandas", "lz4.block"),
    *("lxml.html.clean", "lxml_html_clean", "lxml.isoschematron", "jsonschema"),
    *("rdfcrawl.stores.reading", "rdfcrawl.sources.harvest.resourcesync"),
    *("rdfcrawl.downloader.detached_client", "rdfcrawl.downloader.http.scrapy_handler"),
}
_OF_FEW_CRAWLS = tuple(
    f"rdfcrawl.{name}"
    for name in (
        *("analysis.ranking", "analysis.report", "analysis.urldb", "dataweb"),
        *("analysis.refresh.domain_schedule", "downloader.archiving"),
        *("downloader.contexts", "downloader.ftp.", "downloader.http.scrapy_exchange"),
        *("downloader.warc", "frontier.redis.cluster", "monitor", "rdf.hdt", "rdf.n3"),
        *("rdf.html.microformats", "rdf.html.rdfa", "rdf.html.rules"),
        *("rdf.rdflib_reading", "sources.harvest.ckan", "sources.harvest.sparql"),
        *("sources.resourcesync", "stores.columns", "stores.export"),
        *("stores.followers", "stores.shapes"),
    )
)
_MOST_MODULES = 222  # without spiders: Scrapy imports all of them
_OF_THE_NETWORK = {"aiohttp", "multidict", "redis", "rdfcrawl.downloader.http.exchange"}
_OF_A_CRAWL = {
    "rdfcrawl.pipelines.spider_options",
    "rdfcrawl.sources.harvest",
    "pyoxigraph",
}
_TOLD = """
import atexit, sys
atexit.register(lambda: sys.stderr.write("MODULES " + " ".join(sys.modules)))
"""


def _modules(line: str) -> set[str]:
    """Return the imports of a process at its end; its exit code must be 0."""
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


def _imported_before_the_first_request(folder: Path) -> set[str]:
    """Return the imports of a crawl of one page at the time of a request."""
    told = folder / "stderr"
    with socket.create_server(("127.0.0.1", 0)) as server, told.open("wb") as stderr:
        server.settimeout(60)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        options = [f"seeds={url}", "fresh=1", "max_per_host=1"]
        process = subprocess.Popen(
            [
                *(sys.executable, "-X", "importtime", "-m", "scrapy", "crawl"),
                *("linkeddata", "-s", f"CRAWL_DIR={folder}", "-s", "PROGRESS=off"),
                f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}",
                *(word for option in options for word in ("-a", option)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            cwd=_PROJECT,
        )
        try:
            connection, _ = server.accept()
            lines = told.read_text(encoding="utf-8", errors="replace")
            connection.close()
        finally:
            process.terminate()
            process.wait()
    return set(re.findall(r"^import time:.*\| +(\S+)$", lines, re.MULTILINE))


@pytest.mark.parametrize("command", [["list"], ["version"], ["rdf", "-h"]])
def test_a_command_that_crawls_nothing_imports_no_room_of_a_crawl(
    command: list[str],
) -> None:
    """If a command does not crawl, it imports nothing that only a crawl needs."""
    imported = _scrapy(*command)
    assert not imported & (_HEAVY | _OF_THE_NETWORK | _OF_A_CRAWL)


def test_a_file_is_read_without_imports_for_other_documents(tmp_path: Path) -> None:
    """If `scrapy rdf` reads N-Triples, it opens no network, no page and no child."""
    path = tmp_path / "one.nt"
    path.write_text('<http://e/s> <http://e/p> "o" .\n')
    imported = _scrapy("rdf", str(path))
    assert "rdfcrawl.pipelines.callbacks.inspection" in imported
    assert "rdfcrawl.rdf.extraction.sandbox" not in imported
    assert not imported & (_HEAVY | _OF_THE_NETWORK)


def test_a_crawl_sends_requests_before_rare_imports(tmp_path: Path) -> None:
    """If a crawl sends its first request, then nothing heavy was imported for it."""
    imported = _imported_before_the_first_request(tmp_path)
    assert (_OF_THE_NETWORK - {"aiohttp"}) <= imported
    assert not imported & _NOT_BEFORE_THE_FIRST_REQUEST


def test_a_crawl_loads_only_modules_it_uses(loopback: Loopback, tmp_path: Path) -> None:
    """If a crawl fetches Turtle and pages over HTTP, it loads no other kind of part."""
    page = b"<a href=/b>b</a>"
    data = b'{"@id": "/b", "urn:x:p": "c"}'
    page += b'<script type="application/ld+json">' + data + b"</script>"
    site = loopback(
        {
            "/a": loopback.response(b"<> <urn:x:p> </page> ."),
            "/b": loopback.response(b'<> <urn:x:p> "c" .'),
            "/page": loopback.response(page, "text/html"),
        }
    )
    settings = (
        *(f"CRAWL_DIR={tmp_path}", f"GUARD_ALLOW_NETS={LOOPBACK_NETS}"),
        *("GUARD_PORTS=1-65535", "DOWNLOAD_DELAY=0", "PROGRESS=off"),
    )
    given = [word for setting in settings for word in ("-s", setting)]
    words = ["rdfcrawl", "crawl", "linkeddata", "-a", f"seeds={site.url('/a')}", *given]
    loaded = _modules(f"sys.argv = {words!r}\nfrom rdfcrawl.cli import main\nmain()")
    assert {"/a", "/b", "/page"} <= set(site.targets)
    ours = {name for name in loaded if name.partition(".")[0] == "rdfcrawl"}
    rare = {name for name in ours if name.startswith(_OF_FEW_CRAWLS)}
    assert not rare, f"import them where they are used: {sorted(rare)}"
    used = {name for name in ours if not name.startswith("rdfcrawl.spiders.")}
    assert len(used) <= _MOST_MODULES, "import what few crawls need where it is used"


def test_a_command_of_rdfcrawl_that_crawls_nothing_imports_no_crawler() -> None:
    """If a command of ours crawls nothing, then it starts without Scrapy's engine."""
    words = ["rdfcrawl", "report", "-h"]
    loaded = _modules(f"sys.argv = {words!r}\nfrom rdfcrawl.cli import main\nmain()")
    assert not loaded & {"scrapy.crawler", "scrapy.cmdline", "scrapy.core.engine"}


def test_a_reading_child_begins_with_common_imports() -> None:
    """If a child process starts, it imports the readers of no special format."""
    imported = _modules("import rdfcrawl.rdf.extraction.child")
    heavy = _HEAVY | _OF_THE_NETWORK | {"scrapy", "twisted", "lxml"}
    heavy |= {"asyncio", "importlib.resources", "logging"}  # a third of its start
    assert not imported & heavy


@pytest.mark.parametrize(
    "module", ["stores.followers.process", "stores.log.compaction"]
)
def test_a_process_next_to_a_crawl_begins_without_scrapy(module: str) -> None:
    """If a log is followed or compacted, then nothing of a crawl is imported."""
    imported = _modules(f"import rdfcrawl.{module}")
    assert not imported & (_HEAVY | _OF_THE_NETWORK | {"scrapy", "twisted", "lxml"})


def test_an_import_changes_no_other_library() -> None:
    """If all our modules are imported, then no attribute of a library is another."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.import_effects"],
        capture_output=True,
        text=True,
        check=True,
        cwd=_PROJECT,
    )
    n_modules, changed = json.loads(done.stdout)
    assert n_modules > 200
    assert not changed, f"leave it to a crawl of ours: {changed}"


def test_the_stand_in_for_an_error_of_scrapys_is_taken_for_it() -> None:
    """If Scrapy's HTTP handler raises its `TunnelError`, it is retried as ever."""
    from scrapy.core.downloader.handlers.http11 import TunnelError as ScrapysError

    from rdfcrawl.downloader.handler import TunnelError

    assert isinstance(ScrapysError("no tunnel"), TunnelError)
    assert not isinstance(ValueError("no tunnel"), TunnelError)
