"""Each setting is read once in a crawl, and so are the arguments."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from scrapy.settings import default_settings

from tests.support.pages import ROOT
from tests.support.settings_page import declared, in_tables

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_webs import Loopback


def test_settings_and_seeds_are_read_once(loopback: Loopback, tmp_path: Path) -> None:
    """If a page is crawled, then no setting is read twice, and its seed parsed once."""
    server = loopback({"/": loopback.response(b"<> <urn:x:p> 'x' .")})
    notes = tmp_path / "reads.json"
    given = {
        "CRAWL_DIR": tmp_path,
        "GUARD_ALLOW_NETS": "127.0.0.0/8",
        "GUARD_PORTS": "1-65535",
    }
    words = [
        *("crawl", "linkeddata", "-a", f"seeds={server.url('/')}"),
        *(word for name, value in given.items() for word in ("-s", f"{name}={value}")),
    ]
    probe = [sys.executable, "-m", "tests.support.reading_probe", str(notes), *words]
    done = subprocess.run(probe, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "/" in server.targets
    counts = json.loads(notes.read_text(encoding="utf-8"))
    assert counts["calls"] == {"apply_defaults": 1, "seed_url": 1}
    ours = in_tables() - vars(default_settings).keys()
    reads = {name: counts["settings"].get(name) for name in ours}
    known = {name: each for name, each in reads.items() if each}
    assert len(known) > 90
    assert {name: x for name, x in known.items() if x != {"OptionsTable.read": 1}} == {}
    names = declared().keys() & counts["settings"].keys()
    assert sum(sum(counts["settings"][name].values()) for name in names) <= 200
