"""Crawls that a script of the user's begins, as the page of own spiders shows them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.stores.reading import iter_quads
from tests.conftest import LOOPBACK_NETS
from tests.support.command_forks import shared_forks
from tests.support.pages import read_page

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_webs import Loopback

_find_scripts = re.compile(
    r"^```python\n(import sys\n.*?)^```$", re.DOTALL | re.MULTILINE
).findall
SCRIPTS = _find_scripts(read_page("own-spiders.md"))
_SETTINGS = "settings = get_project_settings()\n"


@pytest.mark.parametrize("script", SCRIPTS, ids=["process", "runner"])
def test_script_of_the_page_crawls_seeds_from_python(
    script: str, loopback: Loopback, tmp_path: Path
) -> None:
    """If a script gives a list of seeds, then each is crawled, and the process ends."""
    page = loopback.response(b'<> <urn:x:p> "o" .')
    server = loopback({"/a": page, "/b": page})
    lab = {
        "CRAWL_DIR": str(tmp_path),
        "GUARD_ALLOW_NETS": LOOPBACK_NETS,
        "DOWNLOAD_DELAY": 0,
        "TDM_POLICY": "ignore",
    }
    assert script.count(_SETTINGS) == 1
    script = script.replace(
        _SETTINGS, f"{_SETTINGS}settings.update({json.dumps(lab)})\n"
    )
    seeds = [server.url("/a"), server.url("/b")]
    done = shared_forks().run("-c", script, *seeds)
    assert done.returncode == 0, done.stderr
    quads = b"".join(iter_quads(tmp_path / "linkeddata" / "quads")).decode()
    assert {line.split()[-2] for line in quads.splitlines()} == {
        f"<{seed}>" for seed in seeds
    }
    assert len(SCRIPTS) == 2
