"""The package in installed form: a wheel, and an archive that Python runs."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from tests.conftest import LOOPBACK_NETS
from tests.support.checkout_copies import (
    RULES,
    VERSION,
    copy_checkout,
    documents,
    package_files,
)
from tests.support.command_forks import LONGEST_SECS, ROOT
from tests.support.crawl_fixtures import CrawlResult

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

_BUILD = "from setuptools import build_meta; build_meta.build_wheel('.')"
_MAIN = "from rdfcrawl.cli import main\nmain()\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of a copy of the checkout."""
    checkout = tmp_path_factory.mktemp("wheel")
    copy_checkout(checkout)
    command = [sys.executable, "-c", _BUILD]
    subprocess.run(command, cwd=checkout, capture_output=True, check=True)
    (found,) = checkout.glob("*.whl")
    return found


def test_wheel_has_every_file(wheel: Path) -> None:
    """If the checkout has a file of the package, then the wheel has it."""
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.startswith("rdfcrawl/")}
    assert names == package_files(ROOT)


@pytest.mark.in_turn(2)
def test_archive_reads_the_same_as_a_checkout(
    wheel: Path, commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If the package runs from an archive, then each reader finds the same as here."""
    program = tmp_path / "rdfcrawl.pyz"
    program.write_bytes(wheel.read_bytes())
    with ZipFile(program, "a") as archive:
        archive.writestr("__main__.py", _MAIN)
    (tmp_path / "rules.yml").write_text(RULES)
    server = loopback(host="127.94.31.4")
    for path, (media_type, body) in documents().items():
        server.pages[path] = loopback.response(body, media_type)
    urls = [server.url(path) for path in documents()]
    rules = str(tmp_path / "rules.yml")
    expected = commands.crawl(urls, arguments={"follow": "none"}, SCRAPING_RULES=rules)
    assert expected.code == 0, expected.stderr
    assert expected.graphs == set(urls)
    done = subprocess.run(
        [
            *(sys.executable, str(program), "crawl", "linkeddata"),
            *(f"-aseeds={','.join(urls)}", "-afollow=none"),
            *(f"-sSCRAPING_RULES={rules}", "-sTDM_POLICY=ignore"),
            *("-sDOWNLOAD_DELAY=0", f"-sCRAWL_DIR={tmp_path}"),
            f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}",
        ],
        cwd=tmp_path,
        env={n: v for n, v in os.environ.items() if n != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_SECS,
    )
    assert done.returncode == 0, done.stderr
    found = CrawlResult(0, done.stderr, tmp_path / "linkeddata", 0, 0)
    assert set(found.ask("?a rc:software ?x")) == {f"rdfcrawl {VERSION}"}
    assert found.quads == expected.quads
