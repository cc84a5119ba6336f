"""Reading and messages without the libraries of the extras."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from tests.conftest import LOOPBACK_NETS
from tests.support.command_forks import LONGEST_SECS
from tests.support.crawl_fixtures import CrawlResult
from tests.support.hdt_files import hdt_of

if TYPE_CHECKING:
    from tests.support.crawl_webs import Loopback

ROOT = Path(__file__).resolve().parents[2]
_HIDDEN = (*("numpy", "yaml", "jsonpatch", "py7zr", "pyftpdlib", "prometheus_client"),)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return that of a process in which no library of an extra is found."""
    folder = tmp_path_factory.mktemp("hidden")
    hide = f"import sys\nsys.modules.update(dict.fromkeys({_HIDDEN!r}))\n"
    (folder / "sitecustomize.py").write_text(hide)
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


def scrapy(
    environment: dict[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    """Run a command of the project."""
    return subprocess.run(
        [sys.executable, "-m", "scrapy", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=LONGEST_SECS,
    )


def test_documents_name_the_package_to_install(
    loopback: Loopback, environment: dict[str, str], tmp_path: Path
) -> None:
    """If a document needs an extra, then its fault names it, and the crawl goes on."""
    response = loopback.response
    site = loopback(
        {
            "/data.hdt": response(hdt_of([b"<urn:a> <urn:b> <urn:c> .\n"])),
            "/good.nt": response(b"<urn:a> <urn:b> <urn:c> .\n"),
        },
        host="127.0.181.1",
    )
    urls = [site.url(path) for path in ("/data.hdt", "/good.nt")]
    done = scrapy(
        environment,
        *("crawl", "linkeddata", f"-aseeds={','.join(urls)}", "-adepth=0"),
        *("-sDOWNLOAD_DELAY=0", f"-sCRAWL_DIR={tmp_path}", "-sCONTACT_REQUIRED=0"),
        f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}",
    )
    assert done.returncode == 4, done.stderr
    crawl = CrawlResult(0, done.stderr, tmp_path / "linkeddata", 0, 0)
    assert Reason.NOT_INSTALLED in crawl.faults(urls[0]), done.stderr
    hint = "pip install 'rdfcrawl[hdt]'"
    assert hint in " ".join(crawl.details(urls[0]))
    assert urls[1] in crawl.graphs
    assert "not_installed 1" in done.stderr
    assert re.search(rf"(?m)^hint +{re.escape(hint)}", done.stderr)
    assert re.search(r"(?m)^own faults +1 document: ", done.stderr)


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["dataweb", "serve"], "dataweb"),
        (["frontier", "exporter"], "metrics"),
        (["rdf", "{}/good.nt", "--to", "{}/x.hdt"], "hdt"),
        (["rdf", "{}/good.nt", "-sSCRAPING_RULES={}/rules.yml"], "rules"),
    ],
    ids=["dataweb", "metrics", "hdt", "rules"],
)
def test_commands_name_the_package_to_install(
    environment: dict[str, str], tmp_path: Path, words: list[str], extra: str
) -> None:
    """If a command needs an extra, then it says in one line which, and ends with 2."""
    (tmp_path / "good.nt").write_text("<urn:a> <urn:b> <urn:c> .\n")
    (tmp_path / "rules.yml").write_text("rules: {}\n")
    done = scrapy(environment, *(word.format(tmp_path) for word in words))
    assert done.returncode == 2, done.stderr
    assert f"pip install 'rdfcrawl[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
