"""The view of a crawl on a terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.uri.guard.policy import MAX_PORT
from tests.conftest import LOOPBACK_NETS
from tests.support.command_forks import shared_forks
from tests.support.crawl_webs import TreeWeb

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

ROOT = Path(__file__).resolve().parents[3]
_ROW = re.compile(r"^ +([0-9,]+)" + r" +[0-9.,]+" * 8 + r"\r?$", re.MULTILINE)


def on_a_terminal(*words: str, until: str = "") -> str:
    """Run a command whose stderr is a terminal; return all that was drawn.

    It is interrupted once the screen matches `until`, if that is given.
    """
    leader, follower = pty.openpty()
    with Path(os.devnull).open("wb") as nothing, os.fdopen(follower, "wb") as terminal:
        process = shared_forks().start(
            ["-m", "scrapy", *words, f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}"],
            nothing,
            terminal,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        )
    drawn = bytearray()

    def read() -> None:
        has_ended = not until
        try:
            while piece := os.read(leader, 65536):
                drawn.extend(piece)
                if not has_ended and re.search(until.encode(), drawn, re.MULTILINE):
                    process.send_signal(signal.SIGTERM)
                    has_ended = True  # a second one would not let it end well
        except OSError:  # Linux: the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    try:
        process.wait_for(600)
        code = 1 if until else 0
        assert process.poll() == code, drawn.decode(errors="replace")
    finally:
        process.kill()
        reader.join()
        os.close(leader)
    return drawn.decode(errors="replace")


@pytest.mark.parametrize("command", [["crawl"], ["workers", "-n1"]])
def test_table_is_there_from_the_start_and_follows_the_crawl(
    loopback: Loopback, tmp_path: Path, command: list[str]
) -> None:
    """If a document takes 1 s, then the table begins with 0 and misses few."""
    # Visits of 1, 2, 4 and 3 documents: the line after each stays for 2 s or more.
    web = TreeWeb(loopback, "127.0.54", n_hosts=1, n_docs=10, secs=1.0)
    drawn = on_a_terminal(
        *(*command, "linkeddata", f"-aseeds={web.seed}"),
        *(f"-sCRAWL_DIR={tmp_path}", "-sDOWNLOAD_DELAY=0"),
        *("-sVISIT_WINDOW_SECS=0.1", "-sPROGRESS=auto"),
    )
    shown = [int(found.replace(",", "")) for found in _ROW.findall(drawn)]
    assert shown[0] == 0, drawn
    assert shown == sorted(shown)
    assert len(set(shown)) >= 4, shown


def test_hosts_that_are_waited_for_are_shown(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If hosts are down, then table, log and summary say that they are waited for."""
    busy = loopback.response(b"", status="503 Later")
    good = loopback({"*": loopback.response(b"<> <urn:x:p> 1 .")}, host="127.0.54.2")
    down = [loopback({"*": busy}, host=f"127.0.54.{n}") for n in range(3, 8)]
    seeds = [server.url("/a") for server in (good, *down)]
    path = tmp_path / "seeds.txt"
    path.write_text("\n".join(seeds))
    row = r" 6 +5 +0 +1\r?$"  # hosts, waited for, faults, workers
    drawn = on_a_terminal(
        *("crawl", "linkeddata", f"-aseeds=@{path}", f"-sCRAWL_DIR={tmp_path}"),
        *("-sHOST_BACKOFF_SECS=60", "-sHOST_PATIENCE_SECS=600"),
        *("-sDOWNLOAD_DELAY=0", f"-sGUARD_PORTS=1-{MAX_PORT}"),
        until=row,
    )
    assert re.search(row, drawn, re.MULTILINE)
    crawl = commands.start_crawl(
        seeds, HOST_BACKOFF_SECS=60, HOST_PATIENCE_SECS=600, PROGRESS_LOG_SECS=1
    )
    text = " 6 hosts (5 waited for), "
    commands.wait_until(lambda: text in crawl.stderr, secs=60)
    crawl.send(signal.SIGTERM)
    assert re.search(
        r"owed +5 URIs: 5 of hosts that refused them: 127.*, 127.*, 127.* and 2 more",
        crawl.wait().stderr,
    )
